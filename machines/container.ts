/**
 * The life of one container of a build, from "a step may be asked for" to its verdict.
 *
 * Promises:
 * 1. The first verdict stands. Messages that come late, twice or out of order never change it.
 * 2. The tags only ever switch on: `launched` once there is something to tell about the start, `settled` once there is
 *    a verdict. Any state may be skipped, because watches merge observations.
 * 3. It only assigns: no timers, no other effects. `deadlineAt` tells when it wants to hear `time.passed`.
 *
 * What an observation means is decided before it gets here (`src/pod`); what is decided here is what to believe first
 * and how long to wait.
 */
import { assign, setup } from 'xstate';
import type {
  Cancel,
  ContainerMessage,
  ContainerRunning,
  ContainerTerminated,
  GracePolicy,
  ImagePullFailed,
  Source,
  StartBlocked,
} from './messages.ts';
import type {
  CanceledOutcome,
  Outcome,
  Phase,
  PullFailedOutcome,
  RunningOutcome,
  TerminatedOutcome,
} from './outcome.ts';

export interface ContainerInput {
  readonly name: string;
  readonly grace: GracePolicy;
}

/** Why the step does not start, as far as it is known, and since when. */
export type Trouble =
  | {
      readonly kind: 'pull';
      readonly since: number;
      readonly permanentSince: number | null;
      readonly sign: ImagePullFailed;
    }
  | { readonly kind: 'start'; readonly since: number; readonly sign: StartBlocked };

export interface ContainerContext {
  readonly name: string;
  readonly grace: GracePolicy;
  /** Null until the step was asked to run; before that nothing but a cancel is believed. */
  readonly requestedAt: number | null;
  readonly image: string | null;
  readonly trouble: Trouble | null;
  /** The kubelet will start nothing any more; only the cause may still come. */
  readonly switchFailed: { readonly at: number; readonly source: Source } | null;
  /** When a silent node becomes a lost one. */
  readonly nodeLostAt: number | null;
  /** The next moment at which time alone decides; null when it never does. */
  readonly deadlineAt: number | null;
  readonly outcome: Outcome | null;
}

export type ContainerTag = 'launched' | 'settled';

export const containerMachine = setup({
  types: {
    context: {} as ContainerContext,
    events: {} as ContainerMessage,
    input: {} as ContainerInput,
    tags: {} as ContainerTag,
  },
  guards: {
    isNotRequested: ({ context }) => context.requestedAt === null,
    isRequested: ({ context }) => context.requestedAt !== null,
    isLastAttempt: ({ context, event }) => event.type === 'image.pullFailed' && isLastAttempt(context, event),
    mayStillStart: ({ context }) => context.switchFailed === null,
    willNotStart: ({ context }) => context.switchFailed !== null,
    isPullTrouble: ({ context }) => context.trouble?.kind === 'pull',
    isStartTrouble: ({ context }) => context.trouble?.kind === 'start',
    isPullGraceOver: ({ context, event }) => event.type === 'time.passed' && isOver(pullGraceEnd(context), event.at),
    isStartGraceOver: ({ context, event }) => event.type === 'time.passed' && isOver(startGraceEnd(context), event.at),
    isNodeLost: ({ context, event }) => event.type === 'time.passed' && isOver(context.nodeLostAt, event.at),
  },
  actions: {
    noteRequest: assign(on('container.requested', (_, { at, image }) => ({ requestedAt: at, image }))),
    notePullTrouble: assign(on('image.pullFailed', (context, sign) => ({ trouble: pullTrouble(context, sign) }))),
    noteStartTrouble: assign(on('start.blocked', (context, sign) => ({ trouble: startTrouble(context, sign) }))),
    forgetPullTrouble: assign(
      on('image.pulled', ({ trouble }) => ({ trouble: trouble?.kind === 'pull' ? null : trouble })),
    ),
    forgetInitTrouble: assign(({ context }) =>
      isInitTrouble(context) ? withDeadline(context, { trouble: null }) : {},
    ),
    noteSwitchFailed: assign(on('switch.failed', (_, { at, source }) => ({ switchFailed: { at, source } }))),
    noteSilence: assign(on('node.silent', (context, silence) => ({ nodeLostAt: lostAt(context, silence) }))),
    forgetSilence: assign(on('node.answered', () => ({ nodeLostAt: null }))),
    setRunning: assign(
      on('container.running', (_, message) => ({ trouble: null, switchFailed: null, outcome: running(message) })),
    ),
    setTerminated: assign(on('container.terminated', (_, message) => ({ outcome: terminated(message) }))),
    setPullFailed: assign(({ context, event }) => ({ deadlineAt: null, outcome: pullFailed(context, event) })),
    setNotStarted: assign(({ context, event }) => ({ deadlineAt: null, outcome: notStarted(context, event) })),
    setNodeLost: assign(on('time.passed', (_, { at }) => ({ outcome: nodeLost(at) }))),
    setCanceled: assign(on('cancel', (context, cancel) => ({ outcome: canceled(context, cancel) }))),
  },
}).createMachine({
  id: 'container',
  context: ({ input }) => ({
    name: input.name,
    grace: input.grace,
    requestedAt: null,
    image: null,
    trouble: null,
    switchFailed: null,
    nodeLostAt: null,
    deadlineAt: null,
    outcome: null,
  }),
  initial: 'pending',
  on: {
    'node.silent': { guard: 'isRequested', actions: 'noteSilence' },
    'node.answered': { guard: 'isRequested', actions: 'forgetSilence' },
  },
  states: {
    /** Not asked for yet; or asked for, and nothing is known of a pull: waiting(ContainerCreating), or the placeholder. */
    pending: {
      on: {
        'container.requested': { guard: 'isNotRequested', actions: 'noteRequest' },
        'init.recovered': { guard: 'isRequested', actions: 'forgetInitTrouble' },
        'image.pulling': { guard: 'isRequested', target: 'pulling', actions: 'forgetInitTrouble' },
        'image.pullFailed': [
          { guard: 'isLastAttempt', target: 'pullFailed', actions: ['notePullTrouble', 'setPullFailed'] },
          { guard: 'isRequested', target: 'pulling', actions: 'notePullTrouble' },
        ],
        'start.blocked': { guard: 'isRequested', actions: 'noteStartTrouble' },
        'switch.failed': [
          { guard: 'isStartTrouble', target: 'terminated', actions: 'setNotStarted' },
          { guard: 'isRequested', target: 'pulling', actions: 'noteSwitchFailed' },
        ],
        'container.running': { guard: 'isRequested', target: 'running', actions: 'setRunning' },
        'container.terminated': { guard: 'isRequested', target: 'terminated', actions: 'setTerminated' },
        'time.passed': [
          { guard: 'isNodeLost', target: 'terminated', actions: 'setNodeLost' },
          { guard: 'isStartGraceOver', target: 'terminated', actions: 'setNotStarted' },
        ],
        cancel: { target: 'canceled', actions: 'setCanceled' },
      },
    },
    /** The image is being got: Pulling, waiting(ErrImagePull, ImagePullBackOff); or its failure still lacks a cause. */
    pulling: {
      on: {
        'image.pulled': { guard: 'mayStillStart', target: 'pending', actions: 'forgetPullTrouble' },
        'image.pullFailed': [
          { guard: 'isLastAttempt', target: 'pullFailed', actions: ['notePullTrouble', 'setPullFailed'] },
          { actions: 'notePullTrouble' },
        ],
        'start.blocked': [
          { guard: 'willNotStart', target: 'terminated', actions: ['noteStartTrouble', 'setNotStarted'] },
          { target: 'pending', actions: 'noteStartTrouble' },
        ],
        'switch.failed': [
          { guard: 'isPullTrouble', target: 'pullFailed', actions: ['noteSwitchFailed', 'setPullFailed'] },
          { guard: 'isStartTrouble', target: 'terminated', actions: 'setNotStarted' },
          { guard: 'mayStillStart', actions: 'noteSwitchFailed' },
        ],
        'container.running': { target: 'running', actions: 'setRunning' },
        'container.terminated': { target: 'terminated', actions: 'setTerminated' },
        'time.passed': [
          { guard: 'isNodeLost', target: 'terminated', actions: 'setNodeLost' },
          { guard: 'isPullGraceOver', target: 'pullFailed', actions: 'setPullFailed' },
          { guard: 'isStartGraceOver', target: 'terminated', actions: 'setNotStarted' },
        ],
        cancel: { target: 'canceled', actions: 'setCanceled' },
      },
    },
    /** The step's own container was seen running, by its containerID. */
    running: {
      tags: ['launched'],
      on: {
        'container.terminated': { target: 'terminated', actions: 'setTerminated' },
        'time.passed': { guard: 'isNodeLost', target: 'terminated', actions: 'setNodeLost' },
        cancel: { target: 'canceled', actions: 'setCanceled' },
      },
    },
    /** The image cannot be had: its grace is over, or the kubelet does not try again. */
    pullFailed: { type: 'final', tags: ['launched', 'settled'] },
    /** The step ended, or something else than its image keeps it from ever running. */
    terminated: { type: 'final', tags: ['launched', 'settled'] },
    /** The caller gave up before there was a verdict. It may still start for a moment; nobody is told. */
    canceled: { type: 'final', tags: ['launched', 'settled'] },
  },
});

/** What a message of one type changes, with the deadline that follows from it. Other messages change nothing. */
function on<T extends ContainerMessage['type']>(
  type: T,
  change: (context: ContainerContext, message: Extract<ContainerMessage, { type: T }>) => Partial<ContainerContext>,
) {
  const isOfType = (message: ContainerMessage): message is Extract<ContainerMessage, { type: T }> =>
    message.type === type;
  return ({ context, event }: { context: ContainerContext; event: ContainerMessage }): Partial<ContainerContext> =>
    isOfType(event) ? withDeadline(context, change(context, event)) : {};
}

function withDeadline(context: ContainerContext, change: Partial<ContainerContext>): Partial<ContainerContext> {
  const next = { ...context, ...change };
  const isSettled = next.outcome !== null && next.outcome.outcome !== 'running';
  const ends = [pullGraceEnd(next), startGraceEnd(next), next.nodeLostAt].filter((end) => end !== null);
  return { ...change, deadlineAt: isSettled || ends.length === 0 ? null : Math.min(...ends) };
}

/** A permanent class gets one more attempt; and none is left where the kubelet does not try again. */
function isLastAttempt(context: ContainerContext, message: ImagePullFailed): boolean {
  return context.requestedAt !== null && (context.switchFailed !== null || message.permanentAttempts >= 2);
}

/** The clock starts at the first sign and survives flips of reason; a permanent class has a clock of its own. */
function pullTrouble(context: ContainerContext, sign: ImagePullFailed): Trouble {
  const known = context.trouble?.kind === 'pull' ? context.trouble : null;
  const merged = known !== null && sign.class === 'unknown' ? { ...known.sign, attempts: sign.attempts } : sign;
  const permanentSince = merged.permanent ? (known?.permanentSince ?? sign.at) : null;
  return { kind: 'pull', since: known?.since ?? sign.at, permanentSince, sign: merged };
}

function startTrouble(context: ContainerContext, sign: StartBlocked): Trouble {
  const known = context.trouble?.kind === 'start' && context.trouble.sign.cause === sign.cause ? context.trouble : null;
  return { kind: 'start', since: known?.since ?? sign.at, sign };
}

function isInitTrouble({ trouble }: ContainerContext): boolean {
  return trouble?.kind === 'start' && trouble.sign.cause === 'initFailed';
}

function lostAt(context: ContainerContext, silence: { at: number; lostAt: number | null }): number {
  const silentAt = context.nodeLostAt ?? silence.at + context.grace.nodeSilentMs;
  return silence.lostAt === null ? silentAt : Math.min(silentAt, silence.lostAt);
}

function pullGraceEnd({ trouble, switchFailed, grace }: ContainerContext): number | null {
  if (switchFailed !== null) return switchFailed.at + grace.causeMs;
  if (trouble?.kind !== 'pull') return null;
  const transientEnd = trouble.since + grace.transientMs;
  return trouble.permanentSince === null
    ? transientEnd
    : Math.min(transientEnd, trouble.permanentSince + grace.permanentMs);
}

function startGraceEnd({ trouble, grace }: ContainerContext): number | null {
  return trouble?.kind === 'start' ? trouble.since + grace[trouble.sign.grace] : null;
}

function isOver(end: number | null, at: number): boolean {
  return end !== null && at >= end;
}

function running({ at, source, startedAt }: ContainerRunning): RunningOutcome {
  return { outcome: 'running', startedAt, provenance: { ...source, decidedAt: at } };
}

function terminated(message: ContainerTerminated): TerminatedOutcome {
  return {
    outcome: 'terminated',
    exitCode: message.exitCode,
    cause: message.cause,
    message: message.message,
    startedAt: message.startedAt,
    finishedAt: message.finishedAt,
    provenance: { ...message.source, decidedAt: message.at },
  };
}

function nodeLost(at: number): TerminatedOutcome {
  return neverEnded('nodeLost', 'the node has been silent for too long', { decidedAt: at, source: 'time' });
}

function pullFailed(context: ContainerContext, message: ContainerMessage): PullFailedOutcome {
  const sign = context.trouble?.kind === 'pull' ? context.trouble.sign : null;
  const evidence = { ...context.switchFailed?.source, ...sign?.source };
  const source = 'source' in message ? message.source.source : 'time';
  return {
    outcome: 'pullFailed',
    class: sign?.class ?? 'unknown',
    permanent: sign?.permanent ?? false,
    retried: context.switchFailed === null,
    message: sign?.message ?? null,
    attempts: Math.max(1, sign?.attempts ?? 1),
    provenance: { ...evidence, ...('source' in message ? message.source : {}), decidedAt: message.at, source },
  };
}

function notStarted(context: ContainerContext, message: ContainerMessage): TerminatedOutcome {
  const sign = context.trouble?.kind === 'start' ? context.trouble.sign : null;
  const source = 'source' in message ? message.source : ({ source: 'time' } as const);
  const words = sign === null ? null : (sign.message ?? sign.reason);
  return neverEnded(sign?.cause ?? 'unknown', words, { ...sign?.source, ...source, decidedAt: message.at });
}

function neverEnded(
  cause: TerminatedOutcome['cause'],
  message: string | null,
  provenance: TerminatedOutcome['provenance'],
): TerminatedOutcome {
  return { outcome: 'terminated', exitCode: null, cause, message, startedAt: null, finishedAt: null, provenance };
}

function canceled(context: ContainerContext, { at, reason, phase }: Cancel): CanceledOutcome {
  return {
    outcome: 'canceled',
    reason,
    phase: phase ?? phaseOf(context),
    provenance: { decidedAt: at, source: 'caller' },
  };
}

/** In which part of its life a cancel finds the container, when the caller does not say. */
function phaseOf(context: ContainerContext): Phase {
  if (context.outcome?.outcome === 'running') return 'run';
  if (context.requestedAt === null) return 'start';
  return context.trouble?.kind === 'start' ? 'start' : 'pull';
}
