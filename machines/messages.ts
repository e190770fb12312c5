/**
 * What the machines are told, and the only things they are told: plain frozen data, JSON-able, no API object.
 *
 * Each message says what one observation proved, in the words of the machine that gets it; `at` is the runtime's clock
 * in milliseconds. Time itself is a message too (`time.passed`), so that a machine is a pure function of its mailbox.
 */
import type { Cause, Phase, Provenance, PullFailureClass } from './outcome.ts';

/** How long a sign of trouble may last before it is a verdict. Milliseconds, from the first sign. */
export interface GracePolicy {
  /** A pull failure of a permanent class; it is also final at its second failed attempt. */
  readonly permanentMs: number;
  /** A pull failure that trying again can heal. */
  readonly transientMs: number;
  /** Where the status proves a failure, how long its cause may come late on the watch of the Events. */
  readonly causeMs: number;
  /** `CreateContainerConfigError`: a missing Secret or ConfigMap may still appear. */
  readonly configErrorMs: number;
  /** `CreateContainerError` and its kin: runtimes heal from "name is reserved" in two to three minutes. */
  readonly createErrorMs: number;
  /** How long a node may be silent before its containers are lost. */
  readonly nodeSilentMs: number;
}

export const defaultGrace: GracePolicy = {
  permanentMs: 15_000,
  transientMs: 120_000,
  causeMs: 3_000,
  configErrorMs: 15_000,
  createErrorMs: 240_000,
  nodeSilentMs: 300_000,
};

/** Where a message comes from: the provenance of a verdict without its time. */
export type Source = Omit<Provenance, 'decidedAt'>;

interface Observed {
  readonly at: number;
  readonly source: Source;
}

/** The step was asked to run: its image was patched in, or the pod was created with it. */
export interface ContainerRequested {
  readonly type: 'container.requested';
  readonly at: number;
  readonly image: string;
}
/** The kubelet began to pull. A hint for people; no verdict rests on it. */
export interface ImagePulling extends Observed {
  readonly type: 'image.pulling';
}
/** The image is on the node: progress, so what failed before is forgotten. */
export interface ImagePulled extends Observed {
  readonly type: 'image.pulled';
}
/** One more sign that the image could not be pulled. */
export interface ImagePullFailed extends Observed {
  readonly type: 'image.pullFailed';
  readonly class: PullFailureClass;
  readonly permanent: boolean;
  readonly message: string | null;
  /** Failed attempts of this container's image so far. */
  readonly attempts: number;
  /** Of them, those since the trouble is of a permanent class; 0 for a transient one. */
  readonly permanentAttempts: number;
}
/** Something else than the pull keeps the step from starting, and the kubelet will try again. */
export interface StartBlocked extends Observed {
  readonly type: 'start.blocked';
  readonly cause: 'configError' | 'startError' | 'initFailed';
  /** Which grace it gets. */
  readonly grace: keyof GracePolicy;
  /** The kubelet's own reason, for example CreateContainerConfigError. */
  readonly reason: string;
  readonly message: string | null;
}
/** The init container that could not be started has been: what it held up waits for it again, for however long. */
export interface InitRecovered extends Observed {
  readonly type: 'init.recovered';
}
/**
 * The placeholder was stopped for the step and the kubelet will start nothing in its place: a failure, whose cause a
 * Kubernetes Event may still tell.
 */
export interface SwitchFailed extends Observed {
  readonly type: 'switch.failed';
}
/** The step's own container runs. */
export interface ContainerRunning extends Observed {
  readonly type: 'container.running';
  readonly startedAt: string | null;
}
/** The container has ended, or can never run. */
export interface ContainerTerminated extends Observed {
  readonly type: 'container.terminated';
  readonly exitCode: number | null;
  readonly cause: Cause;
  readonly message: string | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}
/** The node controller says that the kubelet has not answered for a while; containers may go on unseen. */
export interface NodeSilent extends Observed {
  readonly type: 'node.silent';
  /** On the runtime's clock: when the grace of the pod's deletion is over, so that silence means loss; null without one. */
  readonly lostAt: number | null;
}
export interface NodeAnswered extends Observed {
  readonly type: 'node.answered';
}
/** The caller gave up, or one of the caller's time limits ran out. */
export interface Cancel {
  readonly type: 'cancel';
  readonly at: number;
  readonly reason: 'caller' | 'timeout';
  readonly phase: Phase | null;
}
/** The clock has reached `at`. */
export interface TimePassed {
  readonly type: 'time.passed';
  readonly at: number;
}

export type ContainerMessage =
  | ContainerRequested
  | ImagePulling
  | ImagePulled
  | ImagePullFailed
  | StartBlocked
  | InitRecovered
  | SwitchFailed
  | ContainerRunning
  | ContainerTerminated
  | NodeSilent
  | NodeAnswered
  | Cancel
  | TimePassed;

/** Why a pod ended, or is ending, as a whole. */
export type PodCause = Exclude<
  Cause,
  'completed' | 'error' | 'oomKilled' | 'startError' | 'configError' | 'placeholderLost'
>;

/** What one look at the pod's object tells of the pod itself. */
export interface PodReading {
  readonly phase: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly node: string | null;
  /** Being deleted, evicted, preempted or taken off its node; or already at its end. */
  readonly ending: boolean;
  readonly cause: PodCause | null;
  readonly message: string | null;
}

/** A message for one container of the pod. */
export interface Addressed {
  readonly container: string;
  readonly message: ContainerMessage;
}

export interface PodCreated {
  readonly type: 'pod.created';
  readonly at: number;
  readonly uid: string;
}
export interface PodObserved extends Observed {
  readonly type: 'pod.observed';
  readonly reading: PodReading;
  readonly containers: readonly Addressed[];
}
/** A Kubernetes Event, or anything else that is about containers and not about the pod. */
export interface PodTold {
  readonly type: 'pod.told';
  readonly at: number;
  readonly containers: readonly Addressed[];
}
/** The pod's object is gone. */
export interface PodGone extends Observed {
  readonly type: 'pod.gone';
  readonly cause: PodCause | null;
  readonly containers: readonly Addressed[];
}
/** Cancels all containers, or one. */
export interface CancelContainers {
  readonly type: 'containers.cancel';
  readonly at: number;
  readonly reason: 'caller' | 'timeout';
  readonly phase: Phase | null;
  readonly container: string | null;
}
export type PodMessage = PodCreated | PodObserved | PodTold | PodGone | CancelContainers | TimePassed;

export interface BuildAssembling {
  readonly type: 'build.assembling';
  readonly at: number;
}
/** The build could not be assembled, or the runtime lost it: an error of the runtime, not of a step. */
export interface BuildErrored {
  readonly type: 'build.errored';
  readonly at: number;
  readonly message: string;
}
export interface BuildCancel {
  readonly type: 'build.cancel';
  readonly at: number;
  readonly reason: 'caller' | 'timeout';
  readonly phase: Phase | null;
}
/** The executor's own judgement of the whole. */
export interface BuildConcluded {
  readonly type: 'build.concluded';
  readonly at: number;
  readonly result: 'succeeded' | 'failed' | 'canceled' | 'errored';
}
export interface BuildRemoved {
  readonly type: 'build.removed';
  readonly at: number;
}
export type BuildMessage = BuildAssembling | BuildErrored | BuildCancel | BuildConcluded | BuildRemoved | PodMessage;
