/** What the reflector does next after each answer, and that it never gives up by itself. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createActor } from 'xstate';
import {
  firstPauseMs,
  forgetAfterMs,
  internalErrorsForMs,
  longestPauseMs,
  type ReflectorFailure,
  type ReflectorMessage,
  type ReflectorSnapshot,
  reflectorMachine,
  refusedPauseMs,
  shortestWatchMs,
} from '../../machines/reflector.ts';

type Kind = ReflectorFailure['kind'];
const failure = (kind: Kind, more: Partial<ReflectorFailure> = {}): ReflectorFailure => ({
  kind,
  message: kind,
  ...more,
});

const toWatching: readonly ReflectorMessage[] = [
  { type: 'start', at: 0 },
  { type: 'list.succeeded', at: 0, resourceVersion: '4' },
  { type: 'watch.opened', at: 0 },
];

/** Sends messages with a time that the test moves. */
function life() {
  const actor = createActor(reflectorMachine).start();
  let at = 0;
  const send = (message: ReflectorMessage): ReflectorSnapshot => {
    actor.send(message);
    return actor.getSnapshot();
  };
  return {
    wait: (ms: number) => {
      at += ms;
    },
    start: () => send({ type: 'start', at }),
    listed: (resourceVersion = '10') => send({ type: 'list.succeeded', at, resourceVersion }),
    listFailed: (kind: Kind, more = {}) => send({ type: 'list.failed', at, draw: 0, failure: failure(kind, more) }),
    opened: () => send({ type: 'watch.opened', at }),
    progressed: (resourceVersion: string) =>
      send({ type: 'watch.progressed', at, resourceVersion, frames: 1, bookmarks: 0 }),
    ended: (kind: Kind | null = null, more = {}) =>
      send({ type: 'watch.ended', at, draw: 0, failure: kind === null ? null : failure(kind, more) }),
    paused: () => send({ type: 'pause.over', at }),
    stop: () => send({ type: 'stop', at }),
    snapshot: () => actor.getSnapshot(),
  };
}

function watching() {
  const it = life();
  it.start();
  it.listed();
  it.opened();
  return it;
}

test('a list comes first, then a watch from its version', () => {
  const it = life();
  expect(it.start().value).toBe('listing');
  const after = it.listed('42');
  expect(after.value).toBe('connecting');
  expect(after.context).toMatchObject({ resourceVersion: '42', hasSynced: true, mustList: false });
  expect(it.opened().value).toBe('watching');
});

test('a watch that ended goes on from the last version at once, cut or not', () => {
  for (const kind of [null, 'network', 'stalled'] as const) {
    const it = watching();
    it.progressed('57');
    it.wait(shortestWatchMs);
    const after = it.ended(kind);
    expect(after.value).toBe('connecting');
    expect(after.context).toMatchObject({ resourceVersion: '57', mustList: false, attempt: 0 });
  }
});

test('a very short watch is paused after, longer each time, whatever it delivered', () => {
  const it = watching();
  const pauses: number[] = [];
  for (let round = 0; round < 8; round++) {
    it.progressed(String(100 + round));
    const after = it.ended();
    expect(after.value).toBe('backingOff');
    pauses.push(after.context.pauseMs);
    it.wait(after.context.pauseMs);
    expect(it.paused().value).toBe('connecting');
    it.opened();
  }
  expect(pauses).toEqual([400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]);
});

test('the pause is drawn between half and the whole', () => {
  for (const [draw, expected] of [
    [0, firstPauseMs / 2],
    [0.5, firstPauseMs * 0.75],
  ] as const) {
    const actor = createActor(reflectorMachine).start();
    actor.send({ type: 'start', at: 0 });
    actor.send({ type: 'list.failed', at: 0, draw, failure: failure('network') });
    expect(actor.getSnapshot().context.pauseMs).toBe(expected);
  }
});

test('the pause is never shorter than the server asked for', () => {
  const it = life();
  it.start();
  expect(it.listFailed('busy', { retryAfterMs: 45_000 }).context.pauseMs).toBe(45_000);
});

test('a long watch makes earlier failures forgotten', () => {
  const it = life();
  it.start();
  for (let round = 0; round < 6; round++) {
    it.listFailed('network');
    it.paused();
  }
  it.listed();
  it.opened();
  it.wait(forgetAfterMs);
  expect(it.ended('network').context.attempt).toBe(0);
});

test('a forgotten version leads to a new list at once, but not in a loop', () => {
  const it = watching();
  expect(it.ended('expired').value).toBe('listing');
  it.listed('70');
  it.opened();
  const second = it.ended('expired');
  expect(second.value).toBe('backingOff');
  expect(it.paused().value).toBe('listing');
  it.listed('80');
  it.opened();
  it.wait(shortestWatchMs);
  it.progressed('81');
  expect(it.ended('expired').value).toBe('listing');
});

test('a frame that cannot be read leads to a pause and a new list: nobody knows what it said', () => {
  const it = watching();
  expect(it.ended('malformed').value).toBe('backingOff');
  expect(it.paused().value).toBe('listing');
  expect(it.snapshot().context.counters.malformedFrames).toBe(1);
});

test('an overloaded server is left alone, then the watch goes on without a list', () => {
  const it = watching();
  it.wait(shortestWatchMs);
  const after = it.ended('busy', { retryAfterMs: 3_000 });
  expect(after.value).toBe('backingOff');
  expect(after.context.pauseMs).toBe(3_000);
  expect(it.paused().value).toBe('connecting');
});

test('in-stream 500s are bridged for a minute, then comes a list', () => {
  const it = watching();
  expect(it.ended('internal').context.mustList).toBe(false);
  it.wait(internalErrorsForMs / 2);
  it.paused();
  it.opened();
  expect(it.ended('internal').context.mustList).toBe(false);
  it.wait(internalErrorsForMs / 2);
  it.paused();
  it.opened();
  expect(it.ended('internal').context.mustList).toBe(true);
  expect(it.paused().value).toBe('listing');
});

test('a refusal degrades, is retried slowly, and heals', () => {
  const it = watching();
  const refused = it.ended('refused');
  expect(refused.value).toBe('degraded');
  expect(refused.context.pauseMs).toBeGreaterThanOrEqual(refusedPauseMs / 2);
  it.wait(refused.context.pauseMs);
  expect(it.paused().value).toBe('connecting');
  expect(it.opened().context.failure).toBeNull();

  const never = life();
  never.start();
  never.listFailed('refused');
  expect(never.paused().value).toBe('listing');
});

test('stop ends it for good from every state', () => {
  const reached = new Set<unknown>();
  const ended = { type: 'watch.ended', at: 0, draw: 0, failure: null } as const;
  const refused = { type: 'list.failed', at: 0, draw: 0, failure: failure('refused') } as const;
  const toEachState: (readonly ReflectorMessage[])[] = [
    [],
    toWatching.slice(0, 1),
    toWatching.slice(0, 2),
    toWatching,
    [...toWatching, ended],
    [...toWatching.slice(0, 1), refused],
  ];
  fc.assert(
    fc.property(messages(), (before) => {
      const actor = createActor(reflectorMachine).start();
      for (const message of before) if (message.type !== 'stop') actor.send(message);
      reached.add(actor.getSnapshot().value);
      actor.send({ type: 'stop', at: 1_000_000 });
      expect(actor.getSnapshot()).toMatchObject({ value: 'stopped', status: 'done' });
    }),
    { examples: toEachState.map((before) => [[...before]]) },
  );
  expect([...reached].sort()).toEqual(['backingOff', 'connecting', 'degraded', 'idle', 'listing', 'watching']);
});

test('whatever comes, only stop is terminal, pauses stay in bounds, and a lost version is never watched from', () => {
  fc.assert(
    fc.property(messages(), (life_) => {
      const actor = createActor(reflectorMachine).start();
      for (const message of life_) {
        if (message.type === 'stop') continue;
        const before = actor.getSnapshot();
        actor.send(message);
        const { value, context, status } = actor.getSnapshot();
        expect(status).toBe('active');
        if (value === 'backingOff') expect(context.pauseMs).toBeLessThanOrEqual(Math.max(longestPauseMs, 5_000));
        if (value === 'backingOff' || value === 'degraded') expect(context.pauseMs).toBeGreaterThan(0);
        if (value === 'connecting' || value === 'watching') {
          expect(context.mustList).toBe(false);
          expect(context.resourceVersion).not.toBeNull();
        }
        if (before.context.hasSynced) expect(context.hasSynced).toBe(true);
      }
    }),
  );
});

/** Lives biased to what can follow, with nonsense in between. */
function messages(): fc.Arbitrary<ReflectorMessage[]> {
  const kind = fc.constantFrom<Kind>(
    'refused',
    'expired',
    'busy',
    'internal',
    'network',
    'stalled',
    'malformed',
    'other',
  );
  const anyFailure = fc
    .record({ kind, retry: fc.constantFrom(undefined, 5_000) })
    .map(({ kind: each, retry }) => failure(each, retry === undefined ? {} : { retryAfterMs: retry }));
  const draw = fc.double({ min: 0, max: 0.999, noNaN: true });
  const message = fc.oneof(
    fc.constant({ type: 'start' as const }),
    fc.constant({ type: 'list.succeeded' as const, resourceVersion: '5' }),
    fc.record({ type: fc.constant('list.failed' as const), draw, failure: anyFailure }),
    fc.constant({ type: 'watch.opened' as const }),
    fc.constant({ type: 'watch.progressed' as const, resourceVersion: '6', frames: 1, bookmarks: 0 }),
    fc.record({ type: fc.constant('watch.ended' as const), draw, failure: fc.option(anyFailure) }),
    fc.constant({ type: 'pause.over' as const }),
  );
  const step = fc.record({ message, wait: fc.constantFrom(0, 500, 2_000, 130_000) });
  return fc.record({ known: fc.nat(3), steps: fc.array(step, { maxLength: 25 }) }).map(({ known, steps }) => {
    let at = 0;
    const rest = steps.map(({ message: each, wait }) => {
      at += wait;
      return { ...each, at };
    });
    return [...toWatching.slice(0, known), ...rest];
  });
}
