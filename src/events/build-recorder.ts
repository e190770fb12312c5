/**
 * Turns what is seen of one build, and the state changes that follow from it, into events.
 *
 * Each change carries the observation that made it, cut down to its container. Debuggable containers are told by the
 * step's own container instance as the actors know it, so never for a placeholder. Nothing of Node: the page that
 * replays a recording uses the same file.
 */
import type { Outcome, Provenance } from '../../machines/outcome.ts';
import { DebugTracker, type KubeEvent, type Pod } from '../debug/tracker.ts';
import type { DebugChange } from '../debug/types.ts';
import type {
  BuildStateName,
  ContainerStateName,
  EventBody,
  Evidence,
  PlannedContainer,
  PodRef,
  PodStateName,
} from './types.ts';

/** What is told just before the changes that follow from it. Containers go by the pipeline's names. */
export type SeenOfBuild =
  | { readonly what: 'pod'; readonly pod: Pod }
  | { readonly what: 'gone'; readonly pod: Pod }
  | { readonly what: 'kubeEvent'; readonly event: KubeEvent; readonly container: string | null }
  | { readonly what: 'request'; readonly container: string };

export type ActorChange =
  | { readonly actor: 'build'; readonly previous: BuildStateName; readonly state: BuildStateName }
  | { readonly actor: 'pod'; readonly previous: PodStateName; readonly state: PodStateName }
  | {
      readonly actor: 'container';
      readonly container: string;
      readonly previous: ContainerStateName;
      readonly state: ContainerStateName;
      readonly outcome: Outcome | null;
    };

export interface BuildRecorderOptions {
  readonly publish: (body: EventBody) => void;
  readonly id: string;
  readonly name: string;
  /** With the name that each container has in the pod. */
  readonly containers: readonly (PlannedContainer & { readonly containerName: string })[];
  /** The pod's actor as it is now. */
  readonly pod: () => { readonly node: string | null; readonly cause: string | null; readonly message: string | null };
  /** The instance of a container that is the step's own, once it is known. */
  readonly ownContainerID: (containerName: string) => string | null;
}

const ends: ReadonlySet<BuildStateName> = new Set(['succeeded', 'failed', 'canceled', 'errored', 'removed']);

/** Kubernetes Events that a later verdict may point at. */
const eventsKept = 64;

export class BuildRecorder {
  readonly #options: BuildRecorderOptions;
  readonly #debug: DebugTracker;
  readonly #events = new Map<string, KubeEvent>();
  #pod: Pod | null = null;
  /** The build has ended: that its pod is deleted then is its removal, and no trouble. */
  #isOver = false;

  /** Publishes the build's plan. */
  constructor(options: BuildRecorderOptions) {
    this.#options = options;
    this.#debug = new DebugTracker({
      onChange: (change) => options.publish(debugEvent(options.id, change)),
      isOwn: (_, { name, containerID }) =>
        containerID !== undefined &&
        options.containers.some(({ containerName }) => containerName === name) &&
        options.ownContainerID(name) === containerID,
    });
    const containers = options.containers.map(({ name, image, role }) => ({ name, image, role }));
    options.publish({ type: 'build.planned', build: options.id, name: options.name, containers });
  }

  seen(seen: SeenOfBuild): void {
    switch (seen.what) {
      case 'pod':
        this.#pod = seen.pod;
        this.#debug.observe(seen.pod);
        break;
      case 'gone':
        this.#pod = seen.pod;
        this.#debug.gone(seen.pod);
        break;
      case 'kubeEvent':
        this.#kubeEvent(seen.event, seen.container);
        break;
      case 'request':
        this.#options.publish({ type: 'container.requested', build: this.#options.id, container: seen.container });
        break;
    }
  }

  changed(change: ActorChange): void {
    const { publish, id: build } = this.#options;
    switch (change.actor) {
      case 'build':
        this.#isOver ||= ends.has(change.state);
        publish({ type: 'build.changed', build, from: change.previous, to: change.state, message: null });
        break;
      case 'pod': {
        const pod = this.#podRef();
        if (pod === null) break;
        const { node, cause, message } = this.#options.pod();
        const why = this.#isOver && cause === 'podDeleted' ? { cause: null, message: null } : { cause, message };
        publish({ type: 'pod.changed', build, pod, from: change.previous, to: change.state, node, ...why });
        break;
      }
      case 'container':
        this.#container(change);
        // Only now is it known which instance is the step's own.
        if (this.#pod !== null) this.#debug.observe(this.#pod);
        break;
    }
  }

  /** Nothing more is seen: debuggable containers that run are told as ended. */
  close(): void {
    this.#debug.close();
  }

  #container(change: Extract<ActorChange, { actor: 'container' }>): void {
    const planned = this.#options.containers.find(({ name }) => name === change.container);
    const provenance = change.outcome?.provenance ?? null;
    this.#options.publish({
      type: 'container.changed',
      build: this.#options.id,
      container: change.container,
      pod: this.#podRef(),
      from: change.previous,
      to: change.state,
      image: planned?.image ?? '',
      outcome: change.outcome,
      provenance,
      evidence: this.#evidence(planned?.containerName ?? change.container, provenance),
    });
  }

  #kubeEvent(event: KubeEvent, container: string | null): void {
    this.#events.set(event.metadata.uid, event);
    const [oldest] = this.#events.keys();
    if (oldest !== undefined && this.#events.size > eventsKept) this.#events.delete(oldest);
    const pod = this.#podRef();
    if (pod === null) return;
    this.#options.publish({
      type: 'kube.event',
      build: this.#options.id,
      pod,
      container,
      level: event.type === 'Warning' ? 'Warning' : 'Normal',
      reason: event.reason ?? '',
      message: event.message ?? '',
      count: event.series?.count ?? event.count ?? 1,
      component: event.reportingComponent || (event.source?.component ?? ''),
      uid: event.metadata.uid,
    });
  }

  /** The Kubernetes Event that decided, or else what the pod showed of the container at that moment. */
  #evidence(containerName: string, provenance: Provenance | null): Evidence | null {
    const event = provenance?.eventUid === undefined ? undefined : this.#events.get(provenance.eventUid);
    if (event !== undefined) return { kind: 'kubeEvent', object: event };
    if (this.#pod === null) return null;
    const { metadata, status } = this.#pod;
    const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses, ...ofPod } = status ?? {};
    const { uid, resourceVersion, deletionTimestamp } = metadata;
    const about = { uid, resourceVersion, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
    const container = containerStatuses?.find(({ name }) => name === containerName) ?? null;
    return { kind: 'podStatus', object: { metadata: about, container, pod: ofPod } };
  }

  #podRef(): PodRef | null {
    if (this.#pod === null) return null;
    const { namespace, name, uid } = this.#pod.metadata;
    return { namespace, name, uid };
  }
}

/** A debug change as an event; `build` is null for pods that are no build's. */
export function debugEvent(build: string | null, change: DebugChange): EventBody {
  switch (change.kind) {
    case 'started':
      return { type: 'debug.started', build, target: change.target };
    case 'terminated': {
      const { target, cause, exitCode, reason, finishedAt } = change;
      return { type: 'debug.terminated', build, target, cause, exitCode, reason, finishedAt };
    }
    case 'refused': {
      const { namespace, pod, podUid, container, message } = change;
      return { type: 'debug.refused', build, namespace, pod, podUid, container, message };
    }
  }
}
