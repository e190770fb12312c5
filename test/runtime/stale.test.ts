/** Nothing is decided by time on a watch that is stale: the server itself is asked first. */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import {
  broken,
  clientWith,
  clockThatHolds,
  eventually,
  hasPod,
  type Stand,
  spec,
  startStand,
  stateOf,
  step,
  unreachable,
} from './embedded.ts';

let stand: Stand;
let isDeaf = false;
let isBlind = false;
let looks = 0;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

/** A client that loses sight of the cluster on demand, and can still ask. */
function deafClient(): KubeClient {
  return clientWith(stand, {
    openWatch: async (...asked) => (isDeaf ? Promise.reject(unreachable()) : stand.admin.openWatch(...asked)),
    list: async (...asked) => (isDeaf ? Promise.reject(unreachable()) : stand.admin.list(...asked)),
    get: async (...asked) => {
      looks++;
      return isBlind ? Promise.reject(unreachable()) : stand.admin.get(...asked);
    },
  });
}

it('a step that runs is not timed out as a pull although no watch has told of it', async () => {
  const { clock, release } = clockThatHolds(777);
  const runtime = await stand.open({ client: deafClient(), clock });
  const go = join(tmpdir(), `podwright-stale-${process.pid}`);
  const build = await runtime.setupBuild({
    ...spec(step('a', `until [ -e ${go} ]; do sleep 0.05; done; exit 4`)),
    timeouts: { pullMs: 777 },
  });
  await runtime.assembleBuild(build);
  isDeaf = true;
  stand.cluster.dropConnections();
  await eventually(() => runtime.health.pods.state === 'stale', 'the watch is stale');
  const launched = runtime.runContainer(build, 'a');
  await eventually(async () => (await stateOf(stand, build)) === 'running', 'it runs');
  await release();
  expect(await launched).toMatchObject({ outcome: 'running' });
  expect(runtime.health.pods.state).toBe('stale');
  isDeaf = false;
  writeFileSync(go, '');
  expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 4 });
  await runtime.removeBuild(build);
  rmSync(go);
});

it('a pull that failed is not failed for good by time while nobody can see the pod', async () => {
  const graceMs = 777_777;
  let offsetMs = 0;
  const held = new Set<() => void>();
  const clock: Clock = {
    now: () => systemClock.now() + offsetMs,
    schedule: (delayMs, callback) => {
      if (delayMs < graceMs - 20_000 || delayMs > graceMs) return systemClock.schedule(delayMs, callback);
      held.add(callback);
      return { cancel: () => void held.delete(callback) };
    },
  };
  const runtime = await stand.open({
    client: deafClient(),
    owner: 'worker-3',
    clock,
    grace: { permanentMs: graceMs, transientMs: graceMs },
  });
  const build = await runtime.setupBuild(spec(broken('a'), step('b', 'true')));
  await runtime.assembleBuild(build);
  const launched = runtime.runContainer(build, 'a');
  await eventually(() => {
    isDeaf = held.size > 0;
    return isDeaf;
  }, 'its grace runs');
  stand.cluster.dropConnections();
  isBlind = true;
  looks = 0;
  offsetMs = graceMs;
  for (const callback of held) callback();
  await eventually(() => looks > 1, 'it looks again and again');
  expect(runtime.inspectContainer(build, 'a').outcome).toBeNull();
  isBlind = false;
  expect(await launched).toMatchObject({ outcome: 'pullFailed' });
  isDeaf = false;
  await runtime.removeBuild(build);
});

it('why a pull failed is known although no watch tells of Events', async () => {
  // Without restart rules nothing but an Event says why.
  const own = await startStand({ profile: '1.34' });
  const client = clientWith(own, {
    openWatch: async (path, ...rest) =>
      path.resource === 'events' ? Promise.reject(unreachable()) : own.admin.openWatch(path, ...rest),
    list: async (path, options) =>
      path.resource === 'events' && !/involvedObject.name/.test(options?.fieldSelector ?? '')
        ? Promise.reject(unreachable())
        : own.admin.list(path, options),
  });
  try {
    const runtime = await own.open({ client });
    const build = await runtime.setupBuild(spec(broken('a'), step('b', 'true')));
    await runtime.assembleBuild(build);
    expect(await runtime.runContainer(build, 'a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
    const failures = runtime.inspectBuild(build).story.filter((line) => line.includes('Failed to pull image'));
    expect(failures).toHaveLength(1);
  } finally {
    await own.end();
  }
});

it('a pod that is gone is found to be gone although no watch has told of it', async () => {
  const { clock, release } = clockThatHolds(1_111);
  const runtime = await stand.open({ client: deafClient(), owner: 'worker-2', clock });
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), timeouts: { removeMs: 1_111 } });
  await runtime.assembleBuild(build);
  isDeaf = true;
  stand.cluster.dropConnections();
  await eventually(() => runtime.health.pods.state === 'stale', 'the watch is stale');
  const removing = runtime.removeBuild(build);
  await eventually(async () => !(await hasPod(stand, build)), 'the pod is gone');
  await release();
  expect(await removing).toEqual({ gone: true, forced: false, remaining: [] });
  isDeaf = false;
});
