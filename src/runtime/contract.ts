/**
 * The contract of the runtime: every verb, what it waits for, what it gives, what it throws.
 *
 * Guaranteed for every verb:
 * 1. The ending of a container is a value; only a failure of the runtime or a mistake of the caller is an error, always
 *    a `PodwrightError` with a stable code.
 * 2. Nothing waits for ever: after a cancel, a time limit, the loss of the pod or `close()` every pending call ends.
 * 3. A verdict is given once. Whoever asks later gets the same one.
 * 4. Verbs may be called concurrently and again; where an order matters, the wrong order is `ERR_PODWRIGHT_STATE`.
 *
 * Not guaranteed: that a container that was canceled does not run for a moment more (the cluster may be in the middle
 * of starting it), and any order between the states of two containers.
 *
 * The way through it: `setupBuild` → `assembleBuild` → for each step `runContainer`, `tailContainer`,
 * `waitContainer` → `removeBuild`.
 */
import type { Outcome, Phase, SettledOutcome } from '../../machines/outcome.ts';
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { WatchHealth } from '../kube/informer.ts';
import type { Logger } from '../logger.ts';
import type { LogLine, LogPosition } from '../logs/follow.ts';
import type { BuildSpec, ContainerSpecRequest, VolumeRequest } from '../pod/build-spec.ts';
import type { PlaceholderOption } from '../pod/start-strategy.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import type { GracePolicy, InspectionHandler, StateChange } from './actors.ts';

export interface RuntimeOptions {
  /** An own client; it is then the caller's to close. Otherwise one is made from the three options below. */
  readonly client?: KubeClient;
  /** Path of a kubeconfig file; without it, the usual places, then the service account of the pod it runs in. */
  readonly kubeConfig?: string;
  readonly context?: string;
  readonly userAgent?: string;
  readonly namespace: string;
  /**
   * Whose builds these are: a name that the same worker has again after a restart and no other worker has. Only builds
   * of the own owner are seen, adopted or removed. Default: a name of chance, so that nothing can be adopted later.
   */
  readonly owner?: string;
  /** What containers run until their step is asked for. */
  readonly placeholder?: PlaceholderOption;
  /** Host folders that `hostPath` volumes may use, with everything below them. None by default. */
  readonly hostPaths?: readonly string[];
  /** Images that may run privileged, as `registry/repository` or with a tag; `*` stands for anything but `/`. */
  readonly privilegedImages?: readonly string[];
  readonly grace?: Partial<GracePolicy>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Gets xstate's inspection events of every actor; Stately's inspector fits here. */
  readonly inspect?: InspectionHandler;
  /** What is written to the cluster is checked against the own rights at start. Default true. */
  readonly checkAccess?: boolean;
}

/** One build, as a name for it: immutable, the same object for as long as the runtime knows the build. */
export interface Build {
  readonly id: string;
  readonly namespace: string;
  /** Decided by owner and id alone, so that a create whose answer was lost is found again. */
  readonly podName: string;
}

export interface SignalOption {
  readonly signal?: AbortSignal;
}

export interface AssembleOptions extends SignalOption {
  /** How often a pod that was rejected, or lost before anything ran, is made again. Default 0. */
  readonly retries?: number;
}

export interface RemoveOptions extends SignalOption {
  /** Seconds the containers get to end; default that of the pod. */
  readonly gracePeriodSeconds?: number;
}

/** What `removeBuild` did. `gone: false` always comes with what is left. */
export interface RemovalReport {
  readonly gone: boolean;
  /** Whether the grace was not enough and the pod was deleted with grace 0. */
  readonly forced: boolean;
  /** For a person: each thing that is still on the cluster, and why. */
  readonly remaining: readonly string[];
}

export interface TailOptions extends SignalOption {
  /** Continue after this position, as a line carried it. */
  readonly from?: LogPosition;
}

/** Where a build is, for a person or a page. A moment's copy; nothing in it changes later. */
export interface BuildView {
  readonly build: Build;
  readonly state: string;
  readonly pod: {
    readonly state: string;
    readonly uid: string | null;
    readonly node: string | null;
    /** Why the pod ended as a whole, when it did. */
    readonly cause: string | null;
    readonly message: string | null;
    /** Whether the server kept the restart rules, so that the kubelet retries a failed pull. Null before the create. */
    readonly retriesPulls: boolean | null;
  };
  readonly containers: readonly ContainerView[];
  /** What the way in which steps are started cannot do for this build, one sentence each. */
  readonly limits: readonly string[];
  /** The last transitions and Kubernetes Events, oldest first: what a time-out's message tells. */
  readonly story: readonly string[];
}

export interface ContainerView {
  readonly name: string;
  /** Its name in the pod. */
  readonly containerName: string;
  readonly image: string;
  readonly role: 'step' | 'service';
  readonly state: string;
  /** Of the step's own container, once it is known; never of its placeholder. */
  readonly containerID: string | null;
  readonly outcome: Outcome | null;
}

/** One item of a build's own stream. */
export type BuildStreamItem =
  | { readonly kind: 'state'; readonly sequence: number; readonly at: number; readonly change: StateChange }
  | {
      readonly kind: 'kubeEvent';
      readonly sequence: number;
      readonly at: number;
      readonly reason: string;
      readonly message: string;
      readonly type: string;
      /** The pipeline's name, when the Event is about one container. */
      readonly container: string | null;
    }
  | { readonly kind: 'health'; readonly sequence: number; readonly at: number; readonly health: RuntimeHealth }
  | { readonly kind: 'lost'; readonly sequence: number; readonly count: number };

export interface StreamOptions extends SignalOption {
  /** Items after this sequence number; default 0, all that is kept. */
  readonly after?: number;
}

export interface RuntimeHealth {
  readonly pods: WatchHealth;
  /** `degraded` when the Events may not be read: verdicts stay right, causes and pull progress are poorer. */
  readonly events: WatchHealth;
}

/** A build pod of another owner. */
export interface Orphan {
  readonly podName: string;
  readonly uid: string;
  readonly buildId: string;
  readonly owner: string;
  /** Of the pod. */
  readonly phase: string | null;
  /** RFC 3339, the server's clock. */
  readonly createdAt: string | null;
}

export interface OrphanOptions extends SignalOption {
  /** Owners that live, besides the own one: their pods are none. */
  readonly livingOwners?: readonly string[];
  /** Only pods of at least this age. */
  readonly minAgeMs?: number;
}

export interface Runtime {
  readonly namespace: string;
  readonly owner: string;
  readonly health: RuntimeHealth;

  /**
   * Checks the spec whole (names, images, allow-lists) and takes the build up. Sends nothing to the cluster.
   * Aborting `signal`, now or at any later time, cancels the build as `cancelBuild` does.
   * Throws `ERR_PODWRIGHT_USAGE` or `ERR_PODWRIGHT_IMAGE_REFERENCE` for a spec that cannot run, with all its faults;
   * `ERR_PODWRIGHT_CONFLICT` when a build of this id is known and not removed.
   */
  setupBuild(spec: BuildSpec, options?: SignalOption): Promise<Build>;
  /** Adds a container to a build that is not assembled yet. Throws as `setupBuild`, or `ERR_PODWRIGHT_STATE`. */
  setupContainer(build: Build, container: ContainerSpecRequest): Promise<void>;
  /** Adds a volume before the build is assembled. Throws as `setupContainer`. */
  createVolume(build: Build, volume: VolumeRequest): Promise<void>;
  /** Takes a volume back before the build is assembled; afterwards volumes go with the pod. */
  removeVolume(build: Build, name: string): Promise<void>;
  /** Adds names that resolve inside the build, before it is assembled. */
  createNetwork(build: Build, hostnames: readonly string[]): Promise<void>;

  /**
   * Creates the pod (and before it the Secret, if there are secrets) and waits until every container waits for its
   * step. A second call, also a concurrent one, gives the first one's result.
   * Throws `ERR_PODWRIGHT_TIMEOUT` (details.phase `schedule` or `start`) with the story so far, `ERR_PODWRIGHT_STOPPED`
   * when the build was canceled, `ERR_PODWRIGHT_POD_INVALID`, `ERR_PODWRIGHT_FORBIDDEN`, `ERR_PODWRIGHT_CONFLICT` (a
   * foreign pod has the name) as the server said, and `ERR_PODWRIGHT_POD_LOST` when the pod ended before it started;
   * details.retriable tells whether nothing of the build has run.
   */
  assembleBuild(build: Build, options?: AssembleOptions): Promise<void>;
  /**
   * The build's state changes, the Events of its pod and the watch health, in order, from the first one that is still
   * kept; what was dropped is told by an item `lost`. Ends when the build is removed. Aborting `signal` ends it.
   */
  streamBuild(build: Build, options?: StreamOptions): AsyncIterable<BuildStreamItem>;
  /** Never waits. Works until the runtime is closed, also for removed builds. */
  inspectBuild(build: Build): BuildView;
  /** Every container without a verdict becomes canceled; later calls give that. The pod stays until `removeBuild`. */
  cancelBuild(build: Build, reason?: 'caller' | 'timeout', phase?: Phase): void;
  /**
   * The caller's own judgement of the whole build: the runtime knows containers, not what a failed one means. The first
   * one stands. Containers and pod stay as they are.
   */
  concludeBuild(build: Build, result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void;
  /**
   * Cancels what has no verdict, deletes the pod (its uid given, so never a later one of the same name), waits until
   * it is gone, and forces it when its time is over. Idempotent; right in every state, also while the create is under
   * way. Does not throw for what stays: the report tells. Aborting `signal` ends the call with
   * `ERR_PODWRIGHT_STOPPED`, and the removal goes on.
   */
  removeBuild(build: Build, options?: RemoveOptions): Promise<RemovalReport>;

  /**
   * Asks for the step and waits until it is launched: it runs, it has ended, its image cannot be had, or it was
   * canceled. At most one request per container, whatever the number of calls; a container without a running
   * placeholder is not switched. Aborting `signal` cancels the container for good and gives `canceled`.
   * Throws `ERR_PODWRIGHT_STATE` before `assembleBuild` or after `removeBuild` unless there is a verdict, and an API
   * error when the request was refused.
   */
  runContainer(build: Build, name: string, options?: SignalOption): Promise<Outcome>;
  /**
   * Waits for the verdict; does not ask for the step. Aborting `signal` cancels the container for good.
   * Throws `ERR_PODWRIGHT_STATE` before `assembleBuild`.
   */
  waitContainer(build: Build, name: string, options?: SignalOption): Promise<SettledOutcome>;
  /**
   * Waits until the container that runs is ready, as its `readiness` says; one without is ready when it runs. Gives
   * false when it has its verdict first. Aborting `signal` ends the wait, with its reason, and nothing else.
   */
  readyContainer(build: Build, name: string, options?: SignalOption): Promise<boolean>;
  /** Never waits. */
  inspectContainer(build: Build, name: string): ContainerView;
  /**
   * The log of the step (never of its placeholder), complete and in order, each line once, from the first line or
   * after `from` until the step has ended, or as far as it had come when it was canceled. Waits for the step to be
   * launched; a step that never ran has no lines. A loss is an item `gap`. Aborting `signal` ends it without an error and does not cancel the container.
   */
  tailContainer(build: Build, name: string, options?: TailOptions): AsyncIterable<LogLine>;
  /**
   * Cancels this container. One that was not asked for never runs; one that runs goes with the pod, because Kubernetes
   * removes no single container.
   */
  removeContainer(build: Build, name: string): Promise<void>;

  /** The builds of this owner that the cluster still has and this runtime does not know yet, in their right state. */
  adopt(options?: SignalOption): Promise<readonly Build[]>;
  /** Build pods in the namespace of other owners than the own one and those the caller knows to live. */
  listOrphans(options?: OrphanOptions): Promise<readonly Orphan[]>;
  removeOrphan(orphan: Orphan, options?: RemoveOptions): Promise<RemovalReport>;

  /** Every state change of every build, and of the watches' health. Gives back how to end it. */
  subscribe(listener: (item: RuntimeChange) => void): () => void;
  /**
   * Ends both watches and every pending call (`ERR_PODWRIGHT_STOPPED`). Pods stay as they are: remove the builds
   * before, or adopt them later. No handle, timer or actor is left.
   */
  close(): Promise<void>;
}

export type RuntimeChange =
  | { readonly kind: 'state'; readonly build: Build; readonly change: StateChange }
  /** What was seen of the build, told just before the state changes that follow from it. */
  | { readonly kind: 'seen'; readonly build: Build; readonly seen: Seen }
  | { readonly kind: 'health'; readonly health: RuntimeHealth };

/** The raw material of the verdicts. Objects are the cache's own: not to be changed. */
export type Seen =
  | { readonly what: 'pod'; readonly pod: Pod }
  | { readonly what: 'gone'; readonly pod: Pod }
  | { readonly what: 'kubeEvent'; readonly event: KubeEvent; readonly container: string | null }
  /** The step is asked for. */
  | { readonly what: 'request'; readonly container: string };
