/** A build's own stream, what subscribers are told, and the health of the watches. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BuildStreamItem, Runtime, RuntimeChange } from '../../src/runtime/runtime.ts';
import { assembled, eventually, type Stand, spec, startStand, step } from './embedded.ts';

let stand: Stand;
let runtime: Runtime;
beforeAll(async () => {
  stand = await startStand();
  runtime = await stand.open();
});
afterAll(() => stand?.end());

async function all(items: AsyncIterable<BuildStreamItem>): Promise<BuildStreamItem[]> {
  const read: BuildStreamItem[] = [];
  for await (const item of items) read.push(item);
  return read;
}
const states = (items: readonly BuildStreamItem[]): string[] =>
  items.flatMap((item) =>
    item.kind === 'state'
      ? [`${item.change.actor === 'container' ? item.change.container : item.change.actor} ${item.change.state}`]
      : [],
  );

describe('streamBuild', () => {
  it('gives everything in order to who was there and to who comes late, and ends with the removal', async () => {
    const build = await runtime.setupBuild(spec(step('First Step', 'exit 3')));
    const early = all(runtime.streamBuild(build));
    await runtime.assembleBuild(build);
    await runtime.runContainer(build, 'First Step');
    await runtime.waitContainer(build, 'First Step');
    const late = all(runtime.streamBuild(build));
    runtime.concludeBuild(build, 'failed');
    await runtime.removeBuild(build);
    const items = await early;
    expect(await late).toEqual(items);
    expect(items.map(({ sequence }) => sequence)).toEqual(items.map((_, index) => index + 1));
    const seen = states(items);
    for (const state of ['build assembling', 'pod running', 'First Step terminated', 'build failed']) {
      expect(seen).toContain(state);
    }
    expect(seen.at(-1)).toBe('build removed');
    expect(seen.indexOf('pod running')).toBeLessThan(seen.indexOf('First Step terminated'));
  });

  it('has the Events of the pod, with the pipeline’s name of the container', async () => {
    const build = await assembled(runtime, step('First Step', 'true'));
    await runtime.runContainer(build, 'First Step');
    await runtime.waitContainer(build, 'First Step');
    await eventually(
      () => runtime.inspectBuild(build).story.some((line) => /Event Killing \(First Step\)/.test(line)),
      'the Event of the switch is told',
    );
    await runtime.removeBuild(build);
    const items = await all(runtime.streamBuild(build));
    expect(items).toContainEqual(expect.objectContaining({ kind: 'kubeEvent', reason: 'Scheduled', container: null }));
  });

  it('goes on after an item, and ends quietly when its signal aborts', async () => {
    const build = await assembled(runtime, step('a', 'true'));
    const abort = new AbortController();
    const reader = runtime.streamBuild(build, { after: 1, signal: abort.signal })[Symbol.asyncIterator]();
    expect((await reader.next()).value).toMatchObject({ sequence: 2 });
    abort.abort();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    await runtime.removeBuild(build);
  });
});

it('a subscriber is told what was seen before what follows from it; one that throws disturbs nobody', async () => {
  const told: RuntimeChange[] = [];
  const endBad = runtime.subscribe(() => {
    throw new Error('bad listener');
  });
  const end = runtime.subscribe((change) => told.push(change));
  const build = await assembled(runtime, step('a', 'exit 1'));
  await runtime.runContainer(build, 'a');
  await runtime.waitContainer(build, 'a');
  end();
  endBad();
  const count = told.length;
  await runtime.removeBuild(build);
  expect(told).toHaveLength(count);
  const isTerminated = (change: RuntimeChange): boolean =>
    change.kind === 'state' && change.change.actor === 'container' && change.change.state === 'terminated';
  const verdict = told.findIndex(isTerminated);
  const before = told[verdict - 1];
  expect(before).toMatchObject({ kind: expect.stringMatching(/seen|state/) as string, build });
  expect(told.slice(0, verdict).some((change) => change.kind === 'seen' && change.seen.what === 'request')).toBe(true);
});

it('health tells of a watch that was lost, and that it is live again', async () => {
  const other = await startStand();
  try {
    const watching = await other.open();
    const states: string[] = [];
    watching.subscribe((change) => {
      if (change.kind === 'health') states.push(change.health.pods.state);
    });
    await eventually(
      () => Object.values(watching.health).every(({ state }) => state === 'live'),
      'both watches are live at the same time',
    );
    const build = await assembled(watching, step('a', 'true'));
    other.cluster.dropConnections();
    await eventually(() => states.includes('stale') || states.includes('relisting'), 'the loss is told');
    await eventually(() => watching.health.pods.state === 'live', 'it is live again');
    expect(watching.inspectBuild(build).story.some((line) => line.includes('watches: pods'))).toBe(true);
    await watching.removeBuild(build);
  } finally {
    await other.end();
  }
});
