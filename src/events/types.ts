/**
 * The events of podwright: what the log keeps, what `/v3/events` sends, and what the state is folded from.
 *
 * Types only, plain JSON, nothing of Node: the inspector page uses the same file. Within one epoch a sequence number
 * names one event for ever; fields may be added to an event, none changes its meaning.
 */
import type { Outcome, Provenance } from '../../machines/outcome.ts';
import type {
  BuildState as BuildStateName,
  ContainerState as ContainerStateName,
  PodState as PodStateName,
} from '../../machines/states.ts';
import type { DebugEnd, DebugTarget } from '../debug/types.ts';

export type {
  BuildState as BuildStateName,
  ContainerState as ContainerStateName,
  PodState as PodStateName,
} from '../../machines/states.ts';

export interface PodRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A container as the build was planned. */
export interface PlannedContainer {
  readonly name: string;
  readonly image: string;
  readonly role: 'step' | 'service';
}

/** The observation behind a change, as the cluster sent it, cut down to the container or pod that it is about. */
export interface Evidence {
  readonly kind: 'podStatus' | 'kubeEvent';
  /** Plain JSON of the container status, the pod's status or the Kubernetes Event. */
  readonly object: unknown;
}

/** First event of every epoch. */
export interface RunStarted {
  readonly type: 'run.started';
  readonly version: string;
  /** Which API server, for people; null when events come from a recording. */
  readonly server: string | null;
}
/** Last event of an epoch that ended in order. */
export interface RunEnded {
  readonly type: 'run.ended';
  readonly outcome: 'succeeded' | 'failed' | 'canceled' | 'errored';
  readonly message: string | null;
}
/** A build is known. Its containers are all there will be, in the order of the pod. */
export interface BuildPlanned {
  readonly type: 'build.planned';
  readonly build: string;
  readonly name: string;
  readonly containers: readonly PlannedContainer[];
}
export interface BuildChanged {
  readonly type: 'build.changed';
  readonly build: string;
  readonly from: BuildStateName | null;
  readonly to: BuildStateName;
  readonly message: string | null;
}
/** The log's owner keeps only so many builds: this one left the state. Its earlier events may still be in the log. */
export interface BuildForgotten {
  readonly type: 'build.forgotten';
  readonly build: string;
}
export interface PodChanged {
  readonly type: 'pod.changed';
  readonly build: string;
  readonly pod: PodRef;
  readonly from: PodStateName | null;
  readonly to: PodStateName;
  readonly node: string | null;
  /** Why, when the pod failed as a whole. */
  readonly cause: string | null;
  readonly message: string | null;
}
/** The step is asked to run. */
export interface ContainerRequested {
  readonly type: 'container.requested';
  readonly build: string;
  readonly container: string;
}
export interface ContainerChanged {
  readonly type: 'container.changed';
  readonly build: string;
  readonly container: string;
  readonly pod: PodRef | null;
  readonly from: ContainerStateName | null;
  readonly to: ContainerStateName;
  readonly image: string;
  /** The verdict, once there is one; for `running` that it runs. */
  readonly outcome: Outcome | null;
  /** Which observation made the change; null only for the first state. */
  readonly provenance: Provenance | null;
  readonly evidence: Evidence | null;
}
/** A Kubernetes Event of a build's pod. */
export interface KubeEventSeen {
  readonly type: 'kube.event';
  readonly build: string;
  readonly pod: PodRef;
  readonly container: string | null;
  readonly level: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly component: string;
  readonly uid: string;
}
/** How well a watch keeps up. */
export interface WatchChanged {
  readonly type: 'watch.changed';
  readonly resource: 'pods' | 'events';
  readonly state: string;
  /** RFC 3339; since when what the watch tells is old, null while it is live. */
  readonly staleSince: string | null;
}

export interface DebugStarted {
  readonly type: 'debug.started';
  readonly build: string | null;
  readonly target: DebugTarget;
}
export interface DebugTerminated {
  readonly type: 'debug.terminated';
  readonly build: string | null;
  readonly target: DebugTarget;
  readonly cause: DebugEnd;
  /** null: not known, which is not 0. */
  readonly exitCode: number | null;
  readonly reason: string | null;
  readonly finishedAt: string | null;
}
/** An annotation asks for debugging, and it cannot be had: a JSON error, a container that is not there. */
export interface DebugRefused {
  readonly type: 'debug.refused';
  readonly build: string | null;
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string | null;
  readonly message: string;
}
export interface PortForwarded {
  readonly type: 'debug.forwarded';
  readonly build: string | null;
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  readonly portName: string;
  readonly remotePort: number;
  readonly address: string;
  readonly localPort: number;
  /** `false`: the forward has ended. */
  readonly open: boolean;
}

export type EventBody =
  | RunStarted
  | RunEnded
  | BuildPlanned
  | BuildChanged
  | BuildForgotten
  | PodChanged
  | ContainerRequested
  | ContainerChanged
  | KubeEventSeen
  | WatchChanged
  | DebugStarted
  | DebugTerminated
  | DebugRefused
  | PortForwarded;
export type EventType = EventBody['type'];

/** An event with its place in the log. */
export type PodwrightEvent = EventBody & {
  /** 1, 2, 3, … within the epoch. */
  readonly seq: number;
  /** Milliseconds of the runtime's clock since 1970. */
  readonly at: number;
};

/** One line of a container's log. Lines are kept apart from events, one bounded log for each container. */
export interface LogLineRecord {
  readonly seq: number;
  /** RFC 3339 with nanoseconds, the node's clock. */
  readonly time: string;
  readonly text: string;
  /** Set where lines are missing before this one: why. */
  readonly gap: string | null;
}
