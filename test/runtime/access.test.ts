/** The rights are looked at before anything else: what is essential is an error with its remedy, the rest degrades. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { kubeConfigText } from '../../src/cluster/kubeconfig.ts';
import { roleText } from '../../src/kube/access.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { assembled, broken, eventually, namespace, placeholder213, type Stand, startStand, step } from './embedded.ts';

let stand: Stand;
let directory: string;
beforeAll(async () => {
  const users = ['full', 'blind', 'none'].map((user) => ({ token: `${user}-token`, user }));
  const admin = { token: 'admin-token', user: 'admin', groups: ['system:masters'] };
  stand = await startStand({ tokens: [admin, ...users] });
  directory = mkdtempSync(join(tmpdir(), 'podwright-access-'));
  const role = parse(roleText(namespace)) as { rules: { resources: string[] }[] };
  await grant('full', role);
  await grant('blind', { ...role, rules: role.rules.filter(({ resources }) => !resources.includes('events')) });
});
afterAll(async () => {
  await stand?.end();
  rmSync(directory, { recursive: true });
});

async function grant(user: string, role: object): Promise<void> {
  const metadata = { name: user, namespace };
  await stand.admin.create({ resource: 'roles', namespace }, { ...role, metadata });
  await stand.admin.create(
    { resource: 'rolebindings', namespace },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
      subjects: [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }],
    },
  );
}
function open(user: string, logged: string[] = []): ReturnType<typeof createRuntime> {
  const kubeConfig = join(directory, `${user}.kubeconfig`);
  writeFileSync(kubeConfig, kubeConfigText(stand.cluster.url, `${user}-token`));
  const logger = { info: (message: string) => logged.push(message), debug: () => undefined };
  const grace = { permanentMs: 300, causeMs: 300 };
  return createRuntime({ kubeConfig, namespace, owner: user, placeholder: placeholder213, logger, grace });
}

it('with the least Role everything works', async () => {
  const runtime = await open('full');
  const build = await assembled(runtime, step('a', 'test "$T" = x', { secrets: { T: 'x' } }));
  await runtime.runContainer(build, 'a');
  expect(await runtime.waitContainer(build, 'a')).toMatchObject({ exitCode: 0 });
  expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  await eventually(() => runtime.health.events.state === 'live', 'the watch of Events is live');
  await runtime.close();
});

it('without the right to Events it is degraded, and the verdicts are the same', async () => {
  const logged: string[] = [];
  const runtime = await open('blind', logged);
  expect(logged).toContain('a right is missing');
  const build = await assembled(runtime, step('a', 'exit 3'), broken('b'));
  await runtime.runContainer(build, 'a');
  expect(await runtime.waitContainer(build, 'a')).toMatchObject({ exitCode: 3 });
  expect(await runtime.runContainer(build, 'b')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
  expect(runtime.health.events.state).toBe('degraded');
  await eventually(() => runtime.health.pods.state === 'live', 'the watch of pods is live');
  await runtime.removeBuild(build);
  await runtime.close();
});

it('without the essential ones it is an error that holds the Role to apply', async () => {
  const error = await open('none').catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_FORBIDDEN' });
  expect((error as Error).message).toMatch(/does not allow to create pods \(needed to start a build\); to get pods/);
  const { remedy } = error as { remedy: string };
  expect(parse(remedy.slice(remedy.indexOf('\n') + 1))).toMatchObject({ kind: 'Role', metadata: { namespace } });
});

it('with a token that is not known it is an error of its own', async () => {
  await expect(open('stranger')).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_UNAUTHORIZED' });
});
