/**
 * Why a pod ends as a whole, and since when: deletion, disruption, rejection, deadline, a failed init container.
 *
 * An end of a container that came after the pod began to end is not its own, whatever its exit code. It counts as
 * before only where both times are known and apart by more than their clocks may differ.
 */
import type { PodCause } from '../../machines/messages.ts';
import { timeOf } from './facts.ts';
import { type Disruption, disruptions, givenUpReason, isRejection, podReasons, unknownDisruption } from './reasons.ts';
import type { ContainerStatus, Pod, PodCondition } from './types.ts';

export interface Ending {
  readonly cause: PodCause;
  readonly message: string | null;
  /** The node cannot be asked any more: a container that still shows running is lost. */
  readonly isNodeGone: boolean;
  /** Milliseconds of the server's clock; null when no object tells it for sure. */
  readonly beganAt: number | null;
  /** A reason that says nothing of containers which had ended by themselves. */
  readonly isOnlyForUnended: boolean;
}

export function endingOf(pod: Pod, deletionBeganAt: number | null): Ending | null {
  const disrupted = conditionOf(pod, 'DisruptionTarget', 'True');
  const disruption = disrupted === undefined ? null : (disruptions[disrupted.reason ?? ''] ?? unknownDisruption);
  const isDeleted = pod.metadata.deletionTimestamp !== undefined;
  const told = reasonCause(pod);
  const other = disruption?.cause ?? (isDeleted ? 'podDeleted' : null);
  // What has run was not kept from running.
  const reason = told === 'rejected' && other !== null && hasContainers(pod) ? null : told;
  const cause = reason ?? other;
  if (cause === null) return null;
  return {
    cause,
    message: pod.status?.message ?? disrupted?.message ?? null,
    isNodeGone: disruption?.isNodeGone === true || reason === 'nodeLost',
    beganAt: reason === null ? beganAt(isDeleted, deletionBeganAt, disrupted, disruption) : deadlineOf(pod, reason),
    isOnlyForUnended: reason === 'rejected' && other === null,
  };
}

/** Succeeded or Failed: nothing starts any more, and what still shows running is a picture of the past. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** Whether an end at `finishedAt` (node's clock, `behindMs` behind the server's or more) is the pod's doing. */
export function isByEnding(ending: Ending | null, finishedAt: number | null, behindMs = 0): boolean {
  if (ending === null || ending.isOnlyForUnended) return false;
  const marginMs = clockDifferenceMs + behindMs;
  const isBefore = ending.beganAt !== null && finishedAt !== null && finishedAt + marginMs <= ending.beganAt;
  return !isBefore;
}

/** Times in a status have whole seconds and are the node's; a node's clock may differ from the server's by a little. */
const clockDifferenceMs = 2_000;

/**
 * When the deletion that this object shows began; null when it does not tell: a second delete and the kubelet's last
 * one move the time and shorten the grace (kubernetes.md §0.1).
 */
export function deletionBegin(pod: Pod): number | null {
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata;
  const end = timeOf(deletionTimestamp);
  const ownGrace = pod.spec?.terminationGracePeriodSeconds ?? 30;
  if (end === null || deletionGracePeriodSeconds === undefined || deletionGracePeriodSeconds < Math.max(1, ownGrace)) {
    return null;
  }
  return end - deletionGracePeriodSeconds * 1000;
}

/**
 * Whether the kubelet knew of the deletion when it wrote this status: a deletion raises the generation, and the kubelet
 * tells which one it has seen (since 1.34). It shows as running then what it still has to stop: seen in recordings.
 */
export function isDeletionObserved({ metadata, status }: Pod): boolean {
  const { deletionTimestamp, generation } = metadata;
  const observed = status?.observedGeneration;
  if (deletionTimestamp === undefined || generation === undefined || observed === undefined) return false;
  return observed >= generation;
}

/** An init container that failed for good, so that no other container will ever run. */
export function failedInit(pod: Pod): ContainerStatus | null {
  if (pod.spec?.restartPolicy !== 'Never' && pod.status?.phase !== 'Failed') return null;
  const statuses = pod.status?.initContainerStatuses ?? [];
  return (
    statuses.find((status) => !isSidecar(pod, status.name) && (status.state?.terminated?.exitCode ?? 0) !== 0) ?? null
  );
}

/** The node controller, not the kubelet, wrote Ready=False: without a reason, and ContainersReady stayed True. */
export function isNodeSilent(pod: Pod): boolean {
  const ready = conditionOf(pod, 'Ready', 'False');
  return ready !== undefined && !ready.reason && conditionOf(pod, 'ContainersReady', 'True') !== undefined;
}

/**
 * The kubelet has decided that the pod failed, and still has to stop what runs in it. Phase and reason come only once
 * nothing runs any more (kubelet: status_manager.go, mergePodStatus), the conditions at once: seen in recordings of a
 * deadline. A stop that fails is tried again, and shows meanwhile the ends of those that were stopped.
 */
export function isGivenUp(pod: Pod): boolean {
  const isRunning = pod.status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true;
  return isRunning && !isTerminal(pod) && conditionOf(pod, 'Ready', 'False')?.reason === givenUpReason;
}

/**
 * When the pod's sandbox was found dead, on the node's clock; null while it lives or where the condition is not told
 * (before Kubernetes 1.29). Its containers are stopped then, without any other sign in the status: seen in recordings.
 */
export function sandboxLostAt(pod: Pod): number | null {
  return timeOf(conditionOf(pod, 'PodReadyToStartContainers', 'False')?.lastTransitionTime);
}

export function isSidecar(pod: Pod, name: string): boolean {
  return pod.spec?.initContainers?.find((container) => container.name === name)?.restartPolicy === 'Always';
}

function conditionOf(pod: Pod, type: string, status: string): PodCondition | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type && condition.status === status);
}

/**
 * A pod that failed with a reason and without any container was never let onto its node (kubernetes.md §3.3). With
 * containers, it is a rejection by a kubelet that was restarted; or a reason of a later Kubernetes, which may have
 * stopped them.
 */
function reasonCause(pod: Pod): PodCause | null {
  const { reason, message, phase } = pod.status ?? {};
  if (!reason) return null;
  const cause = podReasons[reason] ?? null;
  const mayBeRejection = cause === null || cause === 'evicted' || cause === 'nodeShutdown';
  if (phase === 'Failed' && !hasContainers(pod) && mayBeRejection) return 'rejected';
  if (cause !== null || phase !== 'Failed') return cause;
  return isRejection(reason, message) ? 'rejected' : 'unknown';
}

function hasContainers({ status }: Pod): boolean {
  return (status?.containerStatuses ?? []).length > 0;
}

/** The kubelet's own endings carry no time, but a deadline is known beforehand. */
function deadlineOf({ spec, status }: Pod, reason: PodCause): number | null {
  const startedAt = timeOf(status?.startTime);
  const seconds = spec?.activeDeadlineSeconds;
  const isDeadline = reason === 'deadlineExceeded' && startedAt !== null && seconds !== undefined;
  return isDeadline ? startedAt + seconds * 1000 : null;
}

function beganAt(
  isDeleted: boolean,
  deletionBeganAt: number | null,
  disrupted: PodCondition | undefined,
  disruption: Disruption | null,
): number | null {
  const begins: (number | null)[] = [];
  if (isDeleted) begins.push(deletionBeganAt);
  if (disruption !== null) begins.push(disruption.tellsBegin ? timeOf(disrupted?.lastTransitionTime) : null);
  const known = begins.filter((begin) => begin !== null);
  return known.length === begins.length && known.length > 0 ? Math.min(...known) : null;
}
