/**
 * The only sender of a build's actor system: turns observations into messages, and time into messages.
 *
 * It holds the facts of the projection and one timer for the whole build. Before anything is told, what time has
 * already decided is told first, so that a late timer never lets a late observation win. Where the pod can be looked at,
 * time decides nothing before that was done: a watch may have gone silent before anybody knows.
 */
import type { Addressed, BuildMessage, Source } from '../../machines/messages.ts';
import type { Clock, Timer } from '../clock.ts';
import { initialFacts, type PodFacts, type StartKnowledge, timeOf } from '../pod/facts.ts';
import { observeEvent } from '../pod/observe-event.ts';
import { observeGone, observePod, observeRequest, type PodObservation } from '../pod/observe-pod.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';

/** A step that another process asked to run before this one knew of the pod. */
export interface RequestedBefore {
  readonly container: string;
  readonly image: string;
  /** Milliseconds of the clock; null when it is not known. */
  readonly at: number | null;
  /** The containerID of the placeholder that ran then; null when it is not known. */
  readonly placeholder: string | null;
}

export interface FeedOptions {
  readonly containers: readonly string[];
  readonly clock: Clock;
  readonly send: (message: BuildMessage) => void;
  /** The earliest moment at which an actor wants to hear of the time. */
  readonly nextDeadline: () => number | null;
  /** Observes the pod as the server has it now. Gives false when it could not be asked: then it is tried again. */
  readonly look?: (() => Promise<boolean>) | undefined;
}

const lookAgainMs = 5_000;

/** What was seen of a pod before it was known to be ours. Newest last; its size is bounded by what a create can take. */
type Early =
  | { readonly kind: 'pod'; readonly pod: Pod }
  | { readonly kind: 'gone'; readonly pod: Pod; readonly isFinalStateKnown: boolean }
  | { readonly kind: 'event'; readonly event: KubeEvent };

const earlyLimit = 1000;

export class Feed {
  readonly #options: FeedOptions;
  #facts: PodFacts;
  #early: Early[] = [];
  #timer: Timer | null = null;
  #isLooking = false;
  #isClosed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#facts = initialFacts(options.containers);
  }

  get facts(): PodFacts {
    return this.#facts;
  }

  /**
   * The pod of this build is `pod`. `atStart` names the containers that have their step's image from the start;
   * `requested`, for a pod that is taken up, those whose step was asked for before.
   */
  created(
    pod: Pod,
    start: StartKnowledge,
    atStart: ReadonlyMap<string, string>,
    requested?: readonly RequestedBefore[],
  ): void {
    if (this.#isClosed || this.#facts.uid !== null) return;
    const { uid } = pod.metadata;
    const containers = new Map(this.#facts.containers);
    for (const [name, facts] of containers) containers.set(name, { ...facts, isOwnFromStart: atStart.has(name) });
    for (const { container, at, placeholder } of requested ?? []) {
      const facts = containers.get(container);
      if (facts === undefined) continue;
      const placeholderIDs = placeholder === null ? facts.placeholderIDs : [placeholder];
      // Not known when: nothing in the pod is from before it.
      const requestedAt = at ?? timeOf(pod.metadata.creationTimestamp);
      containers.set(container, { ...facts, requestedAt, placeholderIDs });
    }
    // A pod that was there before tells nothing of the server's clock: its create was not answered now.
    const clockOffsetMs = requested === undefined ? null : 0;
    this.#facts = { ...this.#facts, uid, createdAt: this.#now(), clockOffsetMs, start, containers };
    this.#tell({ type: 'pod.created', at: this.#now(), uid });
    for (const [name, image] of atStart) this.request(name, image);
    for (const { container, image } of requested ?? []) this.request(container, image);
    this.observePod(pod);
    const early = this.#early;
    this.#early = [];
    for (const item of early) this.#replay(item);
  }

  request(container: string, image: string): void {
    if (this.#isClosed) return;
    const at = this.#now();
    this.#passTime(at);
    this.#apply(observeRequest(this.#facts, container, image, at), at);
  }

  observePod(pod: Pod): void {
    if (this.#isClosed || this.#isEarly({ kind: 'pod', pod })) return;
    const at = this.#now();
    this.#passTime(at);
    this.#apply(observePod(this.#facts, pod, at), at);
  }

  observeGone(pod: Pod, isFinalStateKnown: boolean): void {
    if (this.#isClosed || this.#isEarly({ kind: 'gone', pod, isFinalStateKnown })) return;
    const at = this.#now();
    this.#passTime(at);
    const before = this.#facts.gone;
    const observation = observeGone(this.#facts, pod, isFinalStateKnown, at);
    this.#apply(observation, at);
    const { gone } = observation.facts;
    if (before !== null || gone === null) return;
    this.#tell({ type: 'pod.gone', at, source: podSource(pod), cause: gone.cause, containers: [] });
  }

  observeEvent(event: KubeEvent): void {
    if (this.#isClosed || this.#isEarly({ kind: 'event', event })) return;
    const at = this.#now();
    this.#passTime(at);
    const { facts, messages } = observeEvent(this.#facts, event, at);
    this.#facts = facts;
    this.#told(messages, at);
  }

  /** Anything that no observation has to explain. */
  tell(message: BuildMessage): void {
    if (this.#isClosed) return;
    this.#passTime(message.at);
    this.#tell(message);
  }

  close(): void {
    this.#isClosed = true;
    this.#early = [];
    this.#timer?.cancel();
    this.#timer = null;
  }

  #replay(item: Early): void {
    if (item.kind === 'pod') this.observePod(item.pod);
    else if (item.kind === 'gone') this.observeGone(item.pod, item.isFinalStateKnown);
    else this.observeEvent(item.event);
  }

  /** Which of the pods with the build's name is ours is known only by the create's answer. */
  #isEarly(item: Early): boolean {
    if (this.#facts.uid !== null) return false;
    this.#early.push(item);
    if (this.#early.length > earlyLimit) this.#early.shift();
    return true;
  }

  #apply({ facts, reading, messages }: PodObservation, at: number): void {
    this.#facts = facts;
    if (reading === null || facts.pod === null) this.#told(messages, at);
    else this.#tell({ type: 'pod.observed', at, source: podSource(facts.pod), reading, containers: messages });
  }

  #told(containers: readonly Addressed[], at: number): void {
    if (containers.length > 0) this.#tell({ type: 'pod.told', at, containers });
  }

  #tell(message: BuildMessage): void {
    this.#options.send(message);
    this.#arm();
  }

  /** Tells the time while someone has waited for it. Every telling settles what it was due for, so this ends. */
  #passTime(at: number): void {
    if (this.#options.look === undefined) this.#decide(at);
  }

  #decide(at: number): void {
    const deadline = this.#options.nextDeadline();
    if (deadline !== null && deadline <= at) this.#options.send({ type: 'time.passed', at });
  }

  #arm(atLeastMs = 0): void {
    if (this.#isLooking) return;
    this.#timer?.cancel();
    this.#timer = null;
    const deadline = this.#options.nextDeadline();
    if (deadline === null || this.#isClosed) return;
    this.#timer = this.#options.clock.schedule(Math.max(atLeastMs, deadline - this.#now()), () => {
      this.#timer = null;
      void this.#onDeadline();
    });
  }

  async #onDeadline(): Promise<void> {
    const { look } = this.#options;
    this.#isLooking = look !== undefined;
    const isKnown = look === undefined || (await look());
    this.#isLooking = false;
    if (isKnown && !this.#isClosed) this.#decide(this.#now());
    this.#arm(isKnown ? 0 : lookAgainMs);
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

function podSource(pod: Pod): Source {
  return { source: 'podStatus', resourceVersion: pod.metadata.resourceVersion };
}
