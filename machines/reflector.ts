/**
 * The life of one list-watch: what to do next after every answer, silence or failure of the API server.
 *
 * Never terminal: only `stop` ends it. Rules and figures are client-go's reflector's where they exist
 * (kubernetes.md §8). Time, results and chance enter as messages, so the same messages give the same life.
 */
import { assign, type SnapshotFrom, setup } from 'xstate';

/** First and longest pause after failures; doubled each time. */
export const firstPauseMs = 800;
export const longestPauseMs = 30_000;
/** Pause while the server refuses us: rights and tokens change at the pace of people. */
export const refusedPauseMs = 60_000;
/** A watch that ends sooner counts as a failure, or a server that always hangs up would be called in a tight loop. */
export const shortestWatchMs = 1_000;
/** A watch that lived so long makes earlier failures forgotten. */
export const forgetAfterMs = 120_000;
/** For so long in-stream 500s are answered by watching on from the same version; then by a new list. */
export const internalErrorsForMs = 60_000;

/** Why a list or watch failed or broke. */
export interface ReflectorFailure {
  /**
   * `refused` 401, 403, 404 · `expired` the server forgot our version (410) · `busy` 429, 503 · `internal` an
   * in-stream 500 · `network` · `stalled` nothing was heard for too long · `malformed` a frame that cannot be read, so
   * that nobody knows what it said · `other`.
   */
  readonly kind: 'refused' | 'expired' | 'busy' | 'internal' | 'network' | 'stalled' | 'malformed' | 'other';
  readonly message: string;
  /** What the server asked for. */
  readonly retryAfterMs?: number;
}

export type ReflectorMessage =
  | { readonly type: 'start'; readonly at: number }
  | { readonly type: 'list.succeeded'; readonly at: number; readonly resourceVersion: string }
  | { readonly type: 'list.failed'; readonly at: number; readonly draw: number; readonly failure: ReflectorFailure }
  | { readonly type: 'watch.opened'; readonly at: number }
  | {
      readonly type: 'watch.progressed';
      readonly at: number;
      /** Of the last frame or bookmark. */
      readonly resourceVersion: string;
      readonly frames: number;
      readonly bookmarks: number;
    }
  /** `failure` is null for an end of the stream without an error. `draw` is a random number in [0, 1). */
  | {
      readonly type: 'watch.ended';
      readonly at: number;
      readonly draw: number;
      readonly failure: ReflectorFailure | null;
    }
  | { readonly type: 'pause.over'; readonly at: number }
  | { readonly type: 'stop'; readonly at: number };

export interface ReflectorContext {
  /** Where the next watch goes on; null before the first list. */
  readonly resourceVersion: string | null;
  readonly hasSynced: boolean;
  /** Whether the next step is a list, because going on from `resourceVersion` would lose something. */
  readonly mustList: boolean;
  /** Failures since the last watch that lived long. */
  readonly attempt: number;
  /** Expirations since the last watch that was not short. */
  readonly expirationsInARow: number;
  /** When the present row of in-stream 500s began. */
  readonly internalErrorsSince: number | null;
  /** How long to pause in `backingOff` and `degraded`. */
  readonly pauseMs: number;
  readonly openedAt: number | null;
  readonly stateSince: number;
  readonly lastContactAt: number | null;
  /** Null again once a list or watch worked. */
  readonly failure: ReflectorFailure | null;
  readonly counters: ReflectorCounters;
}

export interface ReflectorCounters {
  readonly lists: number;
  readonly watches: number;
  readonly frames: number;
  readonly bookmarks: number;
  readonly failures: number;
  readonly stalls: number;
  readonly expirations: number;
  readonly malformedFrames: number;
}

type Ended = Extract<ReflectorMessage, { type: 'list.failed' | 'watch.ended' }>;

interface Verdict {
  readonly next: 'listing' | 'connecting' | 'backingOff' | 'degraded';
  readonly mustList: boolean;
  readonly attempt: number;
  readonly expirationsInARow: number;
  readonly internalErrorsSince: number | null;
  readonly pauseMs: number;
}

/** The one place where it is decided how to go on after an end. */
function judge(context: ReflectorContext, message: Ended): Verdict {
  const { failure, at, draw } = message;
  const livedMs = context.openedAt === null ? 0 : at - context.openedAt;
  const wasShort = livedMs < shortestWatchMs;
  const attempt = livedMs >= forgetAfterMs ? 0 : context.attempt;
  const isExpired = failure?.kind === 'expired';
  const internalErrorsSince = failure?.kind === 'internal' ? (context.internalErrorsSince ?? at) : null;
  const verdict = {
    mustList: message.type === 'list.failed' || losesSomething(failure, internalErrorsSince, at),
    expirationsInARow: isExpired
      ? wasShort
        ? context.expirationsInARow + 1
        : 1
      : wasShort
        ? context.expirationsInARow
        : 0,
    internalErrorsSince,
  };
  if (failure?.kind === 'refused') {
    const pauseMs = Math.max(drawn(refusedPauseMs, draw), failure.retryAfterMs ?? 0);
    return { ...verdict, next: 'degraded', attempt, pauseMs };
  }
  const goesOnAtOnce = isExpired ? verdict.expirationsInARow === 1 : !wasShort && isInterruption(failure);
  if (goesOnAtOnce) return { ...verdict, next: verdict.mustList ? 'listing' : 'connecting', attempt, pauseMs: 0 };
  const backOffMs = drawn(Math.min(longestPauseMs, firstPauseMs * 2 ** attempt), draw);
  const pauseMs = Math.max(backOffMs, failure?.retryAfterMs ?? 0);
  return { ...verdict, next: 'backingOff', attempt: attempt + 1, pauseMs };
}

/** Whether frames may be missed when the watch goes on from the last version. */
function losesSomething(failure: ReflectorFailure | null, internalErrorsSince: number | null, at: number): boolean {
  if (failure === null) return false;
  if (failure.kind === 'internal') return at - (internalErrorsSince ?? at) >= internalErrorsForMs;
  return failure.kind === 'expired' || failure.kind === 'malformed' || failure.kind === 'other';
}

/** An end that says nothing about the next try: the stream was cut, ran out, or went silent. */
function isInterruption(failure: ReflectorFailure | null): boolean {
  return failure === null || failure.kind === 'network' || failure.kind === 'stalled';
}

/** Between half and the whole, so that many workers do not come back together and none comes back at once. */
function drawn(pauseMs: number, draw: number): number {
  return Math.round((pauseMs * (1 + draw)) / 2);
}

function counted(counters: ReflectorCounters, message: Ended): ReflectorCounters {
  const kind = message.failure?.kind;
  return {
    ...counters,
    failures: counters.failures + (message.failure === null ? 0 : 1),
    stalls: counters.stalls + (kind === 'stalled' ? 1 : 0),
    expirations: counters.expirations + (kind === 'expired' ? 1 : 0),
    malformedFrames: counters.malformedFrames + (kind === 'malformed' ? 1 : 0),
  };
}

const reflectorSetup = setup({
  types: { context: {} as ReflectorContext, events: {} as ReflectorMessage },
  actions: {
    enter: assign(({ event }) => ({ stateSince: event.at })),
    applyList: assign(({ context, event }) =>
      event.type !== 'list.succeeded'
        ? {}
        : {
            resourceVersion: event.resourceVersion,
            hasSynced: true,
            mustList: false,
            lastContactAt: event.at,
            stateSince: event.at,
            failure: null,
            counters: { ...context.counters, lists: context.counters.lists + 1 },
          },
    ),
    applyOpened: assign(({ context, event }) => ({
      openedAt: event.at,
      lastContactAt: event.at,
      stateSince: event.at,
      failure: null,
      counters: { ...context.counters, watches: context.counters.watches + 1 },
    })),
    applyProgress: assign(({ context, event }) =>
      event.type !== 'watch.progressed'
        ? {}
        : {
            resourceVersion: event.resourceVersion,
            lastContactAt: event.at,
            internalErrorsSince: null,
            counters: {
              ...context.counters,
              frames: context.counters.frames + event.frames,
              bookmarks: context.counters.bookmarks + event.bookmarks,
            },
          },
    ),
    applyEnd: assign(({ context, event }) => {
      if (event.type !== 'list.failed' && event.type !== 'watch.ended') return {};
      const { next: _next, ...judged } = judge(context, event);
      return {
        ...judged,
        openedAt: null,
        stateSince: event.at,
        failure: event.failure,
        counters: counted(context.counters, event),
      };
    }),
  },
  guards: {
    isRefused: ({ context, event }) => verdictIs(context, event, 'degraded'),
    needsPause: ({ context, event }) => verdictIs(context, event, 'backingOff'),
    needsList: ({ context, event }) => verdictIs(context, event, 'listing'),
    mustList: ({ context }) => context.mustList,
  },
});

function verdictIs(context: ReflectorContext, message: ReflectorMessage, next: Verdict['next']): boolean {
  const isEnd = message.type === 'list.failed' || message.type === 'watch.ended';
  return isEnd && judge(context, message).next === next;
}

const afterEnd = [
  { guard: 'isRefused', target: 'degraded', actions: 'applyEnd' },
  { guard: 'needsPause', target: 'backingOff', actions: 'applyEnd' },
  { guard: 'needsList', target: 'listing', actions: 'applyEnd' },
  { target: 'connecting', actions: 'applyEnd' },
] as const;

const afterPause = [
  { guard: 'mustList', target: 'listing', actions: 'enter' },
  { target: 'connecting', actions: 'enter' },
] as const;

export const reflectorMachine = reflectorSetup.createMachine({
  id: 'reflector',
  initial: 'idle',
  context: {
    resourceVersion: null,
    hasSynced: false,
    mustList: true,
    attempt: 0,
    expirationsInARow: 0,
    internalErrorsSince: null,
    pauseMs: 0,
    openedAt: null,
    stateSince: 0,
    lastContactAt: null,
    failure: null,
    counters: {
      lists: 0,
      watches: 0,
      frames: 0,
      bookmarks: 0,
      failures: 0,
      stalls: 0,
      expirations: 0,
      malformedFrames: 0,
    },
  },
  on: { stop: { target: '.stopped', actions: 'enter' } },
  states: {
    /** Made, not started. */
    idle: { on: { start: { target: 'listing', actions: 'enter' } } },
    /** A LIST is on its way: the first one, or one after history was lost. */
    listing: {
      on: { 'list.succeeded': { target: 'connecting', actions: 'applyList' }, 'list.failed': afterEnd },
    },
    /** A WATCH was sent; the response headers have not come. */
    connecting: {
      on: { 'watch.opened': { target: 'watching', actions: 'applyOpened' }, 'watch.ended': afterEnd },
    },
    /** The stream is open: what the cache shows is what the server says. */
    watching: {
      on: { 'watch.progressed': { actions: 'applyProgress' }, 'watch.ended': afterEnd },
    },
    /** The last try failed in passing. */
    backingOff: { on: { 'pause.over': afterPause } },
    /** The server refuses: no right, no valid token, no such resource. */
    degraded: { on: { 'pause.over': afterPause } },
    stopped: { type: 'final' },
  },
});

export type ReflectorSnapshot = SnapshotFrom<typeof reflectorMachine>;
