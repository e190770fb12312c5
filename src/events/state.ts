/**
 * The state that the events add up to: a pure fold, so that `fold(events up to seq) = state at seq` holds for every
 * reader, on the server and in the page alike. Nothing of Node. A state is never changed: each event makes a new one
 * that shares what did not change.
 */
import type { Outcome, Provenance } from '../../machines/outcome.ts';
import type { DebugTarget } from '../debug/types.ts';
import type {
  BuildStateName,
  ContainerChanged,
  ContainerStateName,
  Evidence,
  KubeEventSeen,
  PodChanged,
  PodRef,
  PodStateName,
  PodwrightEvent,
  PortForwarded,
} from './types.ts';

/** A state and since when. */
export interface Step<S extends string> {
  readonly state: S;
  readonly at: number;
  readonly seq: number;
}

export interface ContainerState {
  readonly name: string;
  readonly image: string;
  readonly role: 'step' | 'service';
  /** When its step was asked to run. */
  readonly requestedAt: number | null;
  readonly state: ContainerStateName;
  /** Every state it was in, oldest first. */
  readonly history: readonly Step<ContainerStateName>[];
  readonly outcome: Outcome | null;
  readonly provenance: Provenance | null;
  readonly evidence: Evidence | null;
}
export interface PodState {
  readonly ref: PodRef;
  readonly state: PodStateName;
  readonly history: readonly Step<PodStateName>[];
  readonly node: string | null;
  readonly cause: string | null;
  readonly message: string | null;
}
export interface BuildState {
  readonly id: string;
  readonly name: string;
  readonly state: BuildStateName;
  readonly history: readonly Step<BuildStateName>[];
  readonly message: string | null;
  readonly pod: PodState | null;
  readonly containers: readonly ContainerState[];
  /** The newest `kubeEventsKept` ones, oldest first. */
  readonly kubeEvents: readonly (KubeEventSeen & { readonly seq: number; readonly at: number })[];
}
export interface State {
  readonly run: {
    readonly version: string | null;
    readonly server: string | null;
    readonly startedAt: number | null;
    readonly ended: { readonly outcome: string; readonly message: string | null; readonly at: number } | null;
  };
  /** By id, in the order in which they came. */
  readonly builds: Readonly<Record<string, BuildState>>;
  readonly watches: Readonly<Record<string, { readonly state: string; readonly staleSince: string | null }>>;
  /** The container instances that a debugger can attach to now. */
  readonly debugging: readonly DebugTarget[];
  readonly forwards: readonly PortForwarded[];
}

export const kubeEventsKept = 100;

export const emptyState: State = {
  run: { version: null, server: null, startedAt: null, ended: null },
  builds: {},
  watches: {},
  debugging: [],
  forwards: [],
};

/** The state after `event`. Events of builds that are not known (their plan was dropped from the log) are skipped. */
export function reduce(state: State, event: PodwrightEvent): State {
  switch (event.type) {
    case 'run.started':
      return {
        ...state,
        run: { version: event.version, server: event.server, startedAt: event.at, ended: null },
      };
    case 'run.ended':
      return {
        ...state,
        run: { ...state.run, ended: { outcome: event.outcome, message: event.message, at: event.at } },
      };
    case 'build.forgotten': {
      const { [event.build]: _, ...builds } = state.builds;
      return { ...state, builds };
    }
    case 'watch.changed': {
      const watch = { state: event.state, staleSince: event.staleSince };
      return { ...state, watches: { ...state.watches, [event.resource]: watch } };
    }
    case 'debug.started':
      return { ...state, debugging: [...state.debugging, event.target] };
    case 'debug.terminated':
      return { ...state, debugging: state.debugging.filter((target) => !isSameInstance(target, event.target)) };
    case 'debug.forwarded':
      return { ...state, forwards: withForward(state.forwards, event) };
    case 'debug.refused':
      return state;
    case 'build.planned': {
      const { [event.build]: known, ...others } = state.builds;
      if (known === undefined) return withBuild(state, planned(event));
      // The next build of the id.
      return known.state === 'removed' ? withBuild({ ...state, builds: others }, planned(event)) : state;
    }
    case 'build.changed':
    case 'pod.changed':
    case 'container.requested':
    case 'container.changed':
    case 'kube.event': {
      const build = state.builds[event.build];
      return build === undefined ? state : withBuild(state, reduceBuild(build, event));
    }
  }
}

export function isSameInstance(a: DebugTarget, b: DebugTarget): boolean {
  return (
    a.podUid === b.podUid &&
    a.container === b.container &&
    a.containerID === b.containerID &&
    a.restartCount === b.restartCount
  );
}

function withBuild(state: State, build: BuildState): State {
  return { ...state, builds: { ...state.builds, [build.id]: build } };
}

function planned(event: Extract<PodwrightEvent, { type: 'build.planned' }>): BuildState {
  const { at, seq } = event;
  return {
    id: event.build,
    name: event.name,
    state: 'setup',
    history: [{ state: 'setup', at, seq }],
    message: null,
    pod: null,
    containers: event.containers.map((container) => ({
      name: container.name,
      image: container.image,
      role: container.role,
      requestedAt: null,
      state: 'pending',
      history: [{ state: 'pending', at, seq }],
      outcome: null,
      provenance: null,
      evidence: null,
    })),
    kubeEvents: [],
  };
}

type BuildEvent = Extract<
  PodwrightEvent,
  { type: 'build.changed' | 'pod.changed' | 'container.requested' | 'container.changed' | 'kube.event' }
>;

function reduceBuild(build: BuildState, event: BuildEvent): BuildState {
  switch (event.type) {
    case 'build.changed': {
      const history = stepped(build.history, event.to, event);
      return { ...build, state: event.to, history, message: event.message ?? build.message };
    }
    case 'pod.changed':
      return { ...build, pod: reducePod(build.pod, event) };
    case 'container.requested':
      return withContainer(build, event.container, (container) => ({ ...container, requestedAt: event.at }));
    case 'container.changed':
      return withContainer(build, event.container, (container) => reduceContainer(container, event));
    case 'kube.event':
      return { ...build, kubeEvents: [...build.kubeEvents.slice(1 - kubeEventsKept), event] };
  }
}

function withContainer(
  build: BuildState,
  name: string,
  change: (container: ContainerState) => ContainerState,
): BuildState {
  const containers = build.containers.map((container) => (container.name === name ? change(container) : container));
  return { ...build, containers };
}

function reducePod(pod: PodState | null, event: PodChanged & { readonly seq: number; readonly at: number }): PodState {
  const before = pod?.ref.uid === event.pod.uid ? pod : null;
  return {
    ref: event.pod,
    state: event.to,
    history: stepped(before?.history ?? [], event.to, event),
    node: event.node ?? before?.node ?? null,
    cause: event.cause ?? before?.cause ?? null,
    message: event.message ?? before?.message ?? null,
  };
}

function reduceContainer(
  container: ContainerState,
  event: ContainerChanged & { readonly seq: number; readonly at: number },
): ContainerState {
  return {
    ...container,
    image: event.image,
    state: event.to,
    history: stepped(container.history, event.to, event),
    outcome: event.outcome,
    provenance: event.provenance,
    evidence: event.evidence,
  };
}

function stepped<S extends string>(
  history: readonly Step<S>[],
  state: S,
  { at, seq }: { readonly at: number; readonly seq: number },
): readonly Step<S>[] {
  return history.at(-1)?.state === state ? history : [...history, { state, at, seq }];
}

function withForward(forwards: readonly PortForwarded[], event: PortForwarded): readonly PortForwarded[] {
  const others = forwards.filter((one) => one.localPort !== event.localPort || one.podUid !== event.podUid);
  return event.open ? [...others, event] : others;
}
