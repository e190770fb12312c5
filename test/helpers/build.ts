/** A build whose cluster is the test: shows versions of its pod, says Events, moves the clock. */
import { VirtualClock } from '../../src/clock.ts';
import type { ContainerState, ContainerStatus, KubeEvent, Pod, PodCondition, PodStatus } from '../../src/pod/types.ts';
import { BuildActors, type GracePolicy, type StateChange } from '../../src/runtime/actors.ts';
import { type InvariantWatch, watchInvariants } from './invariants.ts';

export const placeholderImage = 'lab.local/placeholder:1';
export const stepImage = 'registry.example/step:1';

const epoch = Date.parse('2026-11-30T20:00:00Z');

/** A container status without its name; the image and its ID follow from whose container it is unless given. */
export type Shown = Omit<ContainerStatus, 'name'>;

export function waiting(reason: string, message?: string, more: Partial<Shown> = {}): Shown {
  const state: ContainerState = { waiting: { reason, ...(message === undefined ? {} : { message }) } };
  return { state, image: placeholderImage, imageID: '', restartCount: 0, ...more };
}

/** The placeholder runs, as `P` with the container's own number. */
export function placeholder(id: string, more: Partial<Shown> = {}): Shown {
  return {
    state: { running: {} },
    containerID: id,
    image: placeholderImage,
    imageID: 'sha256:p',
    restartCount: 0,
    ...more,
  };
}

export function placeholderEnded(id: string, exitCode = 0, more: Partial<Shown> = {}): Shown {
  const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', containerID: id, finishedAt: null };
  return placeholder(id, { state: { terminated }, ...more });
}

/** The step's own container runs. */
export function step(id: string, more: Partial<Shown> = {}): Shown {
  const state = { running: { startedAt: '2026-11-30T20:00:10Z' } };
  return { state, containerID: id, image: stepImage, imageID: 'sha256:s', restartCount: 1, ...more };
}

export function stepEnded(id: string, exitCode: number, reason?: string, more: Partial<Shown> = {}): Shown {
  const usual = exitCode === 0 ? 'Completed' : 'Error';
  const terminated = {
    exitCode,
    reason: reason ?? usual,
    containerID: id,
    startedAt: '2026-11-30T20:00:10Z',
    finishedAt: '2026-11-30T20:00:20Z',
  };
  return step(id, { state: { terminated }, ...more });
}

/** What the kubelet invents for a container it cannot find any more. */
export function invented(more: Partial<Shown> = {}): Shown {
  const terminated = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located',
    startedAt: null,
    finishedAt: null,
  };
  return { state: { terminated }, image: stepImage, imageID: '', restartCount: 0, ...more };
}

export interface BuildOptions {
  readonly containers?: readonly string[];
  /** Containers have their step's image from the start. */
  readonly direct?: boolean;
  /** Restart rules on this code, and whether the server kept them. */
  readonly restartOn?: number;
  readonly rulesKept?: boolean;
  readonly grace?: Partial<GracePolicy>;
  readonly look?: () => Promise<boolean>;
  readonly uid?: string;
}

export interface PodChange {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly PodCondition[];
  readonly deleted?: { readonly at: number; readonly grace?: number };
  readonly init?: readonly ContainerStatus[];
  /** Those of `init` that run beside the other containers. */
  readonly sidecars?: readonly string[];
  readonly resourceVersion?: string;
  readonly observedGeneration?: number;
  readonly uid?: string;
  /** No containerStatuses at all. */
  readonly rejected?: boolean;
  readonly images?: Readonly<Record<string, string>>;
}

export class TestBuild {
  readonly clock = new VirtualClock(epoch);
  readonly actors: BuildActors;
  readonly changes: StateChange[] = [];
  readonly invariants: InvariantWatch = watchInvariants();
  readonly #options: BuildOptions;
  readonly #names: readonly string[];
  readonly #images = new Map<string, string>();
  #generation = 1;
  #version = 100;
  #event = 0;

  constructor(options: BuildOptions = {}) {
    this.#options = options;
    this.#names = options.containers ?? ['a', 'b'];
    for (const name of this.#names) this.#images.set(name, options.direct === true ? stepImage : placeholderImage);
    this.actors = new BuildActors({
      id: 'build',
      containers: this.#names.map((name) => ({ name })),
      clock: this.clock,
      inspect: this.invariants.inspect,
      ...(options.grace === undefined ? {} : { grace: options.grace }),
      ...(options.look === undefined ? {} : { look: options.look }),
    });
    this.actors.subscribe((change) => this.changes.push(change));
  }

  /** The usual way in: the pod is created and every container waits on its placeholder. */
  static ready(options: BuildOptions = {}): TestBuild {
    const build = new TestBuild(options);
    build.create();
    const names = options.containers ?? ['a', 'b'];
    if (options.direct === true)
      build.shows(Object.fromEntries(names.map((name) => [name, waiting('ContainerCreating')])));
    else build.shows(Object.fromEntries(names.map((name) => [name, placeholder(`P-${name}`)])), { phase: 'Running' });
    return build;
  }

  create(): void {
    this.actors.assembling();
    this.answerCreate();
  }

  answerCreate(): void {
    const { direct, restartOn } = this.#options;
    this.actors.created(this.pod({}, { resourceVersion: '1' }), {
      placeholderImages: direct === true ? [] : [placeholderImage],
      sigtermCode: restartOn ?? 0,
    });
  }

  /** Asks for the step; from now on the spec has its image. */
  request(name: string, image = stepImage): void {
    this.actors.request(name, image);
    this.#images.set(name, image);
    this.#generation++;
  }

  shows(containers: Readonly<Record<string, Shown>>, change: PodChange = {}): void {
    this.actors.observePod(this.pod(containers, change));
  }

  isGone(containers: Readonly<Record<string, Shown>> = {}, change: PodChange = {}, finalStateKnown = true): void {
    this.actors.observeGone(this.pod(containers, change), finalStateKnown);
  }

  /** A Kubernetes Event about a container; null for the pod itself. */
  says(
    name: string | null,
    reason: string,
    message: string,
    change: Partial<KubeEvent> & { readonly id?: string; readonly creationTimestamp?: string } = {},
  ): void {
    const { id, creationTimestamp, ...rest } = change;
    const uid = id ?? `event-${this.#event++}`;
    this.actors.observeEvent({
      metadata: {
        name: uid,
        namespace: 'n',
        uid,
        resourceVersion: String(this.#version),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      },
      involvedObject: {
        kind: 'Pod',
        name: 'pod',
        uid: this.#uid,
        ...(name === null ? {} : { fieldPath: `spec.containers{${name}}` }),
      },
      reason,
      message,
      count: 1,
      lastTimestamp: this.time(),
      ...rest,
    });
  }

  after(ms: number): void {
    this.clock.advance(ms);
  }

  outcome(name: string): unknown {
    return this.actors.container(name).outcome;
  }

  state(name: string): string {
    return this.actors.container(name).state;
  }

  /** RFC 3339 of the clock, or of `ms` later; whole seconds as Kubernetes writes them. */
  time(ms = 0): string {
    return new Date(Math.floor((this.clock.now() + ms) / 1000) * 1000).toISOString().replace('.000Z', 'Z');
  }

  pod(containers: Readonly<Record<string, Shown>>, change: PodChange = {}): Pod {
    const { deleted, rejected, phase = 'Pending', reason, message, conditions, init, observedGeneration } = change;
    const { sidecars = [] } = change;
    const deletion =
      deleted === undefined
        ? {}
        : { deletionTimestamp: this.time(deleted.at), deletionGracePeriodSeconds: deleted.grace ?? 30 };
    const statuses = Object.entries(containers).map(([name, shown]): ContainerStatus => ({ name, ...shown }));
    const status: PodStatus = {
      phase,
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(conditions === undefined ? {} : { conditions }),
      ...(init === undefined ? {} : { initContainerStatuses: init }),
      ...(observedGeneration === undefined ? {} : { observedGeneration }),
      ...(rejected === true ? {} : { containerStatuses: statuses }),
    };
    return {
      metadata: {
        name: 'pod',
        namespace: 'n',
        uid: change.uid ?? this.#uid,
        resourceVersion: change.resourceVersion ?? String(++this.#version),
        // A deletion raises it too.
        generation: this.#generation + (deleted === undefined ? 0 : 1),
        creationTimestamp: new Date(epoch).toISOString(),
        ...deletion,
      },
      spec: {
        nodeName: 'node',
        restartPolicy: 'Never',
        initContainers: (init ?? []).map(({ name }) => ({
          name,
          image: 'init',
          ...(sidecars.includes(name) ? { restartPolicy: 'Always' } : {}),
        })),
        containers: this.#names.map((name) => ({
          name,
          image: change.images?.[name] ?? this.#images.get(name) ?? '',
          ...this.#rules,
        })),
      },
      status,
    };
  }

  get #uid(): string {
    return this.#options.uid ?? 'uid-1';
  }

  get #rules(): object {
    const { restartOn, rulesKept } = this.#options;
    if (restartOn === undefined || rulesKept === false) return {};
    return { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [restartOn] } }] };
  }
}

export function condition(type: string, status: string, reason?: string, lastTransitionTime?: string): PodCondition {
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }),
  };
}

/** Every init container status of this shape has ended with `code`. */
export function initEnded(name: string, exitCode: number, more: object = {}): ContainerStatus {
  return { name, state: { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', ...more } } };
}
