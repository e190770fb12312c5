/** Nothing is decided by time on a watch that is stale: the server itself is asked first. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeClient } from '../../src/kube/client.ts';
import { clientWith, eventually, type Stand, spec, startStand, step, unreachable } from './embedded.ts';

let stand: Stand;
let isDeaf = false;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

/** A client that loses sight of the cluster on demand, and can still ask. */
function deafClient(): KubeClient {
  return clientWith(stand, {
    openWatch: async (...asked) => (isDeaf ? Promise.reject(unreachable()) : stand.admin.openWatch(...asked)),
    list: async (...asked) => (isDeaf ? Promise.reject(unreachable()) : stand.admin.list(...asked)),
  });
}

it('a step that runs is not timed out as a pull although no watch has told of it', async () => {
  const runtime = await stand.open({ client: deafClient() });
  const build = await runtime.setupBuild({
    ...spec(step('a', 'sleep 1; exit 4')),
    timeouts: { pullMs: 700 },
  });
  await runtime.assembleBuild(build);
  isDeaf = true;
  stand.cluster.dropConnections();
  await eventually(() => runtime.health.pods.state === 'stale', 'the watch is stale');
  const outcome = await runtime.runContainer(build, 'a');
  expect(outcome).toMatchObject({ outcome: 'running' });
  expect(runtime.health.pods.state).toBe('stale');
  isDeaf = false;
  expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 4 });
  await runtime.removeBuild(build);
});

it('a pod that is gone is found to be gone although no watch has told of it', async () => {
  const runtime = await stand.open({ client: deafClient(), owner: 'worker-2' });
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), timeouts: { removeMs: 1_000 } });
  await runtime.assembleBuild(build);
  isDeaf = true;
  stand.cluster.dropConnections();
  await eventually(() => runtime.health.pods.state === 'stale', 'the watch is stale');
  expect(await runtime.removeBuild(build)).toEqual({ gone: true, forced: false, remaining: [] });
  isDeaf = false;
});
