/** What a pod needs beside it is there before it, goes with it, and is never taken from another. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PodwrightError } from '../../src/errors.ts';
import { assembled, clientWith, namespace, type Stand, spec, startStand, step, unreachable } from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

it('a Secret whose pod was refused goes with the removal', async () => {
  const client = clientWith(stand, {
    create: async (path, body, options) => {
      if (path.resource === 'pods') throw new PodwrightError('ERR_PODWRIGHT_FORBIDDEN', 'exceeded quota: builds');
      return (await stand.admin.create(path, body, options)) as never;
    },
  });
  const other = await stand.open({ client, owner: 'worker-quota' });
  const build = await other.setupBuild(spec(step('a', 'true', { secrets: { TOKEN: 'x' } })));
  await expect(other.assembleBuild(build)).rejects.toThrow('exceeded quota');
  const secret = { resource: 'secrets', namespace, name: `${build.podName}-secrets` };
  expect(await stand.admin.get(secret)).toMatchObject({ type: 'Opaque' });
  expect(await other.removeBuild(build)).toMatchObject({ gone: true });
  await expect(stand.admin.get(secret)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_NOT_FOUND' });
});

it('a Secret that an earlier worker left is replaced', async () => {
  const one = spec(step('a', 'test "$TOKEN" = new', { secrets: { TOKEN: 'new' } }));
  const other = await stand.open({ owner: 'worker-left' });
  const build = await other.setupBuild(one);
  const name = `${build.podName}-secrets`;
  await stand.admin.create(
    { resource: 'secrets', namespace },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { '0.0': 'old' } },
  );
  await other.assembleBuild(build);
  await other.runContainer(build, 'a');
  expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 0 });
  await other.removeBuild(build);
});

it('a Secret whose create fails inside the server, be it done or not, is made', async () => {
  const failures = ['before', 'after'];
  const failed = new PodwrightError('ERR_PODWRIGHT_API', 'etcdserver: leader changed', { details: { status: 500 } });
  const client = clientWith(stand, {
    create: async (path, body, options) => {
      const failure = path.resource === 'secrets' ? failures.shift() : undefined;
      if (failure === 'before') throw failed;
      const made = await stand.admin.create(path, body, options);
      if (failure === 'after') throw failed;
      return made as never;
    },
  });
  const other = await stand.open({ client, owner: 'worker-etcd' });
  const build = await assembled(other, step('a', 'test "$TOKEN" = x', { secrets: { TOKEN: 'x' } }));
  expect(failures).toEqual([]);
  await other.runContainer(build, 'a');
  expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 0 });
  await other.removeBuild(build);
});

it('a Secret that its worker could not give to the pod any more goes with the orphan', async () => {
  const first = await stand.open({
    owner: 'worker-died',
    client: clientWith(stand, {
      patch: async () => {
        throw unreachable();
      },
    }),
  });
  const build = await assembled(first, step('a', 'true', { secrets: { TOKEN: 'x' } }));
  await first.close();
  const secret = { resource: 'secrets', namespace, name: `${build.podName}-secrets` };
  expect(await stand.admin.get<{ metadata: object }>(secret)).not.toHaveProperty('metadata.ownerReferences');
  const other = await stand.open({ owner: 'worker-cleans' });
  const [orphan] = (await other.listOrphans()).filter(({ podName }) => podName === build.podName);
  if (orphan === undefined) throw new Error('it is no orphan');
  expect(await other.removeOrphan(orphan)).toEqual({ gone: true, forced: false, remaining: [] });
  await expect(stand.admin.get(secret)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_NOT_FOUND' });
});

it('the Secret of a pod that an earlier worker left stays, when a build of the same id is refused', async () => {
  const token = (value: string): ReturnType<typeof spec> => ({
    ...spec(step('a', 'test "$TOKEN" = old', { secrets: { TOKEN: value } })),
    id: 'twice',
  });
  const first = await stand.open({ owner: 'worker-kept' });
  await first.assembleBuild(await first.setupBuild(token('old')));
  await first.close();
  const second = await stand.open({ owner: 'worker-kept' });
  const refused = await second.setupBuild(token('new'));
  await expect(second.assembleBuild(refused)).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFLICT',
    details: { sameBuild: true },
  });
  expect(await second.removeBuild(refused)).toMatchObject({ gone: true });
  const [adopted] = await second.adopt();
  if (adopted === undefined) throw new Error('it was not adopted');
  await second.runContainer(adopted, 'a');
  expect(await second.waitContainer(adopted, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
  await second.removeBuild(adopted);
});
