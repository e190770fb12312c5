/** A step is asked for only where its placeholder waits; what may come back is waited for. The test is the kubelet. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import type { Pod } from '../../src/pod/types.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import { condition, type PodChange, placeholder, placeholderEnded, type Shown } from '../helpers/build.ts';
import { eventually, namespace, placeholder213, type Stand, spec, startStand, step } from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ backend: 'scripted', profile: '1.36' });
  await stand.cluster.node.stopKubelet();
});
afterAll(() => stand?.end());

class Held {
  readonly clock = new VirtualClock(Date.now());
  #runtime: Runtime | undefined;
  #build: Build | undefined;

  static async begin(owner: string): Promise<Held> {
    const held = new Held();
    held.#runtime = await stand.open({ owner, placeholder: placeholder213, clock: held.clock });
    const build = await held.runtime.setupBuild({ ...spec(step('a', 'true')), timeouts: { pullMs: 60_000 } });
    held.#build = build;
    const assembled = held.runtime.assembleBuild(build);
    await eventually(() => held.runtime.inspectBuild(build).pod.node !== null, 'the pod has a node');
    await held.shows(placeholder('P-a'));
    await assembled;
    return held;
  }

  get runtime(): Runtime {
    if (this.#runtime === undefined) throw new Error('begin comes first');
    return this.#runtime;
  }

  get build(): Build {
    if (this.#build === undefined) throw new Error('begin comes first');
    return this.#build;
  }

  /** Resolves once the runtime has seen it. */
  async shows(shown: Shown, { conditions }: PodChange = {}): Promise<void> {
    const [container] = this.runtime.inspectBuild(this.build).containers;
    const status = {
      phase: 'Running',
      ...(conditions === undefined ? {} : { conditions }),
      containerStatuses: [{ name: container?.containerName, ready: false, ...shown }],
    };
    let seen = 0;
    const unsubscribe = this.runtime.subscribe((item) => {
      if (item.kind === 'seen' && item.seen.what === 'pod') seen = Number(item.seen.pod.metadata.resourceVersion);
    });
    const path = { resource: 'pods', namespace, name: this.build.podName, subresource: 'status' } as const;
    const { metadata } = await stand.admin.patch<Pod>(path, { status }, { type: 'merge' });
    await eventually(() => seen >= Number(metadata.resourceVersion), 'the status is seen');
    unsubscribe();
  }

  get patches(): number {
    return stand.count({ verb: 'patch', name: this.build.podName });
  }
}

test('a pod whose disruption is taken back goes on', async () => {
  const held = await Held.begin('worker-disrupted');
  await held.shows(placeholder('P-a'), {
    conditions: [condition('DisruptionTarget', 'True', 'PreemptionByScheduler')],
  });
  const run = held.runtime.runContainer(held.build, 'a');
  await eventually(() => held.runtime.inspectBuild(held.build).pod.cause === 'preempted', 'the disruption is known');
  expect(held.patches).toBe(0);
  await held.shows(placeholder('P-a'), { conditions: [condition('DisruptionTarget', 'False')] });
  await eventually(() => held.patches === 1, 'the step is asked for');
  await held.runtime.removeContainer(held.build, 'a');
  expect(await run).toMatchObject({ outcome: 'canceled', reason: 'caller' });
});

test('a disruption that nobody takes back or ends lasts no longer than the limit', async () => {
  const held = await Held.begin('worker-stuck');
  await held.shows(placeholder('P-a'), {
    conditions: [condition('DisruptionTarget', 'True', 'PreemptionByScheduler')],
  });
  const run = held.runtime.runContainer(held.build, 'a');
  let isOver = false;
  void run.then(() => (isOver = true));
  await eventually(() => {
    held.clock.advance(60_000);
    return isOver;
  }, 'the limit runs out');
  expect(await run).toMatchObject({ outcome: 'canceled', reason: 'timeout', phase: 'pull' });
  expect(held.patches).toBe(0);
});

test('a placeholder that ended with its own code is waited for: it is started again', async () => {
  const held = await Held.begin('worker-again');
  await held.shows(placeholderEnded('P-a', 213));
  const run = held.runtime.runContainer(held.build, 'a');
  await held.shows(placeholder('P-a2', { restartCount: 1 }));
  await eventually(() => held.patches === 1, 'the step is asked for');
  await held.shows(placeholderEnded('P-a2', 0, { restartCount: 1 }));
  expect(await run).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'placeholderLost' });
});

test('one that ended with another code is lost', async () => {
  const held = await Held.begin('worker-died');
  await held.shows(placeholderEnded('P-a', 137));
  expect(await held.runtime.runContainer(held.build, 'a')).toMatchObject({
    outcome: 'terminated',
    exitCode: null,
    cause: 'placeholderLost',
  });
  expect(held.patches).toBe(0);
});
