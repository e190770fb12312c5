// The state is the fold of the events, at every sequence number, and what is kept is bounded.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { EventHub } from '../../src/events/hub.ts';
import { emptyState, reduce } from '../../src/events/state.ts';
import type { PodwrightEvent } from '../../src/events/types.ts';
import { aHub, playBuild } from './helpers.ts';

test('the state after each event is the fold of all events up to it', () => {
  const { hub } = aHub();
  let folded = reduce(emptyState, first(hub));
  hub.listen((event) => {
    folded = reduce(folded, event);
    expect(hub.snapshot()).toEqual({ epoch: hub.epoch, seq: event.seq, state: folded });
  });
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  hub.end('failed');
  expect(Object.keys(folded.builds)).toEqual(['one', 'two']);
  expect(folded.builds['one']?.containers.map(({ state }) => state)).toEqual(['terminated', 'pullFailed']);
  expect(folded.run.ended?.outcome).toBe('failed');
});

test('a state is never changed by a later event', () => {
  const { hub } = aHub();
  playBuild(hub, 'one');
  const before = hub.snapshot();
  const copy = structuredClone(before);
  playBuild(hub, 'two', { failing: true });
  expect(before).toEqual(copy);
});

test('each event has the time of the clock and the next number', () => {
  const { hub, clock } = aHub();
  clock.advance(5);
  const event = hub.publish({ type: 'watch.changed', resource: 'pods', state: 'live', staleSince: null });
  expect(event).toMatchObject({ seq: 2, at: 1005 });
});

test('builds that ended long ago are forgotten, by an event', () => {
  const { hub } = aHub({ maxEndedBuilds: 2 });
  for (const id of ['a', 'b', 'c']) playBuild(hub, id);
  expect(Object.keys(hub.state.builds)).toEqual(['b', 'c']);
  expect(hub.lines('a', 'compile')).toBeUndefined();
});

test('a build that takes the id of a removed one begins anew, also its logs, and is not the first to be forgotten', () => {
  const { hub } = aHub({ maxEndedBuilds: 2 });
  playBuild(hub, 'a', { failing: true });
  hub.appendLine('a', 'compile', { time: 't', text: 'old', gap: null });
  hub.endLines('a', 'compile');
  hub.publish({ type: 'build.changed', build: 'a', from: 'failed', to: 'removed', message: null });
  playBuild(hub, 'b');
  const containers = [{ name: 'compile', image: 'other:2', role: 'step' as const }];
  hub.publish({ type: 'build.planned', build: 'a', name: 'again', containers });
  expect(Object.keys(hub.state.builds)).toEqual(['b', 'a']);
  expect(hub.state.builds['a']).toMatchObject({ name: 'again', state: 'setup', pod: null });
  expect(hub.state.builds['a']?.containers).toMatchObject([{ image: 'other:2', state: 'pending', outcome: null }]);
  hub.appendLine('a', 'compile', { time: 't', text: 'new', gap: null });
  expect(hub.lines('a', 'compile')?.read(0, 9)).toMatchObject({ entries: [{ value: { line: { text: 'new' } } }] });
  playBuild(hub, 'c');
  playBuild(hub, 'd');
  expect(Object.keys(hub.state.builds)).toEqual(['a', 'c', 'd']);
});

test('a plan that is told again changes nothing of a build that is there', () => {
  const { hub } = aHub();
  playBuild(hub, 'one');
  hub.appendLine('one', 'compile', { time: 't', text: 'kept', gap: null });
  const { state } = hub;
  hub.publish({ type: 'build.planned', build: 'one', name: 'again', containers: [] });
  expect(hub.state).toEqual(state);
  expect(hub.lines('one', 'compile')?.last).toBe(1);
});

test('the lines of one container push out neither events nor the lines of another', () => {
  const { hub } = aHub({ lines: { maxEntries: 10, maxBytes: 10_000 } });
  playBuild(hub, 'one');
  const before = hub.events.last;
  hub.appendLine('one', 'compile', { time: 't', text: 'kept', gap: null });
  for (let i = 0; i < 100; i++) hub.appendLine('one', 'test', { time: 't', text: `${i}`, gap: null });
  expect(hub.events.last).toBe(before);
  expect(hub.lines('one', 'compile')?.first).toBe(1);
  expect(hub.lines('one', 'test')?.first).toBe(91);
});

test('an ended hub takes nothing more, and its last event is the end', () => {
  const { hub } = aHub();
  playBuild(hub, 'one');
  hub.end('succeeded');
  hub.end('failed');
  const { last } = hub.events;
  expect(hub.publish({ type: 'watch.changed', resource: 'pods', state: 'live', staleSince: null })).toBeNull();
  expect(hub.events.last).toBe(last);
  expect(hub.lines('one', 'compile')?.isClosed).toBe(true);
});

test('what the log dropped is in the base: base and kept events add up to the state', () => {
  const { hub } = aHub({ events: { maxEntries: 7 } });
  for (const id of ['a', 'b', 'c']) playBuild(hub, id, { failing: id === 'b' });
  const base = hub.baseSnapshot();
  expect(base.seq).toBe(hub.events.last - 7);
  const reading = hub.events.read(base.seq, 100);
  if (reading.kind !== 'entries') throw new Error('the base is just before the oldest kept event');
  expect(reading.entries.length).toBe(7);
  expect(reading.entries.reduce((state, { value }) => reduce(state, value.event), base.state)).toEqual(hub.state);
});

test('two hubs have two epochs', () => {
  const clock = new VirtualClock();
  const version = '0';
  expect(new EventHub({ clock, version }).epoch).not.toBe(new EventHub({ clock, version }).epoch);
});

function first(hub: EventHub): PodwrightEvent {
  const reading = hub.events.read(0, 1);
  if (reading.kind !== 'entries' || reading.entries[0] === undefined) throw new Error('a hub begins with an event');
  return reading.entries[0].value.event;
}
