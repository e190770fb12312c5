/** What one version of a pod's object means for one container of the build. Part of `observe-pod.ts`. */

import type { ContainerMessage, ContainerTerminated, Source } from '../../machines/messages.ts';
import type { Cause } from '../../machines/outcome.ts';
import { entryCodes, readEntryReport } from '../image/placeholder.ts';
import { type Ending, failedInit, isByEnding, isNodeSilent, isSidecar, isTerminal, sandboxLostAt } from './ending.ts';
import { type ContainerFacts, nodeBehindMs, type PodFacts, timeOf } from './facts.ts';
import { containerIDOf, type Identity, identify, isPlaceholderImage, isRetried, specOf } from './identity.ts';
import { classifyPullFailure, isPermanent } from './pull-failure.ts';
import { pullFailedMessage, withPullSign } from './pull-sign.ts';
import {
  blockOf,
  failedPullReasons,
  initGrace,
  inventedEnds,
  oomReason,
  pullBackOffReason,
  sigtermExitCode,
  startErrorReasons,
} from './reasons.ts';
import type { ContainerStateTerminated, ContainerStatus, Pod } from './types.ts';

export interface Look {
  readonly facts: PodFacts;
  readonly pod: Pod;
  readonly ending: Ending | null;
  readonly at: number;
  readonly source: Source;
}

export interface Judged {
  readonly container: ContainerFacts;
  readonly messages: readonly ContainerMessage[];
}

export function judgeContainer(look: Look, container: ContainerFacts): Judged {
  const status = look.pod.status?.containerStatuses?.find(({ name }) => name === container.name);
  const waitingReason = status?.state?.waiting?.reason ?? null;
  const known = waitingReason === container.waitingReason ? container : { ...container, waitingReason };
  if (container.requestedAt === null) return { container: known, messages: [] };
  if (status === undefined) return { container: known, messages: judgeWithoutEnd(look) };
  const identity = identify(look.facts, container, status, look.pod);
  const judged =
    identity === 'own'
      ? { container: known, messages: judgeOwn(look, container, status) }
      : judgeOther(look, known, status, identity, container.waitingReason);
  // The verdict last: after it a container is told nothing.
  return { ...judged, messages: [...judgeNode(look, container), ...judged.messages] };
}

/** The step's own container. */
function judgeOwn(look: Look, container: ContainerFacts, status: ContainerStatus): readonly ContainerMessage[] {
  const { state, lastState } = status;
  // A second start, which a step must not see: its first end is its end.
  const last = lastState?.terminated;
  if (last && isOwnEnd(look, container, status, last)) return [ended(look, container, status, last)];
  if (state?.terminated && isRepeated(state.terminated))
    return [neverEnded(look, 'unknown', state.terminated.message ?? null)];
  if (state?.terminated) return [ended(look, container, status, state.terminated)];
  if (state?.running) {
    const lost = judgeWithoutEnd(look);
    if (lost.length > 0) return lost;
    const source = { ...look.source, ...idOf(status) };
    return [{ type: 'container.running', at: look.at, source, startedAt: state.running.startedAt ?? null }];
  }
  return judgeWithoutEnd(look);
}

/** Whether an instance before the newest was the step's too. Of a placeholder nobody saw it is not known. */
function isOwnEnd(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  end: ContainerStateTerminated,
): boolean {
  const { containerID: id, exitCode } = end;
  if (!id || container.placeholderIDs.includes(id)) return false;
  if (container.isOwnFromStart || container.ownIDs.slice(0, -1).includes(id)) return true;
  if (status.state?.waiting && container.ownIDs.includes(id)) return true;
  const isRestarted = isRetried(look.facts, look.pod, container.name);
  if (isRestarted && exitCode === look.facts.start.sigtermCode) return false;
  const wasPlaceholderSeen = container.placeholderIDs.length > 0;
  return id !== containerIDOf(status) && (wasPlaceholderSeen || (!isRestarted && (status.restartCount ?? 0) > 1));
}

/** The entry program found that the step had run before, and ran nothing: this end is not the step's. */
function isRepeated(end: ContainerStateTerminated): boolean {
  return end.exitCode === entryCodes.alreadyRan && readEntryReport(end.message)?.kind === 'alreadyRan';
}

/** The placeholder, or nothing yet, or nobody knows what. */
function judgeOther(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  identity: Identity,
  previousReason: string | null,
): Judged {
  const nothing: Judged = { container, messages: [] };
  if (container.said.switch !== undefined) return nothing;
  if (look.ending?.isNodeGone) return { container, messages: judgeWithoutEnd(look) };
  const terminated = status.state?.terminated;
  if (terminated) return { container, messages: judgeReplacement(look, container, status, terminated, identity) };
  if (isTerminal(look.pod)) return { container, messages: judgeWithoutEnd(look) };
  const blockedByInit = judgeInit(look);
  if (blockedByInit.length > 0) return { container, messages: blockedByInit };
  const waiting = status.state?.waiting;
  if (!waiting?.reason) return nothing;
  return judgeWaiting(look, container, status, waiting.reason, waiting.message ?? null, previousReason);
}

/** The placeholder has ended and nothing of the step is there. */
function judgeReplacement(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  terminated: ContainerStateTerminated,
  identity: Identity,
): readonly ContainerMessage[] {
  const isOver = isTerminal(look.pod);
  if (look.ending !== null && !look.ending.isOnlyForUnended) return isOver ? judgeWithoutEnd(look) : [];
  const wasThere = identity === 'placeholder' || container.placeholderIDs.length > 0;
  if (container.ownIDs.length > 0 || !wasThere) return [neverEnded(look, 'unknown', terminated.message ?? null)];
  if (isPlaceholderLost(look, container, terminated)) {
    return [neverEnded(look, 'placeholderLost', `the placeholder ended with code ${terminated.exitCode}`)];
  }
  if (isRetried(look.facts, look.pod, container.name) && !isOver) return [];
  return [{ type: 'switch.failed', at: look.at, source: { ...look.source, ...idOf(status) } }];
}

/** It died before its step was asked for, or by something else than the switch. */
function isPlaceholderLost(look: Look, container: ContainerFacts, terminated: ContainerStateTerminated): boolean {
  if (container.isPlaceholderLost || inventedEnds.has(terminated.reason ?? '')) return true;
  if (terminated.exitCode !== look.facts.start.sigtermCode) return true;
  const finishedAt = timeOf(terminated.finishedAt);
  const { clockOffsetMs } = look.facts;
  if (finishedAt === null || clockOffsetMs === null || container.requestedAt === null) return false;
  const marginMs = requestMarginMs + nodeBehindMs(look.pod);
  return !container.wasAliveAtSwitch && finishedAt + marginMs <= container.requestedAt + clockOffsetMs;
}

/** Whole seconds in the status, and the request's latency. */
const requestMarginMs = 2_000;

function judgeWaiting(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  reason: string,
  words: string | null,
  previousReason: string | null,
): Judged {
  const { at } = look;
  const source = { ...look.source, ...idOf(status) };
  if (failedPullReasons.has(reason) || reason === pullBackOffReason) {
    if (!isOfTheStep(look, container, status, words)) return { container, messages: [] };
    const isAttempt = failedPullReasons.has(reason) && reason !== previousReason;
    const pull = withPullSign(container.pull, {
      teller: 'status',
      newAttempts: isAttempt || container.pull.attempts.status === 0 ? 1 : 0,
      class: classifyPullFailure(reason, words, container.images),
      words,
    });
    return { container: { ...container, pull }, messages: [pullFailedMessage(pull, at, source)] };
  }
  const block = blockOf(reason);
  return block === null
    ? { container, messages: [] }
    : { container, messages: [{ type: 'start.blocked', at, source, ...block, reason, message: words }] };
}

/** A placeholder that cannot be pulled is not the step's failure. */
function isOfTheStep(look: Look, container: ContainerFacts, status: ContainerStatus, words: string | null): boolean {
  if (container.isOwnFromStart) return true;
  const { facts, pod } = look;
  if (isPlaceholderImage(facts, specOf(pod, container.name)?.image)) return false;
  if (containerIDOf(status) === null && isPlaceholderImage(facts, status.image)) return false;
  return !facts.start.placeholderImages.some((image) => words?.includes(`"${image}"`));
}

/** Init containers run before all others: one that fails, or cannot start, is the failure of each of them. */
function judgeInit({ pod, at, source }: Look): readonly ContainerMessage[] {
  const failed = failedInit(pod);
  if (failed !== null) {
    const end = failed.state?.terminated;
    const message = `init container ${failed.name} ended with code ${end?.exitCode}${end?.message ? `: ${end.message}` : ''}`;
    return [{ ...neverEnded({ at, source }, 'initFailed', message) }];
  }
  for (const status of pod.status?.initContainerStatuses ?? []) {
    const waiting = status.state?.waiting;
    if (!waiting?.reason || isSidecar(pod, status.name)) continue;
    const { reason, message: words = null } = waiting;
    const isPull = failedPullReasons.has(reason) || reason === pullBackOffReason;
    const block = blockOf(reason);
    if (!isPull && block === null) continue;
    const image = pod.spec?.initContainers?.find(({ name }) => name === status.name)?.image ?? '';
    const grace = isPull
      ? initGrace(isPermanent(classifyPullFailure(reason, words, [image])))
      : (block?.grace ?? 'createErrorMs');
    const message = `init container ${status.name}: ${words ?? reason}`;
    return [{ type: 'start.blocked', at, source, cause: 'initFailed', grace, reason, message }];
  }
  return [];
}

/** The pod's end takes with it what has no end of its own. */
function judgeWithoutEnd(look: Look): readonly ContainerMessage[] {
  const { ending, pod } = look;
  if (ending?.isNodeGone) return [neverEnded(look, ending.cause, ending.message)];
  if (!isTerminal(pod)) return [];
  const init = failedInit(pod);
  if (ending === null && init !== null) return judgeInit(look);
  return [neverEnded(look, ending?.cause ?? 'unknown', ending?.message ?? pod.status?.message ?? null)];
}

function judgeNode({ facts, pod, at, source }: Look, container: ContainerFacts): readonly ContainerMessage[] {
  if (!isNodeSilent(pod)) return container.said.node === undefined ? [] : [{ type: 'node.answered', at, source }];
  const deletionEnd = timeOf(pod.metadata.deletionTimestamp);
  const lostAt = deletionEnd === null || facts.clockOffsetMs === null ? null : deletionEnd - facts.clockOffsetMs;
  return [{ type: 'node.silent', at, source, lostAt }];
}

function ended(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  end: ContainerStateTerminated,
): ContainerTerminated {
  const isInvented = inventedEnds.has(end.reason ?? '');
  const finishedAt = end.finishedAt ?? null;
  const byPod = isByEnding(look.ending, timeOf(finishedAt), nodeBehindMs(look.pod)) ? look.ending : null;
  const own = isInvented ? 'unknown' : ownCause(end);
  const isUnproven = own === 'completed' && isStoppedWithSandbox(look, container, end);
  return {
    type: 'container.terminated',
    at: look.at,
    source: { ...look.source, ...(end.containerID ? { containerID: end.containerID } : idOf(status)) },
    exitCode: isInvented ? null : end.exitCode,
    cause: byPod?.cause ?? (isUnproven ? 'unknown' : own),
    message: end.message ?? byPod?.message ?? (isUnproven ? 'the sandbox of the pod was dead before it ended' : null),
    startedAt: end.startedAt ?? null,
    finishedAt,
  };
}

/**
 * A kubelet that finds the sandbox dead stops what runs in it; whoever ends that with 0 looks like one that had ended.
 * Times have whole seconds, so that only a later second proves it.
 */
function isStoppedWithSandbox(look: Look, container: ContainerFacts, end: ContainerStateTerminated): boolean {
  if (container.isWithoutSandbox) return true;
  const lostAt = sandboxLostAt(look.pod);
  const startedAt = timeOf(end.startedAt);
  const finishedAt = timeOf(end.finishedAt);
  return lostAt !== null && startedAt !== null && finishedAt !== null && startedAt < lostAt && lostAt < finishedAt;
}

/** Out of memory is a failure even with exit code 0; with 143 it was a child's, and the step ended by a polite stop. */
function ownCause(end: ContainerStateTerminated): Cause {
  if (startErrorReasons.has(end.reason ?? '')) return 'startError';
  if (end.reason === oomReason && end.exitCode !== sigtermExitCode) return 'oomKilled';
  return end.exitCode === 0 ? 'completed' : 'error';
}

function neverEnded(
  { at, source }: Pick<Look, 'at' | 'source'>,
  cause: Cause,
  message: string | null,
): ContainerTerminated {
  return {
    type: 'container.terminated',
    at,
    source,
    exitCode: null,
    cause,
    message,
    startedAt: null,
    finishedAt: null,
  };
}

function idOf(status: ContainerStatus): { readonly containerID?: string } {
  const containerID = containerIDOf(status);
  return containerID === null ? {} : { containerID };
}
