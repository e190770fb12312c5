/**
 * What the kubelet's and the controllers' reasons mean for a build: the one place with these words.
 *
 * Sources: kubernetes.md §3 (states, reasons, exit codes) and §5 (deletion, eviction, loss). A reason that is not here
 * is kept as data; it decides something only by the shape of its name (`blockOf`).
 */
import type { GracePolicy, PodCause, StartBlocked } from '../../machines/messages.ts';

/** `state.waiting.reason` of a failed pull. Each entry into one of these is one failed attempt. */
export const failedPullReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'RegistryUnavailable',
  'SignatureValidationFailed',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
]);

/** The kubelet waits before it pulls again: there was a failed attempt, this is none. */
export const pullBackOffReason = 'ImagePullBackOff';

/** Said of a container of which nothing is known yet; also shown when the kubelet forgot a better reason. */
const neutralReasons: ReadonlySet<string> = new Set([
  '',
  'ContainerCreating',
  'PodInitializing',
  'CrashLoopBackOff',
  'RestartingAllContainers',
]);

type Block = Pick<StartBlocked, 'cause' | 'grace'>;

/** `state.waiting.reason` of a container that could not be created or started although its image is there. */
const blockingReasons: Readonly<Record<string, Block>> = {
  CreateContainerConfigError: { cause: 'configError', grace: 'configErrorMs' },
  CreateContainerError: { cause: 'startError', grace: 'createErrorMs' },
  RunContainerError: { cause: 'startError', grace: 'createErrorMs' },
  PreCreateHookError: { cause: 'startError', grace: 'createErrorMs' },
  PreStartHookError: { cause: 'startError', grace: 'createErrorMs' },
  PostStartHookError: { cause: 'startError', grace: 'createErrorMs' },
};

/** A reason of a later Kubernetes: one that names an error gets the longest grace, any other only waits. */
export function blockOf(waitingReason: string): Block | null {
  const known = blockingReasons[waitingReason];
  if (known !== undefined) return known;
  if (neutralReasons.has(waitingReason)) return null;
  return namesAnError.test(waitingReason) ? { cause: 'startError', grace: 'createErrorMs' } : null;
}

const namesAnError = /^Err[A-Z]|^Invalid|Error\b|Failed\b|Unavailable$/i;

/** `state.terminated.reason` where the kubelet or the runtime had to invent the exit code. */
export const inventedEnds: ReadonlySet<string> = new Set([
  'ContainerStatusUnknown',
  'Unknown',
  'RestartingAllContainers',
]);

/** `state.terminated.reason` of a container whose process never came to run. */
export const startErrorReasons: ReadonlySet<string> = new Set(['StartError', 'ContainerCannotRun']);

export const oomReason = 'OOMKilled';

/** 128 + SIGTERM: ended by a polite stop, whatever ran out of memory in it before (kubernetes#140718). */
export const sigtermExitCode = 143;

/** `status.reason` of a pod that the node ended as a whole. */
export const podReasons: Readonly<Record<string, PodCause>> = {
  Evicted: 'evicted',
  Preempting: 'preempted',
  DeadlineExceeded: 'deadlineExceeded',
  Terminated: 'nodeShutdown',
  NodeShutdown: 'nodeShutdown',
  NodeLost: 'nodeLost',
};

/** Of the condition Ready, for a pod whose phase the kubelet holds for Failed. */
export const givenUpReason = 'PodFailed';

/** `status.reason` of a pod that its node did not admit; the texts are those since 1.26. */
export function isRejection(reason: string, message: string | undefined): boolean {
  const isKnown = reason.startsWith('OutOf') || rejectionReasons.has(reason);
  return isKnown || message?.startsWith('Pod was rejected: ') === true;
}

/** kubelet: pkg/kubelet/lifecycle/predicate.go and the admit handlers beside it. */
const rejectionReasons: ReadonlySet<string> = new Set([
  'UnexpectedAdmissionError',
  'NodeAffinity',
  'NodeName',
  'NodePorts',
  "node(s) had taints that the pod didn't tolerate",
  'TopologyAffinityError',
  'PodOSNotSupported',
  'PodOSSelectorNodeLabelDoesNotMatch',
  'InvalidNodeInfo',
  'AppArmor',
  'SysctlForbidden',
  'PodLevelResourcesNotSupported',
  'SupplementalGroupsPolicyNotSupported',
  'InitContainerRestartPolicyForbidden',
  'VolumeAttachmentLimitExceeded',
  'PodFeatureUnsupported',
  'UnknownReason',
  'UnexpectedPredicateFailureType',
]);

export interface Disruption {
  readonly cause: PodCause;
  /** The node cannot be asked any more: its containers' own ends are not waited for. */
  readonly isNodeGone: boolean;
  /** Written before anything is stopped, so that `lastTransitionTime` tells when it began. */
  readonly tellsBegin: boolean;
}

/** Reasons of the condition DisruptionTarget. */
export const disruptions: Readonly<Record<string, Disruption>> = {
  EvictionByEvictionAPI: { cause: 'evicted', isNodeGone: false, tellsBegin: true },
  PreemptionByScheduler: { cause: 'preempted', isNodeGone: false, tellsBegin: true },
  DeletionByTaintManager: { cause: 'nodeLost', isNodeGone: true, tellsBegin: true },
  DeletionByPodGC: { cause: 'nodeLost', isNodeGone: true, tellsBegin: false },
  TerminationByKubelet: { cause: 'evicted', isNodeGone: false, tellsBegin: false },
  DeletionByDeviceTaintManager: { cause: 'evicted', isNodeGone: false, tellsBegin: false },
};

/** A disruption of a later Kubernetes, or of a cloud's own controller. */
export const unknownDisruption: Disruption = { cause: 'evicted', isNodeGone: false, tellsBegin: false };

/** Reasons of the Events that are read. */
export const eventReasons = {
  pulling: 'Pulling',
  pulled: 'Pulled',
  failed: 'Failed',
  backOff: 'BackOff',
  inspectFailed: 'InspectFailed',
  neverPull: 'ErrImageNeverPull',
  killing: 'Killing',
} as const;

/** How the kubelet begins what it says in an Event: `Failed` alone means two things, and so does `Killing`. */
export const eventTexts = {
  combined: '(combined from similar events): ',
  failedPull: 'Failed to pull image ',
  invalidName: 'Failed to apply default image tag ',
  backOffPull: 'Back-off pulling image ',
  error: 'Error: ',
  stopping: 'Stopping container',
  internalHook: /^Internal Pre(Create|Start)Container hook failed: /,
} as const;

/** What `Error: …` says of a missing or wrong object, as against a runtime's error (kubelet: kuberuntime_container.go). */
export const configErrorText =
  /^(secret|configmap|ConfigMap|Secret) "[^"]*" not found|couldn't find key|references non-existent (secret|config) key|runAsNonRoot|non-root|subPath|invalid (variable|environment)/i;

/** The unit of a block that an Event tells of. */
export const eventBlocks = {
  config: { cause: 'configError', grace: 'configErrorMs', reason: 'CreateContainerConfigError' },
  create: { cause: 'startError', grace: 'createErrorMs', reason: 'CreateContainerError' },
} as const satisfies Record<string, Block & { reason: string }>;

/** How long a failing init container is given: as the failure of a container that needs it. */
export function initGrace(isPermanent: boolean): keyof GracePolicy {
  return isPermanent ? 'permanentMs' : 'transientMs';
}
