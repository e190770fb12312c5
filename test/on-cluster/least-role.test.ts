// With deploy/role.yaml and nothing more a worker can do all its work on a real cluster.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

const worker = process.env['KUBECONFIG_WORKER'] ?? kubeConfig?.replace('admin.kubeconfig', 'worker.kubeconfig');
const isReady = kubeConfig !== undefined && worker !== kubeConfig;
if (!isReady) console.log('skipped: the least Role, because there is no second user (KUBECONFIG_WORKER)');

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

describe.skipIf(!isReady)('with the least Role', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab('role');
  });
  afterAll(() => lab?.end());

  test('without it the error tells what to apply; with it a build with secrets runs, is adopted and removed', async () => {
    const options = { namespace: lab.namespace, owner: 'worker', placeholder: images.placeholder213 };
    const open = (): ReturnType<typeof createRuntime> => createRuntime({ ...options, kubeConfig: worker ?? '' });
    await expect(open()).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_FORBIDDEN',
      remedy: expect.stringContaining('kind: Role') as string,
    });

    const { namespace } = lab;
    const file = readFileSync(new URL('../../deploy/role.yaml', import.meta.url), 'utf8');
    for (const document of parseAllDocuments(file)) {
      const manifest = document.toJS() as Manifest;
      const subjects = [{ kind: 'User', name: 'worker', apiGroup: 'rbac.authorization.k8s.io' }];
      const body = manifest.kind === 'RoleBinding' ? { ...manifest, subjects } : manifest;
      await lab.client.create({ resource: `${manifest.kind.toLowerCase()}s`, namespace }, body);
    }

    // The server learns of a right some moments after it was given.
    const first = await vi.waitFor(open, { timeout: 30_000, interval: 200 });
    const step = { image: images.base, role: 'step' } as const;
    const build = await first.setupBuild({
      id: 'least',
      containers: [
        { ...step, name: 'a', script: 'test "$T" = x; exit 6', secrets: { T: 'x' } },
        { ...step, name: 'b', image: images.missing, script: 'true' },
      ],
    });
    await first.assembleBuild(build);
    await first.runContainer(build, 'a');
    await first.close();
    const second = await open();
    const [adopted] = await second.adopt();
    if (adopted === undefined) throw new Error('the build was not adopted');
    expect(await second.waitContainer(adopted, 'a')).toMatchObject({ exitCode: 6 });
    expect(await second.runContainer(adopted, 'b')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
    expect(second.health).toMatchObject({ pods: { state: 'live' }, events: { state: 'live' } });
    expect(await second.removeBuild(adopted)).toMatchObject({ gone: true });
    await second.close();
  });
});
