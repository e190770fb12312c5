/** Nothing is decided by time on a watch that is stale: the server itself is asked first. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PodwrightError } from '../../src/errors.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { eventually, type Stand, spec, startStand, step } from './embedded.ts';

let stand: Stand;
let isDeaf = false;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

/** A client that loses sight of the cluster on demand, and can still ask. */
function deafClient(): KubeClient {
  const fail = (): Promise<never> => Promise.reject(new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', 'deaf'));
  return new Proxy(stand.admin, {
    get: (target, name) => {
      if (isDeaf && (name === 'openWatch' || name === 'list')) return fail;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
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
