/**
 * What became of a container: the closed union that the whole product hands out.
 *
 * Success is `terminated` with exit code 0 and cause `completed`, and nothing else. An exit code of `null` means that
 * none is known, or that the one the cluster shows was invented; it is never 0.
 */

/** Why a container's run ended. Only `completed` is success. */
export const causes = [
  'completed',
  'error',
  'oomKilled',
  'startError',
  'configError',
  'initFailed',
  'placeholderLost',
  'evicted',
  'preempted',
  'deadlineExceeded',
  'nodeLost',
  'nodeShutdown',
  'podDeleted',
  'rejected',
  'unknown',
] as const;
export type Cause = (typeof causes)[number];

/** What kind of trouble kept an image from being pulled. */
export const pullFailureClasses = [
  'notFound',
  'unauthorized',
  'denied',
  'rateLimited',
  'registryError',
  'registryUnavailable',
  'hostUnknown',
  'timeout',
  'neverPolicy',
  'invalidName',
  'signature',
  'platformMismatch',
  'diskFull',
  'unknown',
] as const;
export type PullFailureClass = (typeof pullFailureClasses)[number];

/** The part of a build's life in which a time limit ran out or the caller gave up. */
export const phases = ['schedule', 'start', 'pull', 'run', 'remove'] as const;
export type Phase = (typeof phases)[number];

/** Which observation decided a verdict, and when. */
export interface Provenance {
  /** Milliseconds of the runtime's clock at which the deciding message arrived. */
  readonly decidedAt: number;
  readonly source: 'podStatus' | 'kubeEvent' | 'time' | 'caller';
  /** Of the pod, when its status decided. */
  readonly resourceVersion?: string;
  /** Of the container instance that the verdict is about. */
  readonly containerID?: string;
  /** Of the Kubernetes Event that decided or named the cause. */
  readonly eventUid?: string;
}

export interface RunningOutcome {
  readonly outcome: 'running';
  readonly startedAt: string | null;
  readonly provenance: Provenance;
}
export interface TerminatedOutcome {
  readonly outcome: 'terminated';
  readonly exitCode: number | null;
  readonly cause: Cause;
  /** The cluster's words, when it gave any. */
  readonly message: string | null;
  /** RFC 3339, the node's clock. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly provenance: Provenance;
}
export interface PullFailedOutcome {
  readonly outcome: 'pullFailed';
  readonly class: PullFailureClass;
  /** A property of the class: whether trying again could help without a change of image or rights. */
  readonly permanent: boolean;
  /** Whether the kubelet would have tried again. */
  readonly retried: boolean;
  /** The registry's or kubelet's words; null when no Event or status told any. */
  readonly message: string | null;
  /** Failed attempts seen; at least 1. */
  readonly attempts: number;
  readonly provenance: Provenance;
}
export interface CanceledOutcome {
  readonly outcome: 'canceled';
  readonly reason: 'caller' | 'timeout';
  readonly phase: Phase;
  readonly provenance: Provenance;
}

/** What `waitContainer` gives. */
export type SettledOutcome = TerminatedOutcome | PullFailedOutcome | CanceledOutcome;
/** What `runContainer` gives. */
export type Outcome = RunningOutcome | SettledOutcome;

/** The one definition of success. */
export function isSuccess(outcome: Outcome): boolean {
  return outcome.outcome === 'terminated' && outcome.cause === 'completed' && outcome.exitCode === 0;
}
