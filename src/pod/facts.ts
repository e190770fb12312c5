/**
 * What is remembered of one build pod between two observations: enough to tell what runs in a container, whether an
 * Event is news, and what a later request finds. Immutable; the projection gives back new facts.
 */
import type { PodCause } from '../../machines/messages.ts';
import type { PullFailureClass } from '../../machines/outcome.ts';
import type { ContainerStatus, Pod } from './types.ts';

export interface PodFacts {
  /** Null until the pod is known; afterwards other uids are other pods. */
  readonly uid: string | null;
  readonly start: StartKnowledge;
  /** On our clock: when the create's answer came. */
  readonly createdAt: number | null;
  /** The server's clock minus ours, at most a second and the latency too low; null without a creationTimestamp. */
  readonly clockOffsetMs: number | null;
  /** The newest one seen. What is older is not believed, what is equal tells nothing new. */
  readonly pod: Pod | null;
  /** Image IDs that placeholders of this pod have shown. */
  readonly placeholderImageIDs: readonly string[];
  readonly containers: ReadonlyMap<string, ContainerFacts>;
  /** Newest count seen of each Event, by its uid. */
  readonly eventCounts: ReadonlyMap<string, number>;
  /** On the server's clock: when the deletion began, where an object told it for sure. */
  readonly deletionBeganAt: number | null;
  /** Set when the object is gone: why. */
  readonly gone: { readonly cause: PodCause; readonly resourceVersion: string } | null;
}

export interface StartKnowledge {
  /** As they stand in the spec. */
  readonly placeholderImages: readonly string[];
  /** The code with which a placeholder ends when it is stopped for its step. */
  readonly sigtermCode: number;
  /** Whether the kubelet restarts a placeholder that ended with it; null: read it from the pod's spec. */
  readonly retries: boolean | null;
}

export interface ContainerFacts {
  readonly name: string;
  /** On our clock; null while nobody asked for the step. */
  readonly requestedAt: number | null;
  /** Images the step was asked to run with; the last one counts. */
  readonly images: readonly string[];
  /** No placeholder ever stands in this container. */
  readonly isOwnFromStart: boolean;
  /** The latest generation of the pod in which its spec had the placeholder; null while none was seen. */
  readonly placeholderGeneration: number | null;
  /** The placeholder had ended when the step was asked for. */
  readonly isPlaceholderLost: boolean;
  /** The placeholder still ran in an object whose spec had the step's image: whenever it ended, the switch came first. */
  readonly wasAliveAtSwitch: boolean;
  readonly placeholderIDs: readonly string[];
  /** In the order in which they ran. */
  readonly ownIDs: readonly string[];
  /** The newest of them, as long as it was only seen created: a kubelet that restarts then makes another instead. */
  readonly createdID: string | null;
  /** It was shown running in a pod that its kubelet was about to end, and why: what ends it is no longer its own. */
  readonly doom: 'sandbox' | 'givenUp' | null;
  /** On the node's clock: the newest of all times that the pod told while it showed this one running; 0 for none. */
  readonly aliveAt: number;
  /** Its kubelet told that it stops it, or showed it running in a pod that it knew to be deleted. */
  readonly isStopped: boolean;
  readonly waitingReason: string | null;
  /** The init container whose trouble was last told as this one's. */
  readonly heldUpBy: string | null;
  readonly pull: PullFacts;
  /** What was last said of it, by topic, so that only news is said. */
  readonly said: Readonly<Partial<Record<Topic, string>>>;
}

/** Within a topic a message takes back the one before. */
export type Topic = 'start' | 'switch' | 'life' | 'node';

/** Failed attempts since the request or since the last progress, by what told of them. */
export interface PullFacts {
  readonly class: PullFailureClass;
  readonly message: string | null;
  readonly attempts: Readonly<Record<AttemptTeller, number>>;
  readonly permanentAttempts: Readonly<Record<AttemptTeller, number>>;
}

/** Each of them tells of every attempt, so that the true number is the highest, not the sum. */
export type AttemptTeller = 'status' | 'failed' | 'never' | 'inspect';

const noAttempts: PullFacts['attempts'] = { status: 0, failed: 0, never: 0, inspect: 0 };
export const noPullFailure: PullFacts = {
  class: 'unknown',
  message: null,
  attempts: noAttempts,
  permanentAttempts: noAttempts,
};

export function initialFacts(names: readonly string[]): PodFacts {
  return {
    uid: null,
    start: { placeholderImages: [], sigtermCode: 0, retries: null },
    createdAt: null,
    clockOffsetMs: null,
    pod: null,
    placeholderImageIDs: [],
    containers: new Map(names.map((name) => [name, initialContainerFacts(name)])),
    eventCounts: new Map(),
    deletionBeganAt: null,
    gone: null,
  };
}

function initialContainerFacts(name: string): ContainerFacts {
  return {
    name,
    requestedAt: null,
    images: [],
    isOwnFromStart: false,
    placeholderGeneration: null,
    isPlaceholderLost: false,
    wasAliveAtSwitch: false,
    placeholderIDs: [],
    ownIDs: [],
    createdID: null,
    doom: null,
    aliveAt: 0,
    isStopped: false,
    waitingReason: null,
    heldUpBy: null,
    pull: noPullFailure,
    said: {},
  };
}

export function withContainer(facts: PodFacts, container: ContainerFacts): PodFacts {
  if (facts.containers.get(container.name) === container) return facts;
  return { ...facts, containers: new Map(facts.containers).set(container.name, container) };
}

/**
 * By how much the node's clock is at least behind the server's, in milliseconds: nothing on a node is older than its
 * pod and that pod's binding, and no step older than its request. 0 for a clock that is right or ahead.
 */
export function nodeBehindMs(facts: PodFacts, { metadata, status }: Pod): number {
  const scheduled = status?.conditions?.find((condition) => condition.type === 'PodScheduled');
  const bound = scheduled?.status === 'True' ? timeOf(scheduled.lastTransitionTime) : null;
  const earliest = Math.max(timeOf(metadata.creationTimestamp) ?? 0, bound ?? 0);
  const began = (start: string | null | undefined, atTheEarliest: number): number =>
    atTheEarliest - (nodeTimeOf(start) ?? atTheEarliest);
  const behind = (status?.containerStatuses ?? []).flatMap((container) => {
    const { state, lastState } = container;
    const asked = requestSecond(facts, container);
    return [
      began((state?.running ?? state?.terminated)?.startedAt, Math.max(earliest, asked)),
      began(lastState?.terminated?.startedAt, earliest),
    ];
  });
  return Math.max(0, began(status?.startTime, earliest), ...behind);
}

/** On the server's clock, as it would write it; 0 for a status that is not of the step that was asked for. */
function requestSecond({ containers, clockOffsetMs }: PodFacts, { name, containerID = '' }: ContainerStatus): number {
  const container = containers.get(name);
  if (clockOffsetMs === null || !container || container.requestedAt === null || container.isOwnFromStart) return 0;
  if (!container.ownIDs.includes(containerID)) return 0;
  return Math.floor((container.requestedAt + clockOffsetMs) / 1000) * 1000;
}

/**
 * Whether the pod itself shows that its node's clock was set back while it ran: something ended before it began, or
 * began before what it follows had ended. It does not show by how much, because nobody knows what lay between; so its
 * times are worth nothing against those of others.
 */
export function wasClockSetBack(pod: Pod): boolean {
  return timesOf(pod).some((times) => times.some((time, index) => time < (times[index - 1] ?? time)));
}

/** On the node's clock; 0 where the pod tells of no container. */
export function newestTime(pod: Pod): number {
  return Math.max(0, ...timesOf(pod).flat());
}

/** Of each container, in the order in which they must have been. */
function timesOf({ status }: Pod): readonly (readonly number[])[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return statuses.map(({ state, lastState }) => {
    const last = lastState?.terminated;
    const started = (state?.running ?? state?.terminated)?.startedAt;
    const times = [last?.startedAt, last?.finishedAt, started, state?.terminated?.finishedAt];
    return times.map(nodeTimeOf).filter((time) => time !== null);
  });
}

/** Of a container's status, as `timeOf`; null also for the beginning of time, which tells what never happened. */
export function nodeTimeOf(text: string | null | undefined): number | null {
  return timeOf(text) || null;
}

/** Milliseconds of an RFC 3339 time; null when there is none or it is none. */
export function timeOf(text: string | null | undefined): number | null {
  if (text === null || text === undefined) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : time;
}
