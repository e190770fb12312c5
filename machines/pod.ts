/**
 * The life of one build pod, and the parent of its containers.
 *
 * One pod actor stands for one incarnation, known by its uid. It hands on what concerns its containers before it judges
 * itself, because a pod's end and its containers' ends come in one object. It only goes forward: creating → pending →
 * running → ending → gone; of the seen ones any may be skipped. `ending` is where a deletion, a disruption or a terminal phase
 * puts it; the cause it then has is its own and no container's.
 */
import { assign, type DoneActorEvent, enqueueActions, setup } from 'xstate';
import { containerMachine } from './container.ts';
import type { Addressed, ContainerMessage, GracePolicy, PodCause, PodMessage, PodReading } from './messages.ts';

export interface PodInput {
  readonly containers: readonly string[];
  readonly grace: GracePolicy;
}

export interface PodContext {
  readonly uid: string | null;
  readonly phase: PodReading['phase'] | null;
  readonly node: string | null;
  /** Why it ended as a whole; the first one stands. Null also when it just ended. */
  readonly cause: PodCause | null;
  readonly message: string | null;
  readonly grace: GracePolicy;
  readonly names: readonly string[];
  /** Containers with a verdict; they are told nothing more. */
  readonly settled: readonly string[];
}

export type PodTag = 'alive' | 'over';

export const podMachine = setup({
  types: {
    context: {} as PodContext,
    events: {} as PodMessage | DoneActorEvent,
    input: {} as PodInput,
    tags: {} as PodTag,
    children: {} as Record<string, 'container'>,
  },
  actors: { container: containerMachine },
  guards: {
    isEnding: ({ event }) => event.type === 'pod.observed' && event.reading.ending,
    isRunning: ({ event }) => event.type === 'pod.observed' && event.reading.phase === 'Running',
  },
  actions: {
    spawnContainers: enqueueActions(({ context, enqueue }) => {
      for (const name of context.names) {
        enqueue.spawnChild('container', { id: name, input: { name, grace: context.grace } });
      }
    }),
    setUid: assign({ uid: ({ context, event }) => (event.type === 'pod.created' ? event.uid : context.uid) }),
    tellContainers: enqueueActions(({ context, event, enqueue }) => {
      const unsettled = context.names.filter((name) => !context.settled.includes(name));
      for (const { container, message } of addressed(event, unsettled)) {
        if (unsettled.includes(container)) enqueue.sendTo(container, message);
      }
    }),
    noteSettled: assign({
      settled: ({ context, event }) => ('actorId' in event ? [...context.settled, event.actorId] : context.settled),
    }),
    setReading: assign(({ context, event }) => (event.type === 'pod.observed' ? read(context, event.reading) : {})),
    setGone: assign(({ context, event }) => (event.type === 'pod.gone' ? { cause: context.cause ?? event.cause } : {})),
  },
}).createMachine({
  id: 'pod',
  context: ({ input }) => ({
    uid: null,
    phase: null,
    node: null,
    cause: null,
    message: null,
    grace: input.grace,
    names: input.containers,
    settled: [],
  }),
  entry: 'spawnContainers',
  initial: 'creating',
  on: {
    'xstate.done.actor.*': { actions: 'noteSettled' },
    'pod.told': { actions: 'tellContainers' },
    'containers.cancel': { actions: 'tellContainers' },
    'time.passed': { actions: 'tellContainers' },
  },
  states: {
    /** The create is under way, or its answer was lost; which pod of the name is this one is not known. */
    creating: { on: { 'pod.created': { target: 'pending', actions: 'setUid' } } },
    /** Waiting for a node, or for the first start of every container: one bad image keeps a whole pod here. */
    pending: {
      tags: ['alive'],
      on: {
        'pod.observed': [
          { guard: 'isEnding', target: 'ending', actions: ['tellContainers', 'setReading'] },
          { guard: 'isRunning', target: 'running', actions: ['tellContainers', 'setReading'] },
          { actions: ['tellContainers', 'setReading'] },
        ],
        'pod.gone': { target: 'gone', actions: ['tellContainers', 'setGone'] },
      },
    },
    /** Every container has started once, be it as a placeholder. */
    running: {
      tags: ['alive'],
      on: {
        'pod.observed': [
          { guard: 'isEnding', target: 'ending', actions: ['tellContainers', 'setReading'] },
          { actions: ['tellContainers', 'setReading'] },
        ],
        'pod.gone': { target: 'gone', actions: ['tellContainers', 'setGone'] },
      },
    },
    /** Deleted, evicted, taken off its node, rejected or past its deadline, or Succeeded or Failed by itself. */
    ending: {
      tags: ['over'],
      on: {
        'pod.observed': { actions: ['tellContainers', 'setReading'] },
        'pod.gone': { target: 'gone', actions: ['tellContainers', 'setGone'] },
      },
    },
    /** The object is gone. What follows of it, as Events of the dead pod do, is nobody's any more. */
    gone: { tags: ['over'] },
  },
});

/** Who is told what: the addressed ones their message; a cancel or the time, all that are concerned. */
function addressed(event: PodMessage | DoneActorEvent, unsettled: readonly string[]): readonly Addressed[] {
  if ('containers' in event) return event.containers;
  if (event.type === 'time.passed') return unsettled.map((container) => ({ container, message: event }));
  if (event.type !== 'containers.cancel') return [];
  const message: ContainerMessage = { type: 'cancel', at: event.at, reason: event.reason, phase: event.phase };
  const concerned = event.container === null ? unsettled : [event.container];
  return concerned.map((container) => ({ container, message }));
}

function read(context: PodContext, reading: PodReading): Partial<PodContext> {
  return {
    phase: reading.phase,
    node: reading.node ?? context.node,
    cause: context.cause ?? reading.cause,
    message: reading.message ?? context.message,
  };
}
