// The page's timeline gives the state at any event, as folding from the start would, and stays within its bounds.
import { expect, test } from 'vitest';
import { emptyState, reduce } from '../../src/events/state.ts';
import type { PodwrightEvent } from '../../src/events/types.ts';
import { Timeline } from '../../src/inspect/page/model/timeline.ts';
import { aHub, playBuild } from '../events/helpers.ts';

test('the state at any number of events is the fold of them, in whatever order it is asked', () => {
  const events = someEvents(80);
  const timeline = new Timeline();
  timeline.reset('epoch', emptyState);
  for (const event of events) timeline.append(event);
  const states = [emptyState];
  for (const event of events) states.push(reduce(states.at(-1) ?? emptyState, event));
  expect(events.length).toBeGreaterThan(1000);
  let place = 1;
  for (let i = 0; i < 400; i++) {
    place = (place * 7919) % (events.length + 1);
    expect(timeline.stateAt(place)).toEqual(states[place]);
  }
  for (let count = 0; count <= events.length; count += 97) expect(timeline.stateAt(count)).toEqual(states[count]);
});

test('a moment is found by its time', () => {
  const timeline = new Timeline();
  timeline.reset('epoch', emptyState);
  for (const [index, at] of [10, 20, 20, 30].entries()) {
    timeline.append({ type: 'watch.changed', resource: 'pods', state: 'live', staleSince: null, seq: index + 1, at });
  }
  expect([9, 10, 19, 20, 30, 31].map((at) => timeline.countAt(at))).toEqual([0, 1, 1, 3, 4, 4]);
  expect([timeline.firstAt, timeline.lastAt]).toEqual([10, 30]);
});

test('what is too old is folded into the base, and nothing of the state is lost', () => {
  const timeline = new Timeline();
  timeline.reset('epoch', emptyState);
  const [plan] = someEvents(1).filter(({ type }) => type === 'build.planned');
  if (plan === undefined) throw new Error('a build begins with its plan');
  timeline.append({ ...plan, seq: 1 });
  for (let seq = 2; seq <= 160_000; seq++) {
    timeline.append({ type: 'watch.changed', resource: 'pods', state: `${seq}`, staleSince: null, seq, at: seq });
  }
  expect(timeline.events.length).toBeLessThanOrEqual(150_000);
  expect(timeline.events.at(-1)?.seq).toBe(160_000);
  const first = timeline.events[0]?.seq ?? 0;
  expect(timeline.stateAt(0).watches['pods']?.state).toBe(`${first - 1}`);
  expect(timeline.stateAt(5000).watches['pods']?.state).toBe(`${first + 4999}`);
  expect(Object.keys(timeline.stateAt(0).builds)).toEqual(['build-0']);
});

function someEvents(builds: number): readonly PodwrightEvent[] {
  const { hub } = aHub();
  for (let i = 0; i < builds; i++) playBuild(hub, `build-${i}`, { failing: i % 2 === 1 });
  const reading = hub.events.read(0, 100_000);
  if (reading.kind !== 'entries') throw new Error('all events are kept');
  return reading.entries.map(({ value }) => value.event);
}
