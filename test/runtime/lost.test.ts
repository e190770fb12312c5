/** What nobody can tell any more is told as such, and nobody waits for it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { KubeClient } from '../../src/kube/client.ts';
import type { ByteStream } from '../../src/kube/resource.ts';
import {
  assembled,
  clientWith,
  clockThatHolds,
  eventually,
  logOf,
  namespace,
  type Stand,
  spec,
  startStand,
  stateOf,
  step,
  unreachable,
} from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

/** A client whose watches fall silent on demand and stay open, as behind a proxy that forgot them. */
function silentClient(isSilent: () => boolean): KubeClient {
  async function* muted(frames: ByteStream, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const frame of frames) {
      if (isSilent()) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      yield frame;
    }
  }
  const openWatch: KubeClient['openWatch'] = async (path, query, signal) =>
    muted(await stand.admin.openWatch(path, query, signal), signal);
  return clientWith(stand, { openWatch });
}

it('a limit is not decided on a watch that counts as live and is silent', async () => {
  let isSilent = false;
  const { clock, release } = clockThatHolds(777);
  const runtime = await stand.open({ client: silentClient(() => isSilent), owner: 'worker-silent', clock });
  const build = await runtime.setupBuild({ ...spec(step('a', 'exit 4')), timeouts: { pullMs: 777 } });
  await runtime.assembleBuild(build);
  isSilent = true;
  const launched = runtime.runContainer(build, 'a');
  await eventually(async () => (await stateOf(stand, build)) === 'terminated', 'it has ended');
  await release();
  expect(await launched).toMatchObject({ outcome: 'terminated', exitCode: 4 });
  expect(runtime.health.pods.state).toBe('live');
  await runtime.close();
  await stand.admin.delete({ resource: 'pods', namespace, name: build.podName }, { gracePeriodSeconds: 0 });
});

it('the log of a build whose pod ended before it was assembled ends', async () => {
  const first = await stand.open({ owner: 'worker-lost-pod' });
  const build = await assembled(first, step('a', 'true'));
  const { uid } = first.inspectBuild(build).pod;
  await first.close();
  stand.cluster.node.evict(uid ?? '', 'The node was low on resource: memory.');
  const path = { resource: 'pods', namespace, name: build.podName };
  await eventually(
    async () => (await stand.admin.get<{ status: { phase: string } }>(path)).status.phase === 'Failed',
    'the pod has failed',
  );
  const second = await stand.open({ owner: 'worker-lost-pod' });
  const [adopted] = await second.adopt();
  if (adopted === undefined) throw new Error('it was not adopted');
  const log = logOf(second, adopted, 'a');
  await expect(second.runContainer(adopted, 'a')).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_POD_LOST' });
  expect(await log).toEqual([]);
  await second.removeBuild(adopted);
});

it('steps that may have run before their pod went unseen have a gap for a log, each', async () => {
  let isSilent = false;
  const { clock, release } = clockThatHolds(777);
  const runtime = await stand.open({ client: silentClient(() => isSilent), owner: 'worker-unseen', clock });
  const names = ['a', 'b'];
  const steps = names.map((name) => step(name, 'echo one'));
  const build = await runtime.setupBuild({ ...spec(...steps), timeouts: { pullMs: 777 } });
  await runtime.assembleBuild(build);
  isSilent = true;
  const launched = names.map((name) => runtime.runContainer(build, name));
  const logs = names.map((name) => logOf(runtime, build, name));
  await eventually(
    () => stand.cluster.requests.count({ verb: 'patch', name: build.podName, userAgent: 'admin' }) > 1,
    'the steps are asked for',
  );
  await stand.admin.delete({ resource: 'pods', namespace, name: build.podName }, { gracePeriodSeconds: 0 });
  await release();
  for (const outcome of await Promise.all(launched)) {
    expect(outcome).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'podDeleted' });
  }
  for (const log of await Promise.all(logs)) {
    expect(log).toEqual(['GAP unavailable the pod ended before it told whether the container ran']);
  }
  await runtime.close();
});

it('a pod that is deleted before any list or watch has shown it is found to be lost', async () => {
  let isBlind = false;
  const client = clientWith(stand, {
    openWatch: async (...asked) => (isBlind ? Promise.reject(unreachable()) : stand.admin.openWatch(...asked)),
    list: async (...asked) => (isBlind ? Promise.reject(unreachable()) : stand.admin.list(...asked)),
  });
  const runtime = await stand.open({ client, owner: 'worker-blind' });
  await eventually(() => runtime.health.pods.counters.watches === 1, 'the watch is open');
  isBlind = true;
  stand.cluster.dropConnections();
  await eventually(() => runtime.health.pods.state === 'stale', 'the watch is stale');
  const nowhere = { nodeSelector: { 'no-such': 'node' } };
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), pod: nowhere });
  const assembling = runtime.assembleBuild(build).catch((error: unknown) => error);
  await eventually(() => runtime.inspectBuild(build).pod.uid !== null, 'the pod is created');
  await stand.admin.delete({ resource: 'pods', namespace, name: build.podName }, { gracePeriodSeconds: 0 });
  stand.cluster.compact();
  isBlind = false;
  await eventually(() => runtime.health.pods.state === 'live', 'the watch is live again');
  expect(await assembling).toMatchObject({
    code: 'ERR_PODWRIGHT_POD_LOST',
    details: { retriable: true, podCause: 'podDeleted' },
  });
  await runtime.removeBuild(build);
});
