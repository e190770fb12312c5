/** What one version of a pod's object means for one container of the build. Part of `observe-pod.ts`. */

import type { ContainerMessage, ContainerTerminated } from '../../machines/messages.ts';
import type { Cause } from '../../machines/outcome.ts';
import { entryCodes, readEntryReport } from '../image/placeholder.ts';
import { type Ending, isByEnding, isGivenUp, isNodeSilent, isTerminal, sandboxLostAt } from './ending.ts';
import { type ContainerFacts, nodeBehindMs, nodeTimeOf, timeOf, wasClockSetBack } from './facts.ts';
import { containerIDOf, type Identity, identify, isPlaceholderImage, isRetried, specOf } from './identity.ts';
import { initFailure, judgeInit } from './judge-init.ts';
import { type Look, neverEnded } from './look.ts';
import { classifyPullFailure } from './pull-failure.ts';
import { pullFailedMessage, withPullSign } from './pull-sign.ts';
import {
  blockOf,
  failedPullReasons,
  inventedEnds,
  oomReason,
  pullBackOffReason,
  sigtermExitCode,
  startErrorReasons,
} from './reasons.ts';
import type { ContainerStateTerminated, ContainerStatus } from './types.ts';

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
      ? judgeOwn(look, known, status, container.waitingReason)
      : judgeOther(look, known, status, identity, container.waitingReason);
  // The verdict last: after it a container is told nothing.
  return { ...judged, messages: [...judgeNode(look, container), ...judged.messages] };
}

/** The step's own container. */
function judgeOwn(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  previousReason: string | null,
): Judged {
  const ends = judgeOwnEnd(look, container, status);
  if (ends !== null) return { container, messages: ends };
  const { running, waiting } = status.state ?? {};
  const lost = judgeWithoutEnd(look);
  if (lost.length > 0) return { container, messages: lost };
  // Created and not started: the next try may fail too.
  if (waiting !== undefined) return judgeWaiting(look, container, status, previousReason);
  if (running === undefined) return { container, messages: [] };
  const source = { ...look.source, ...idOf(status) };
  const message: ContainerMessage = {
    type: 'container.running',
    at: look.at,
    source,
    startedAt: running.startedAt ?? null,
  };
  return { container, messages: [message] };
}

/** Null where it shows no end. */
function judgeOwnEnd(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
): readonly ContainerMessage[] | null {
  const { state, lastState } = status;
  // A second start, which a step must not see: its first end is its end.
  const last = lastState?.terminated;
  const end = last && isOwnEnd(look, container, status, last) ? last : state?.terminated;
  if (end === undefined) return null;
  // Whether it is the step's own is told together with the pod's end.
  if (look.ending === null && isGivenUp(look.pod)) return [];
  if (end === state?.terminated && isRepeated(end)) return [neverEnded(look, 'unknown', end.message ?? null)];
  return [ended(look, container, status, end)];
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
  const { heldUpBy, isHeldUp, messages } = judgeInit(look, container.heldUpBy, identity !== 'none');
  const known = heldUpBy === container.heldUpBy ? container : { ...container, heldUpBy };
  if (isHeldUp) return { container: known, messages };
  const judged = judgeWaiting(look, known, status, previousReason);
  return { ...judged, messages: [...messages, ...judged.messages] };
}

/** The placeholder has ended and nothing of the step is there. */
function judgeReplacement(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  terminated: ContainerStateTerminated,
  identity: Identity,
): readonly ContainerMessage[] {
  if (look.ending !== null && !look.ending.isOnlyForUnended) return isTerminal(look.pod) ? judgeWithoutEnd(look) : [];
  const wasThere = identity === 'placeholder' || container.placeholderIDs.length > 0;
  const isInvented = inventedEnds.has(terminated.reason ?? '') && !container.isPlaceholderLost;
  if (container.ownIDs.length > 0 || !wasThere || isInvented) {
    return [neverEnded(look, 'unknown', terminated.message ?? null)];
  }
  if (isPlaceholderLost(look, container, terminated)) {
    return [neverEnded(look, 'placeholderLost', `the placeholder ended with code ${terminated.exitCode}`)];
  }
  if (isStartedAgain(look, container)) return [];
  return [{ type: 'switch.failed', at: look.at, source: { ...look.source, ...idOf(status) } }];
}

/** It died before its step was asked for, or by something else than the switch. */
function isPlaceholderLost(look: Look, container: ContainerFacts, terminated: ContainerStateTerminated): boolean {
  if (container.isPlaceholderLost) return true;
  if (terminated.exitCode !== look.facts.start.sigtermCode) return true;
  if (isStartedAgain(look, container)) return false;
  const finishedAt = believedEnd(look, container, terminated);
  const { clockOffsetMs } = look.facts;
  if (finishedAt === null || clockOffsetMs === null || container.requestedAt === null) return false;
  const marginMs = requestMarginMs + nodeBehindMs(look.facts, look.pod);
  return !container.wasAliveAtSwitch && finishedAt + marginMs <= container.requestedAt + clockOffsetMs;
}

/** With its step's image, whenever it ended. */
function isStartedAgain({ facts, pod }: Look, { name }: ContainerFacts): boolean {
  return isRetried(facts, pod, name) && !isTerminal(pod);
}

/**
 * Whole seconds in the status, and the request's latency. A wider one would take a placeholder that nobody saw end
 * before the request for one that ended by the switch: a failed pull of an unknown class in the place of its true cause.
 */
const requestMarginMs = 2_000;

function judgeWaiting(
  look: Look,
  container: ContainerFacts,
  status: ContainerStatus,
  previousReason: string | null,
): Judged {
  const { reason, message: words = null } = status.state?.waiting ?? {};
  if (!reason) return { container, messages: [] };
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

/** The pod's end takes with it what has no end of its own. */
function judgeWithoutEnd(look: Look): readonly ContainerMessage[] {
  const { ending, pod } = look;
  if (ending?.isNodeGone) return [neverEnded(look, ending.cause, ending.message)];
  if (!isTerminal(pod)) return [];
  const init = ending === null ? initFailure(look) : null;
  if (init !== null) return [init];
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
  const byPod = isByPod(look, container, end) ? look.ending : null;
  const own = isInvented ? 'unknown' : ownCause(end);
  const doubt = own === 'completed' ? doubtOf(look, container, end) : null;
  return {
    type: 'container.terminated',
    at: look.at,
    source: { ...look.source, ...(end.containerID ? { containerID: end.containerID } : idOf(status)) },
    exitCode: isInvented ? null : end.exitCode,
    cause: byPod === null ? (doubt === null ? own : 'unknown') : causeBy(byPod, own),
    message: end.message ?? byPod?.message ?? doubt,
    startedAt: end.startedAt ?? null,
    finishedAt,
  };
}

/** Of a stop that its kubelet tells of, no clock is asked. */
function isByPod(look: Look, container: ContainerFacts, end: ContainerStateTerminated): boolean {
  const finishedAt = container.isStopped ? null : believedEnd(look, container, end);
  return isByEnding(look.ending, finishedAt, nodeBehindMs(look.facts, look.pod));
}

/** On the node's clock; null where that clock was set back, so that it tells nothing of what came first elsewhere. */
function believedEnd({ pod }: Look, { aliveAt }: ContainerFacts, end: ContainerStateTerminated): number | null {
  const finishedAt = nodeTimeOf(end.finishedAt);
  if (finishedAt === null || wasClockSetBack(pod)) return null;
  return finishedAt + lookMs < aliveAt ? null : finishedAt;
}

/** Whole seconds: the kubelet looks at one container after the other, so that an end may come right before it. */
const lookMs = 1_000;

/** A pod that ended for an unknown reason makes a success doubtful, and takes nothing from a failure. */
function causeBy({ cause }: Ending, own: Cause): Cause {
  return cause === 'unknown' && own !== 'completed' ? own : cause;
}

/** Why an end with 0 is not proven to be the step's own, in words; null where nothing speaks against it. */
function doubtOf(look: Look, container: ContainerFacts, end: ContainerStateTerminated): string | null {
  if (container.doom === 'givenUp') return 'the kubelet was ending the pod before it ended';
  return container.doom === 'sandbox' || isStoppedWithSandbox(look, container, end)
    ? 'the sandbox of the pod was dead before it ended'
    : null;
}

/**
 * A kubelet that finds the sandbox dead stops what runs in it; whoever ends that with 0 looks like one that had ended.
 * Times have whole seconds: a later second proves that it was stopped. In the same second it is in doubt where another
 * container was stopped then; where none was, the pod looks as each does whose last container has ended by itself,
 * and nothing speaks against that.
 */
function isStoppedWithSandbox(look: Look, container: ContainerFacts, end: ContainerStateTerminated): boolean {
  const lostAt = sandboxLostAt(look.pod);
  const startedAt = timeOf(end.startedAt);
  const finishedAt = timeOf(end.finishedAt);
  if (lostAt === null || startedAt === null || finishedAt === null || startedAt >= lostAt) return false;
  return lostAt < finishedAt || (lostAt === finishedAt && wasAnotherAlive(look, container, lostAt));
}

/** At a natural end the sandbox outlives all containers. A placeholder never ends by itself. */
function wasAnotherAlive({ facts, pod }: Look, container: ContainerFacts, at: number): boolean {
  return (pod.status?.containerStatuses ?? []).some(({ name, state }) => {
    if (name === container.name) return false;
    if (state?.running !== undefined) return true;
    const finishedAt = timeOf(state?.terminated?.finishedAt);
    if (finishedAt === null || finishedAt < at) return false;
    const other = facts.containers.get(name);
    return finishedAt > at || (other !== undefined && !other.isOwnFromStart && other.requestedAt === null);
  });
}

/** Out of memory is a failure even with exit code 0; with 143 it was a child's, and the step ended by a polite stop. */
function ownCause(end: ContainerStateTerminated): Cause {
  if (startErrorReasons.has(end.reason ?? '')) return 'startError';
  if (end.reason === oomReason && end.exitCode !== sigtermExitCode) return 'oomKilled';
  return end.exitCode === 0 ? 'completed' : 'error';
}

function idOf(status: ContainerStatus): { readonly containerID?: string } {
  const containerID = containerIDOf(status);
  return containerID === null ? {} : { containerID };
}
