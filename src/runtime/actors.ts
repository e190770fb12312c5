/**
 * The actors of one build: its actor system, the facts of its pod, its feed and its one timer. Knows no client.
 *
 * Promises:
 * 1. `launched` and `settled` resolve with the first verdict, also for callers that come after it, after `close()` or
 *    after the pod is gone; they reject only when there can be no verdict any more, or when their signal aborts.
 * 2. Observations may come repeated, merged, late, and from before the create's answer; other pods' are ignored.
 * 3. `close()` leaves no timer, subscription or running actor; what was seen stays readable.
 */
import {
  type Actor,
  type ActorRef,
  type ActorRefFrom,
  createActor,
  type InspectionEvent,
  type Observer,
  type Snapshot,
  type SnapshotFrom,
  type Subscription,
} from 'xstate';
import { buildMachine } from '../../machines/build.ts';
import type { containerMachine } from '../../machines/container.ts';
import { defaultGrace, type GracePolicy } from '../../machines/messages.ts';
import type { Outcome, Phase, SettledOutcome } from '../../machines/outcome.ts';
import type { podMachine } from '../../machines/pod.ts';
import { assert } from '../assert.ts';
import type { Clock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import { Feed, type RequestedBefore } from './feed.ts';
import { launchedOutcome, settledOutcome } from './outcome.ts';
import { settle } from './settle.ts';
import {
  type BuildState,
  type ContainerSnapshotView,
  type ContainerState,
  type PodSnapshotView,
  type PodState,
  viewContainer,
} from './view.ts';

export type { GracePolicy } from '../../machines/messages.ts';
export type { BuildState, ContainerSnapshotView, ContainerState, PodSnapshotView, PodState } from './view.ts';

/** What `createActor` takes: a function, or an observer such as `inspector.inspect` of @statelyai/inspect. */
export type InspectionHandler = Observer<InspectionEvent> | ((event: InspectionEvent) => void);

/** A container that the build knows of. Others in the pod are seen and decide nothing. */
export interface ContainerPlan {
  readonly name: string;
  /** The step's own image is in the pod from the start: the create asks for it, no `request` follows. */
  readonly atStart?: boolean;
}

/** What the placeholder is, and what the server made of its rules. */
export interface StartFacts {
  /** As they stand in the pod's spec. Empty when every container has its own image from the start. */
  readonly placeholderImages: readonly string[];
  /** The code with which the placeholder ends on SIGTERM; 0 when absent. */
  readonly sigtermCode?: number;
  /** Whether the server kept the restart rules, so that the kubelet tries again. Default: read from the pod's spec. */
  readonly retries?: boolean;
  /**
   * For a pod that is taken up: the steps that another process asked to run before. No `request` follows for them.
   * Absent for a pod that was just created.
   */
  readonly requested?: readonly RequestedBefore[];
}

export interface BuildActorsOptions {
  readonly id: string;
  readonly containers: readonly ContainerPlan[];
  readonly clock: Clock;
  /**
   * Observes the pod as the server has it now, before time decides. Gives false when it could not be asked: then no
   * verdict comes by time until it can. Without it, what was seen until then decides.
   */
  readonly look?: () => Promise<boolean>;
  readonly grace?: Partial<GracePolicy>;
  readonly inspect?: InspectionHandler;
}

/** One transition of one actor. `state` is its state's name, `previous` the one before. */
export type StateChange =
  | { readonly actor: 'build'; readonly at: number; readonly previous: BuildState; readonly state: BuildState }
  | {
      readonly actor: 'pod';
      readonly at: number;
      readonly previous: PodState;
      readonly state: PodState;
      readonly uid: string | null;
    }
  | {
      readonly actor: 'container';
      readonly container: string;
      readonly at: number;
      readonly previous: ContainerState;
      readonly state: ContainerState;
      /** Set from `running` on. */
      readonly outcome: Outcome | null;
    };

export class BuildActors {
  readonly id: string;
  readonly #plan: readonly ContainerPlan[];
  readonly #feed: Feed;
  readonly #build: Actor<typeof buildMachine>;
  readonly #pod: ActorRefFrom<typeof podMachine>;
  readonly #containers = new Map<string, ActorRefFrom<typeof containerMachine>>();
  readonly #clock: Clock;
  readonly #subscriptions: Subscription[] = [];
  readonly #listeners = new Set<(change: StateChange) => void>();
  /** One per pending wait, so that no caller's signal and no actor gathers listeners. */
  readonly #waits = new Set<AbortController>();
  /** Why no verdict will come any more, once that is so. */
  #ended: { readonly reason: unknown } | null = null;

  constructor(options: BuildActorsOptions) {
    this.id = options.id;
    this.#plan = options.containers;
    this.#clock = options.clock;
    const names = options.containers.map(({ name }) => name);
    const grace = { ...defaultGrace, ...options.grace };
    this.#build = createActor(buildMachine, {
      id: options.id,
      input: { id: options.id, containers: names, grace },
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    });
    this.#build.start();
    this.#pod = childOf(this.#build, 'pod');
    for (const name of names) this.#containers.set(name, childOf(this.#pod, name));
    this.#feed = new Feed({
      containers: names,
      clock: options.clock,
      send: (message) => this.#build.send(message),
      nextDeadline: () => this.#nextDeadline(),
      look: options.look,
    });
    this.#follow();
  }

  /** About to create the pod. */
  assembling(): void {
    this.#feed.tell({ type: 'build.assembling', at: this.#clock.now() });
  }

  /** The pod is on the cluster: the create's answer, or one found again. What was observed of it before counts now. */
  created(pod: Pod, start: StartFacts): void {
    const { placeholderImages, sigtermCode = 0, retries = null, requested } = start;
    const hasPlaceholders = placeholderImages.length > 0;
    const atStart = new Map<string, string>();
    for (const plan of this.#plan) {
      const image = pod.spec?.containers?.find(({ name }) => name === plan.name)?.image;
      if (image !== undefined && (plan.atStart === true || !hasPlaceholders)) atStart.set(plan.name, image);
    }
    this.#feed.created(pod, { placeholderImages, sigtermCode, retries }, atStart, requested);
  }

  /** The build could not be assembled: everything that waits is rejected with `error`. */
  failed(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.#feed.tell({ type: 'build.errored', at: this.#clock.now(), message });
    this.#end(error);
  }

  /** The step was asked to run. Call it when the PATCH is sent. */
  request(container: string, image: string): void {
    this.#ref(container);
    this.#feed.request(container, image);
  }

  observePod(pod: Pod): void {
    this.#feed.observePod(pod);
  }

  /** The pod's object is gone; `finalStateKnown: false` for a tombstone that a relist made. */
  observeGone(pod: Pod, finalStateKnown: boolean): void {
    this.#feed.observeGone(pod, finalStateKnown);
  }

  observeEvent(event: KubeEvent): void {
    this.#feed.observeEvent(event);
  }

  /** Cancels one container, or all of them and the build. What has a verdict keeps it. */
  cancel(reason: 'caller' | 'timeout', phase?: Phase, container?: string): void {
    const at = this.#clock.now();
    if (container === undefined) {
      this.#feed.tell({ type: 'build.cancel', at, reason, phase: phase ?? null });
      return;
    }
    this.#ref(container);
    this.#feed.tell({ type: 'containers.cancel', at, reason, phase: phase ?? null, container });
  }

  /** The executor's judgement of the whole build. */
  conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void {
    this.#feed.tell({ type: 'build.concluded', at: this.#clock.now(), result });
  }

  /** Nothing of the build is on the cluster any more. */
  removed(): void {
    this.#feed.tell({ type: 'build.removed', at: this.#clock.now() });
  }

  /** Waits until the step runs or has a verdict. */
  launched(container: string, options: SignalOption = {}): Promise<Outcome> {
    return this.#wait(container, launchedOutcome, options);
  }

  /** Waits for the verdict. */
  settled(container: string, options: SignalOption = {}): Promise<SettledOutcome> {
    return this.#wait(container, settledOutcome, options);
  }

  container(name: string): ContainerSnapshotView {
    return viewContainer(name, this.#ref(name).getSnapshot(), this.#feed.facts);
  }

  get pod(): PodSnapshotView {
    const { value, context } = this.#pod.getSnapshot();
    const { uid, node, phase, cause, message } = context;
    return { state: value, uid, node, phase, cause, message };
  }

  get state(): BuildState {
    return this.#build.getSnapshot().value;
  }

  /** Every transition of the build, its pod and its containers from now on, in order. Gives back how to end it. */
  subscribe(listener: (change: StateChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#feed.close();
    this.#end(new PodwrightError('ERR_PODWRIGHT_STOPPED', `build ${this.id} was closed`));
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#subscriptions.length = 0;
    this.#listeners.clear();
    this.#build.stop();
  }

  #end(reason: unknown): void {
    this.#ended ??= { reason };
    for (const wait of this.#waits) wait.abort(reason);
    this.#waits.clear();
  }

  async #wait<R>(
    name: string,
    pick: (snapshot: ContainerSnapshot) => R | undefined,
    options: SignalOption,
  ): Promise<R> {
    const container = this.#ref(name);
    const wait = new AbortController();
    const onAbort = (): void => wait.abort(options.signal?.reason);
    this.#waits.add(wait);
    if (this.#ended !== null) wait.abort(this.#ended.reason);
    if (options.signal?.aborted) onAbort();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await settle(container, pick, { signal: wait.signal, what: `container ${name} of build ${this.id}` });
    } finally {
      this.#waits.delete(wait);
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  #ref(name: string): ActorRefFrom<typeof containerMachine> {
    const ref = this.#containers.get(name);
    if (ref !== undefined) return ref;
    throw new PodwrightError('ERR_PODWRIGHT_STATE', `build ${this.id} has no container ${name}`, {
      remedy: `Its containers are ${[...this.#containers.keys()].join(', ')}.`,
      details: { build: this.id, container: name },
    });
  }

  #nextDeadline(): number | null {
    let next: number | null = null;
    for (const container of this.#containers.values()) {
      const { deadlineAt } = container.getSnapshot().context;
      if (deadlineAt !== null && (next === null || deadlineAt < next)) next = deadlineAt;
    }
    return next;
  }

  /** One subscription per actor for as long as the build lives. */
  #follow(): void {
    this.#watch(this.#build, (previous, state, at) => ({ actor: 'build', at, previous, state }));
    this.#watch(this.#pod, (previous, state, at) => ({ actor: 'pod', at, previous, state, uid: this.pod.uid }));
    for (const [container, ref] of this.#containers) {
      this.#watch(ref, (previous, state, at) => {
        const { outcome } = ref.getSnapshot().context;
        return { actor: 'container', container, at, previous, state, outcome };
      });
    }
  }

  #watch<S extends string>(
    ref: ActorRef<MachineSnapshotOf<S>, never>,
    change: (previous: S, state: S, at: number) => StateChange,
  ): void {
    let previous = ref.getSnapshot().value;
    const tell = ({ value }: { readonly value: S }): void => {
      if (value === previous) return;
      const told = change(previous, value, this.#clock.now());
      previous = value;
      for (const listener of this.#listeners) listener(told);
    };
    this.#subscriptions.push(ref.subscribe({ next: tell, error: (error) => this.#end(error) }));
  }
}

type ContainerSnapshot = SnapshotFrom<typeof containerMachine>;
type MachineSnapshotOf<S extends string> = Snapshot<unknown> & { readonly value: S };
type SignalOption = { readonly signal?: AbortSignal };

function childOf<T>(parent: { getSnapshot(): { children: object } }, name: string): T {
  const child = (parent.getSnapshot().children as Readonly<Record<string, T | undefined>>)[name];
  assert(child !== undefined, `the actor ${name} was spawned`);
  return child;
}
