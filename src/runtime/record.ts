/**
 * One build as the runtime keeps it: its spec until it is assembled, its actors, what was last seen of its pod, and
 * what is under way for it. Verbs read and move it; it sends no request itself except to look at its own pod.
 *
 * Invariants: `uid` is set exactly from the create's answer on and never changes while the pod is the build's; what is
 * seen of the pod's name before that is kept and told to the actors afterwards; objects of another uid are never told.
 */
import type { Outcome, Phase } from '../../machines/outcome.ts';
import type { Clock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { Delta } from '../kube/informer.ts';
import type { Logger } from '../logger.ts';
import type { AttachmentName } from '../pod/attachments.ts';
import type { BuildSpec, PhaseTimeouts } from '../pod/build-spec.ts';
import { defaultTimeouts } from '../pod/build-spec.ts';
import { countOf } from '../pod/observe-event.ts';
import { isNewer } from '../pod/observe-pod.ts';
import type { BuildPlan, PlannedContainer } from '../pod/plan.ts';
import type { StartStrategy } from '../pod/start-strategy.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import { BuildActors, type BuildActorsOptions, type StartFacts, type StateChange } from './actors.ts';
import type { Build, BuildView, ContainerView, RemovalReport, RuntimeHealth, Seen } from './contract.ts';
import { Journal } from './journal.ts';
import { PhaseLimits } from './limits.ts';
import { Waiters } from './waiters.ts';
import type { PodListener } from './watches.ts';

export interface RecordOptions {
  readonly plan: BuildPlan;
  readonly strategy: StartStrategy;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly actors: Pick<BuildActorsOptions, 'grace' | 'inspect'>;
  readonly onChange: (build: Build, change: StateChange) => void;
  readonly onSeen: (build: Build, seen: Seen) => void;
  /** A fresh look at the pod, for decisions that stale data must not make. */
  readonly look: (record: BuildRecord) => Promise<unknown>;
  /** The same for a verdict by time, with its cause. Gives false when the pod could not be read. */
  readonly lookForVerdict: (record: BuildRecord) => Promise<boolean>;
}

/** Where the build is in its order of verbs; what its pod does is the actors' to say. */
export type Stage = 'setup' | 'assembling' | 'assembled' | 'removing' | 'removed';

/** More than a pod gets before its create is answered. */
const earlyLimit = 256;

export class BuildRecord implements PodListener {
  readonly handle: Build;
  readonly strategy: StartStrategy;
  readonly journal = new Journal();
  readonly waiters = new Waiters();
  stage: Stage = 'setup';
  /** The one run of each, which later calls share. */
  assembly: Promise<void> | undefined;
  removal: Promise<RemovalReport> | undefined;
  readonly openings = new Map<string, Promise<void>>();
  /** Containers whose step was asked for on the cluster, by this worker or an earlier one. */
  readonly asked = new Set<string>();
  /** The last of the pod that was seen; undefined before, and after it is gone. */
  pod: Pod | undefined;
  uid: string | undefined;
  gone = false;
  assemblyFailure: { readonly error: unknown } | undefined;
  /** The last attempt to create the pod: one of ours may exist although none was seen. */
  createSent: { readonly assembly: string } | undefined;
  /** What was created for the pod and is not owned by it: it would stay. */
  unowned: readonly AttachmentName[] = [];
  retriesPulls: boolean | null = null;
  canceled: { readonly reason: 'caller' | 'timeout' } | undefined;

  readonly #options: RecordOptions;
  readonly #ending = new AbortController();
  #plan: BuildPlan;
  #actors: BuildActors;
  #limits: PhaseLimits;
  #endSubscription: () => void = () => undefined;
  #early: (() => void)[] = [];
  #isTelling = false;
  /** By uid, the count that was last told: an Event may come by the watch, by a look and by an adoption. */
  readonly #eventCounts = new Map<string, number>();
  #cleanups: (() => void)[] = [];

  constructor(options: RecordOptions) {
    this.#options = options;
    this.strategy = options.strategy;
    this.#plan = options.plan;
    const { spec, namespace, podName } = options.plan;
    this.handle = Object.freeze({ id: spec.id, namespace, podName });
    this.#limits = this.#newLimits();
    this.#actors = this.#newActors();
  }

  get plan(): BuildPlan {
    return this.#plan;
  }

  get spec(): BuildSpec {
    return this.#plan.spec;
  }

  get actors(): BuildActors {
    return this.#actors;
  }

  /** Aborts once the whole build is canceled. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  get timeouts(): Required<PhaseTimeouts> {
    return { ...defaultTimeouts, ...this.spec.timeouts };
  }

  /** Replaces the plan before the build is assembled. Nobody waits for a container of it yet. */
  amend(plan: BuildPlan): void {
    if (this.stage !== 'setup') throw this.wrongStage('changed');
    this.#plan = plan;
    this.renew();
  }

  /** New actors, as if nothing had happened yet: for another pod of the same build. */
  renew(): void {
    this.#release();
    this.pod = undefined;
    this.uid = undefined;
    this.gone = false;
    this.#early = [];
    this.#limits = this.#newLimits();
    this.#actors = this.#newActors();
    if (this.canceled !== undefined) this.#actors.cancel(this.canceled.reason);
  }

  /** Throws `ERR_PODWRIGHT_USAGE` for a name the build does not have. */
  container(name: string): PlannedContainer {
    const found = this.#plan.containers.find((container) => container.name === name);
    if (found !== undefined) return found;
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `The build "${this.handle.id}" has no container "${name}"`, {
      remedy: `It has: ${this.#plan.containers.map((container) => container.name).join(', ')}.`,
      details: { build: this.handle.id, container: name },
    });
  }

  outcome(container: PlannedContainer): Outcome | null {
    return this.#actors.container(container.containerName).outcome;
  }

  /** True once its own instance is ready, false once it has its verdict; undefined before. */
  readiness({ containerName }: PlannedContainer): boolean | undefined {
    const { outcome, containerID } = this.#actors.container(containerName);
    if (outcome === null) return undefined;
    if (outcome.outcome !== 'running') return false;
    const status = this.pod?.status?.containerStatuses?.find(({ name }) => name === containerName);
    return status?.ready === true && status.containerID === containerID ? true : undefined;
  }

  /** The pod is created: what was seen before is told now. */
  created(pod: Pod, facts: StartFacts): void {
    this.uid = pod.metadata.uid;
    this.pod = pod;
    this.#seen({ what: 'pod', pod });
    this.retriesPulls = facts.retries ?? false;
    this.#tell(() => this.#actors.created(pod, facts));
    const early = this.#early;
    this.#early = [];
    for (const tell of early) tell();
  }

  onPod(delta: Delta<Pod>): void {
    if (this.uid === undefined) {
      this.#keepEarly(() => this.onPod(delta));
      return;
    }
    if (delta.object.metadata.uid !== this.uid) return;
    if (delta.kind === 'deleted') this.observeGone(delta.object, delta.finalStateKnown);
    else this.observe(delta.object);
  }

  onEvent(event: KubeEvent): void {
    const { uid, fieldPath } = event.involvedObject;
    if (this.uid === undefined) {
      this.#keepEarly(() => this.onEvent(event));
      return;
    }
    // The node controller's Events about a pod carry no uid (kubernetes.md §0.1).
    if (uid !== undefined && uid !== '' && uid !== this.uid) return;
    const count = countOf(event);
    if (count <= (this.#eventCounts.get(event.metadata.uid) ?? 0)) return;
    this.#eventCounts.set(event.metadata.uid, count);
    const container = this.#nameInPipeline(containerOfFieldPath(fieldPath));
    this.journal.add({
      kind: 'kubeEvent',
      at: this.#options.clock.now(),
      reason: event.reason ?? '',
      message: event.message ?? '',
      type: event.type ?? '',
      container,
    });
    this.#seen({ what: 'kubeEvent', event, container });
    this.#tell(() => this.#actors.observeEvent(event));
  }

  onHealth(health: RuntimeHealth): void {
    this.journal.add({ kind: 'health', at: this.#options.clock.now(), health });
    this.waiters.check();
  }

  /** What is not newer than the last one tells nothing: answers to requests and frames of the watch overtake each other. */
  observe(pod: Pod): void {
    if (this.gone) return;
    if (this.pod !== undefined && !isNewer(pod.metadata.resourceVersion, this.pod.metadata.resourceVersion)) return;
    this.pod = pod;
    this.#seen({ what: 'pod', pod });
    this.#tell(() => this.#actors.observePod(pod));
  }

  observeGone(pod: Pod, finalStateKnown: boolean): void {
    if (this.gone) return;
    this.gone = true;
    this.pod = pod;
    this.#seen({ what: 'gone', pod });
    this.#tell(() => this.#actors.observeGone(pod, finalStateKnown));
  }

  /** Cancels what has no verdict: the whole build, or one container of it. */
  cancel(reason: 'caller' | 'timeout', phase?: Phase, container?: PlannedContainer): void {
    if (container === undefined) this.canceled ??= { reason };
    const phaseNow = this.#actors.pod.node === null ? 'schedule' : undefined;
    this.#actors.cancel(reason, phase ?? phaseNow, container?.containerName);
    this.waiters.check();
    if (container === undefined) this.#ending.abort();
  }

  /** The step is asked for: its limits begin. */
  requested(container: PlannedContainer): void {
    this.#seen({ what: 'request', container: container.name });
    this.#actors.request(container.containerName, container.request.image);
    this.#limits.requested(container);
    this.waiters.check();
  }

  /** The step was asked for by an earlier worker: only what is left to come is limited. */
  requestedEarlier(container: PlannedContainer): void {
    this.#seen({ what: 'request', container: container.name });
    this.openings.set(container.containerName, Promise.resolve());
    this.asked.add(container.containerName);
    this.#limits.requested(container);
    const { state } = this.#actors.container(container.containerName);
    this.#limits.changed(container, state);
  }

  /** Runs `cleanup` once, when the build is removed or the runtime closes. */
  onRelease(cleanup: () => void): void {
    this.#cleanups.push(cleanup);
  }

  /** The build is over: its stream ends, its actors keep their last snapshots. */
  removed(): void {
    this.stage = 'removed';
    this.#actors.removed();
    this.journal.end();
    this.dispose(stopped(this.handle, 'was removed'));
  }

  /** Everything that waits is rejected with `error`; nothing is left. */
  dispose(error: PodwrightError): void {
    this.waiters.close(error);
    this.journal.end();
    this.#release();
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }

  view(): BuildView {
    const { pod, state } = this.#actors;
    const { uid, node, cause, message } = pod;
    return {
      build: this.handle,
      state,
      pod: { state: pod.state, uid, node, cause, message, retriesPulls: this.retriesPulls },
      containers: this.#plan.containers.map((container) => this.containerView(container)),
      limits: this.strategy.limits(this.spec),
      story: this.journal.story(),
    };
  }

  containerView({ name, containerName, request }: PlannedContainer): ContainerView {
    const { state, outcome, containerID } = this.#actors.container(containerName);
    return { name, containerName, image: request.image, role: request.role, state, containerID, outcome };
  }

  wrongStage(what: string): PodwrightError {
    return new PodwrightError(
      'ERR_PODWRIGHT_STATE',
      `The build "${this.handle.id}" cannot be ${what}: it is ${stageWords[this.stage]}`,
      {
        remedy: 'The order is setupBuild, assembleBuild, runContainer and waitContainer, removeBuild.',
        details: { build: this.handle.id, stage: this.stage },
      },
    );
  }

  #seen(seen: Seen): void {
    this.#options.onSeen(this.handle, seen);
  }

  #newLimits(): PhaseLimits {
    const { clock, look } = this.#options;
    return new PhaseLimits({
      clock,
      timeouts: (container) => ({ ...this.timeouts, ...container.request.timeouts }),
      state: (container) => this.#actors.container(container.containerName).state,
      look: () => look(this),
      cancel: (container, phase) => this.cancel('timeout', phase, container),
    });
  }

  #newActors(): BuildActors {
    const { clock, actors: options, lookForVerdict } = this.#options;
    const actors = new BuildActors({
      id: this.handle.id,
      containers: this.#plan.containers.map(({ containerName }) => ({ name: containerName })),
      clock,
      look: () => lookForVerdict(this),
      ...options,
    });
    this.#endSubscription = actors.subscribe((change) => this.#onChange(change));
    return actors;
  }

  /** Waits are judged only when all actors have learned of it: before, some still show what was. */
  #tell(observation: () => void): void {
    this.#isTelling = true;
    try {
      observation();
    } finally {
      this.#isTelling = false;
    }
    this.waiters.check();
  }

  #onChange(change: StateChange): void {
    const told: StateChange =
      change.actor === 'container'
        ? { ...change, container: this.#nameInPipeline(change.container) ?? change.container }
        : change;
    this.journal.add({ kind: 'state', at: change.at, change: told });
    if (change.actor === 'container') {
      const container = this.#plan.containers.find(({ containerName }) => containerName === change.container);
      if (container !== undefined) this.#limits.changed(container, change.state);
    }
    this.#options.onChange(this.handle, told);
    if (!this.#isTelling) this.waiters.check();
  }

  #nameInPipeline(containerName: string | undefined): string | null {
    if (containerName === undefined) return null;
    return this.#plan.containers.find((container) => container.containerName === containerName)?.name ?? containerName;
  }

  #keepEarly(tell: () => void): void {
    this.#early.push(tell);
    if (this.#early.length > earlyLimit) this.#early.shift();
  }

  #release(): void {
    this.#limits.close();
    this.#actors.close();
    this.#endSubscription();
  }
}

export function stopped(build: Build, why: string, cause?: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_STOPPED', `The build "${build.id}" ${why}`, {
    cause,
    details: { build: build.id, pod: build.podName, namespace: build.namespace },
  });
}

const stageWords: Readonly<Record<Stage, string>> = {
  setup: 'not assembled yet',
  assembling: 'being assembled',
  assembled: 'assembled already',
  removing: 'being removed',
  removed: 'removed',
};

/** `spec.containers{name}` */
function containerOfFieldPath(fieldPath: string | undefined): string | undefined {
  return /\{([^}]+)\}$/.exec(fieldPath ?? '')?.[1];
}
