/**
 * The life of one build: the root of its actor system, the parent of its pod.
 *
 * `setup` → `assembling` → `running` → one of `succeeded`, `failed`, `canceled`, `errored` → `removed`. It hands every
 * message about the pod on, in every state, so that containers settle also while the build is being removed. A build is
 * judged by its caller (`build.concluded`), never by its pod's phase.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { BuildMessage, GracePolicy, PodMessage } from './messages.ts';
import { podMachine } from './pod.ts';

export interface BuildInput {
  readonly id: string;
  readonly containers: readonly string[];
  readonly grace: GracePolicy;
}

export interface BuildContext {
  readonly id: string;
  readonly containers: readonly string[];
  readonly grace: GracePolicy;
  /** Why it was canceled; null when it was not. */
  readonly canceledBy: 'caller' | 'timeout' | null;
  /** What went wrong in the runtime, for people. */
  readonly error: string | null;
}

export type BuildTag = 'over';

export const buildMachine = setup({
  types: {
    context: {} as BuildContext,
    events: {} as BuildMessage,
    input: {} as BuildInput,
    tags: {} as BuildTag,
    children: {} as { pod: 'pod' },
  },
  actors: { pod: podMachine },
  guards: {
    hasSucceeded: ({ event }) => event.type === 'build.concluded' && event.result === 'succeeded',
    hasFailed: ({ event }) => event.type === 'build.concluded' && event.result === 'failed',
    wasCanceled: ({ event }) => event.type === 'build.concluded' && event.result === 'canceled',
  },
  actions: {
    spawnPod: enqueueActions(({ context, enqueue }) => {
      enqueue.spawnChild('pod', { id: 'pod', input: { containers: context.containers, grace: context.grace } });
    }),
    tellPod: enqueueActions(({ event, enqueue }) => {
      const message = podMessage(event);
      if (message !== null) enqueue.sendTo('pod', message);
    }),
    setCanceled: assign(({ event }) => (event.type === 'build.cancel' ? { canceledBy: event.reason } : {})),
    setError: assign(({ event }) => (event.type === 'build.errored' ? { error: event.message } : {})),
  },
}).createMachine({
  id: 'build',
  context: ({ input }) => ({
    id: input.id,
    containers: input.containers,
    grace: input.grace,
    canceledBy: null,
    error: null,
  }),
  entry: 'spawnPod',
  initial: 'setup',
  on: {
    'pod.created': { actions: 'tellPod' },
    'pod.observed': { actions: 'tellPod' },
    'pod.told': { actions: 'tellPod' },
    'pod.gone': { actions: 'tellPod' },
    'containers.cancel': { actions: 'tellPod' },
    'time.passed': { actions: 'tellPod' },
    'build.cancel': { actions: 'tellPod' },
    'build.removed': { target: '.removed' },
  },
  states: {
    /** Known to the runtime; nothing was done for it on the cluster. */
    setup: {
      on: {
        'build.assembling': { target: 'assembling' },
        'build.cancel': { target: 'canceled', actions: ['setCanceled', 'tellPod'] },
      },
    },
    /** Its pod is being created, or found again. */
    assembling: {
      on: {
        'pod.created': { target: 'running', actions: 'tellPod' },
        'build.cancel': { target: 'canceled', actions: ['setCanceled', 'tellPod'] },
        'build.errored': { target: 'errored', actions: 'setError' },
      },
    },
    /** Its pod is on the cluster; steps are asked for. */
    running: {
      on: {
        'build.concluded': [
          { guard: 'hasSucceeded', target: 'succeeded' },
          { guard: 'hasFailed', target: 'failed' },
          { guard: 'wasCanceled', target: 'canceled' },
          { target: 'errored' },
        ],
        'build.cancel': { target: 'canceled', actions: ['setCanceled', 'tellPod'] },
        'build.errored': { target: 'errored', actions: 'setError' },
      },
    },
    succeeded: { tags: ['over'] },
    failed: { tags: ['over'] },
    canceled: { tags: ['over'] },
    /** The runtime or the cluster failed it. */
    errored: { tags: ['over'] },
    /** Nothing of it is on the cluster any more. */
    removed: { tags: ['over'] },
  },
});

function podMessage(event: BuildMessage): PodMessage | null {
  switch (event.type) {
    case 'build.assembling':
    case 'build.errored':
    case 'build.concluded':
    case 'build.removed':
      return null;
    case 'build.cancel':
      return { type: 'containers.cancel', at: event.at, reason: event.reason, phase: event.phase, container: null };
    case 'pod.created':
    case 'pod.observed':
    case 'pod.told':
    case 'pod.gone':
    case 'containers.cancel':
    case 'time.passed':
      return event;
  }
}
