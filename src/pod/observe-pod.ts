/**
 * The projection of a pod: facts so far and one more version of the object → new facts and what it means.
 *
 * Promises: pure; level-based (versions may be skipped, repeated, late); every decision about Kubernetes' words is made
 * here and in the tables it uses, none in the machines. Success is never told but of a terminated state of the step's
 * own container with exit code 0 that came before any end of the pod.
 */
import type { Addressed, ContainerMessage, PodReading, Source } from '../../machines/messages.ts';
import {
  deletionBegin,
  type Ending,
  endingOf,
  failedInit,
  isDeletionObserved,
  isGivenUp,
  isTerminal,
  sandboxLostAt,
} from './ending.ts';
import { type ContainerFacts, newestTime, type PodFacts, timeOf, withContainer } from './facts.ts';
import { containerIDOf, identify, isPlaceholderImage, isRetried, specOf } from './identity.ts';
import { judgeContainer } from './judge-container.ts';
import { neverEnded } from './look.ts';
import { say } from './pull-sign.ts';
import type { ContainerStatus, Pod } from './types.ts';

export interface PodObservation {
  readonly facts: PodFacts;
  /** Null when the object told nothing: another pod's, an older version, or the same again. */
  readonly reading: PodReading | null;
  readonly messages: readonly Addressed[];
}

export function observePod(facts: PodFacts, pod: Pod, at: number): PodObservation {
  if (!isNews(facts, pod)) return { facts, reading: null, messages: [] };
  const known = remember(facts, pod, at);
  return judge(known, pod, at);
}

/** The step is asked to run. What is known of its container is judged again in this light. */
export function observeRequest(facts: PodFacts, name: string, image: string, at: number): PodObservation {
  const container = facts.containers.get(name);
  if (container === undefined) return { facts, reading: null, messages: [] };
  const requested: ContainerFacts = {
    ...container,
    requestedAt: container.requestedAt ?? at,
    images: [...container.images, image],
    isPlaceholderLost: container.isPlaceholderLost || hasPlaceholderEnded(facts, container),
  };
  const message: ContainerMessage = { type: 'container.requested', at, image };
  const known = withContainer(facts, requested);
  const judged = known.gone === null ? judgeAgain(known, at) : judgeGone(known, at);
  return { ...judged, messages: [{ container: name, message }, ...judged.messages] };
}

/**
 * The object is gone. Its last version counts only when it is known to be the last one; a tombstone made after a relist
 * is not.
 */
export function observeGone(facts: PodFacts, pod: Pod, isFinalStateKnown: boolean, at: number): PodObservation {
  if (facts.gone !== null || (facts.uid !== null && facts.uid !== pod.metadata.uid)) {
    return { facts, reading: null, messages: [] };
  }
  const last = isFinalStateKnown ? observePod(facts, pod, at) : { facts, reading: null, messages: [] };
  const cause = endingOf(last.facts.pod ?? pod, last.facts.deletionBeganAt)?.cause ?? 'podDeleted';
  const resourceVersion = pod.metadata.resourceVersion;
  const gone = judgeGone({ ...last.facts, gone: { cause, resourceVersion } }, at);
  const hasEnded = (name: string): boolean =>
    last.messages.some(({ container, message }) => container === name && message.type === 'container.terminated');
  const messages = [...last.messages, ...gone.messages.filter(({ container }) => !hasEnded(container))];
  return { facts: gone.facts, reading: last.reading, messages };
}

function isNews(facts: PodFacts, pod: Pod): boolean {
  if (facts.gone !== null || (facts.uid !== null && facts.uid !== pod.metadata.uid)) return false;
  return facts.pod === null || isNewer(pod.metadata.resourceVersion, facts.pod.metadata.resourceVersion);
}

/** Versions are decimal and grow (KEP-5504); where one is not, only a repetition can be told. */
export function isNewer(version: string, than: string): boolean {
  const decimal = /^\d+$/;
  if (!decimal.test(version) || !decimal.test(than)) return version !== than;
  return version.length === than.length ? version > than : version.length > than.length;
}

function remember(facts: PodFacts, pod: Pod, at: number): PodFacts {
  const created = timeOf(pod.metadata.creationTimestamp);
  let known: PodFacts = {
    ...facts,
    uid: pod.metadata.uid,
    pod,
    clockOffsetMs: facts.clockOffsetMs ?? (created === null ? null : created - (facts.createdAt ?? at)),
    deletionBeganAt: facts.deletionBeganAt ?? deletionBegin(pod),
  };
  const toldUpTo = newestTime(pod);
  for (const container of facts.containers.values()) known = rememberContainer(known, container, pod, toldUpTo);
  return known;
}

/** Learns whose container ID is whose, and until which generation the spec had the placeholder. */
function rememberContainer(facts: PodFacts, container: ContainerFacts, pod: Pod, toldUpTo: number): PodFacts {
  const hasPlaceholder = isPlaceholderImage(facts, specOf(pod, container.name)?.image);
  const generation = pod.metadata.generation ?? null;
  let next = hasPlaceholder && generation !== null ? { ...container, placeholderGeneration: generation } : container;
  const status = pod.status?.containerStatuses?.find(({ name }) => name === container.name);
  const id = status === undefined ? null : containerIDOf(status);
  if (status === undefined || id === null) return withContainer(facts, next);
  const isRunning = status.state?.running !== undefined;
  if (isRunning) next = { ...next, aliveAt: Math.max(next.aliveAt, toldUpTo) };
  const identity = identify(facts, next, status, pod);
  if (identity === 'own') {
    const doom = next.doom ?? (isRunning ? doomOf(pod) : null);
    const isStopped = next.isStopped || (isRunning && isDeletionObserved(pod));
    next = { ...next, ownIDs: withOwn(next, status, id), createdID: createdOf(next, status, id), doom, isStopped };
  }
  // Before a request everything is taken for the placeholder, unless its image says that somebody else has asked.
  const isPlaceholder = identity === 'placeholder' && (hasPlaceholder || next.requestedAt !== null);
  if (!isPlaceholder) return withContainer(facts, next);
  if (!hasPlaceholder && isRunning) next = { ...next, wasAliveAtSwitch: true };
  if (!next.placeholderIDs.includes(id)) next = { ...next, placeholderIDs: [...next.placeholderIDs, id] };
  const imageID = status.imageID;
  const known = withContainer(facts, next);
  return !imageID || known.placeholderImageIDs.includes(imageID)
    ? known
    : { ...known, placeholderImageIDs: [...known.placeholderImageIDs, imageID] };
}

function doomOf(pod: Pod): ContainerFacts['doom'] {
  if (sandboxLostAt(pod) !== null) return 'sandbox';
  return isGivenUp(pod) ? 'givenUp' : null;
}

/**
 * A step that ended with the placeholder's code is started again under the rules, and its first instance may never have
 * been the newest one of a status that was seen. One that was created and never started is none.
 */
function withOwn(container: ContainerFacts, status: ContainerStatus, id: string): readonly string[] {
  const { ownIDs, createdID, placeholderIDs } = container;
  if (ownIDs.includes(id)) return ownIDs;
  const before = status.lastState?.terminated?.containerID;
  const wasPlaceholder = before === undefined || placeholderIDs.includes(before);
  const isOwnToo = ownIDs.length === 0 && placeholderIDs.length > 0 && !wasPlaceholder;
  if (isOwnToo) return [before, id];
  return [...(wasPlaceholder ? ownIDs.filter((own) => own !== createdID) : ownIDs), id];
}

function createdOf({ ownIDs, createdID }: ContainerFacts, status: ContainerStatus, id: string): string | null {
  const isKnownToRun = ownIDs.includes(id) && createdID !== id;
  const hasRun = status.state?.waiting === undefined || status.lastState?.terminated?.containerID === id;
  return isKnownToRun || hasRun ? null : id;
}

function hasPlaceholderEnded(facts: PodFacts, container: ContainerFacts): boolean {
  const { pod } = facts;
  if (pod === null || container.isOwnFromStart) return false;
  const status = pod.status?.containerStatuses?.find(({ name }) => name === container.name);
  const end = status?.state?.terminated;
  if (end === undefined || !isPlaceholderImage(facts, specOf(pod, container.name)?.image)) return false;
  const isStartedAgain = isRetried(facts, pod, container.name) && end.exitCode === facts.start.sigtermCode;
  return !isStartedAgain || isTerminal(pod);
}

function judgeAgain(facts: PodFacts, at: number): PodObservation {
  return facts.pod === null
    ? { facts, reading: null, messages: [] }
    : { ...judge(facts, facts.pod, at), reading: null };
}

function judge(facts: PodFacts, pod: Pod, at: number): PodObservation {
  const ending = endingOf(pod, facts.deletionBeganAt);
  const source: Source = { source: 'podStatus', resourceVersion: pod.metadata.resourceVersion };
  const messages: Addressed[] = [];
  let known = facts;
  for (const container of facts.containers.values()) {
    const judged = judgeContainer({ facts, pod, ending, at, source }, container);
    let next = judged.container;
    for (const message of judged.messages) {
      const said = say(next, message);
      next = said.container;
      if (said.message !== null) messages.push({ container: next.name, message: said.message });
    }
    known = withContainer(known, next);
  }
  return { facts: known, reading: readingOf(pod, ending), messages };
}

function judgeGone(facts: PodFacts, at: number): PodObservation {
  if (facts.gone === null) return { facts, reading: null, messages: [] };
  const { cause, resourceVersion } = facts.gone;
  const source: Source = { source: 'podStatus', resourceVersion };
  const messages: Addressed[] = [];
  for (const { name, requestedAt, said } of facts.containers.values()) {
    if (requestedAt === null || said.switch !== undefined) continue;
    messages.push({ container: name, message: neverEnded({ at, source }, cause, 'the pod is gone') });
  }
  return { facts, reading: null, messages };
}

function readingOf(pod: Pod, ending: Ending | null): PodReading {
  const init = failedInit(pod);
  const cause = ending?.cause ?? (init === null ? null : 'initFailed');
  return {
    phase: phaseOf(pod),
    node: pod.spec?.nodeName ?? null,
    ending: ending !== null || isTerminal(pod),
    cause,
    message: ending?.message ?? pod.status?.message ?? null,
  };
}

const phases: readonly PodReading['phase'][] = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'];

function phaseOf(pod: Pod): PodReading['phase'] {
  return phases.find((phase) => phase === pod.status?.phase) ?? 'Pending';
}
