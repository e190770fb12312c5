/**
 * Tells when a container that can be debugged starts and ends, from looks at its pod.
 *
 * 1. For each container instance (pod uid, container, containerID) `started` is told at most once and `terminated` at
 *    most once, after it; when the tracker is closed every `started` has its `terminated`.
 * 2. What counts is the difference between what is remembered and what the pod shows, never the kind of watch frame:
 *    repeated, skipped and merged looks, relists and late annotations give the same. An instance that took another's
 *    place unseen ends the one before and starts itself.
 * 3. A pod that is gone, or replaced by another of its name, ends what ran in it.
 * 4. What `isOwn` denies is never told: the placeholder of a step.
 *
 * It does not tell of an instance that ran and ended between two looks, nor that a debugger already listens.
 */
import type { ContainerStateTerminated, ContainerStatus, Pod } from '../pod/types.ts';
import { debugAnnotation, type ParsedAnnotation, parseDebugAnnotation } from './annotation.ts';
import type { DebugChange, DebugConfig, DebugEnd, DebugTarget } from './types.ts';

export type { KubeEvent, Pod } from '../pod/types.ts';

/** Instances of a pod, and pods: what crashes in a loop for days must not fill the memory. */
const endedKept = 1000;

export interface DebugTrackerOptions {
  /** Called in the middle of `observe`; must not call the tracker. */
  readonly onChange: (change: DebugChange) => void;
  /** Whether a running container is what its owner wants to debug. Default: yes. */
  readonly isOwn?: (pod: Pod, status: ContainerStatus) => boolean;
}

/** What is remembered of one pod that has the annotation, or had it. */
interface Memory {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The annotation's text of the last look, and what it says. */
  value: string;
  parsed: ParsedAnnotation;
  /** Instances that were told as started and not yet as terminated, by container name. */
  readonly active: Map<string, DebugTarget>;
  /** Ids of instances that have ended: a stale status never starts one again. */
  readonly ended: Set<string>;
  /** Problems that were told, so that each is told once. */
  readonly told: Set<string>;
}

export class DebugTracker {
  readonly #onChange: (change: DebugChange) => void;
  readonly #isOwn: (pod: Pod, status: ContainerStatus) => boolean;
  /** By namespace/name, the way pods are replaced; the uid inside tells one pod from the next. */
  readonly #pods = new Map<string, Memory>();
  /** Uids of pods that are gone, the newest: what is seen of them late starts nothing. */
  readonly #gone = new Set<string>();
  #closed = false;

  constructor(options: DebugTrackerOptions) {
    this.#onChange = options.onChange;
    this.#isOwn = options.isOwn ?? (() => true);
  }

  /** The instances that are told as started and have not ended. */
  get active(): readonly DebugTarget[] {
    return [...this.#pods.values()].flatMap((memory) => [...memory.active.values()]);
  }

  /** A look at the pod, whatever brought it. */
  observe(pod: Pod): void {
    if (this.#closed || this.#gone.has(pod.metadata.uid)) return;
    const memory = this.#remember(pod);
    if (memory === undefined) return;
    const statuses = statusesOf(pod);
    this.#refuseUnknown(memory, pod, statuses);
    for (const status of statuses) this.#compare(memory, pod, status);
    if (hasEnded(pod)) this.#endMissing(memory, statuses);
  }

  /** The pod is gone; `pod` is the last that is known of it. */
  gone(pod: Pod): void {
    if (this.#closed) return;
    const key = keyOf(pod);
    const memory = this.#pods.get(key);
    if (memory === undefined || memory.uid !== pod.metadata.uid) return;
    for (const status of statusesOf(pod)) {
      const target = memory.active.get(status.name);
      const end = target && endOf(status, target);
      if (target && end) this.#terminate(memory, target, 'exited', end);
    }
    this.#bury(key, memory);
  }

  /** Ends what is active, with cause `closed`; later looks are ignored. Idempotent. */
  close(): void {
    if (this.#closed) return;
    for (const memory of this.#pods.values()) {
      for (const target of [...memory.active.values()]) this.#terminate(memory, target, 'closed');
    }
    this.#pods.clear();
    this.#closed = true;
  }

  #remember(pod: Pod): Memory | undefined {
    const key = keyOf(pod);
    const value = pod.metadata.annotations?.[debugAnnotation];
    let memory = this.#pods.get(key);
    if (memory !== undefined && memory.uid !== pod.metadata.uid) {
      this.#bury(key, memory);
      memory = undefined;
    }
    if (memory === undefined && value === undefined) return undefined;
    if (memory === undefined) {
      const { namespace, name, uid } = pod.metadata;
      const parsed = { containers: new Map(), problems: [] };
      memory = { namespace, name, uid, value: '', parsed, active: new Map(), ended: new Set(), told: new Set() };
      this.#pods.set(key, memory);
    }
    if (value !== memory.value) {
      memory.value = value ?? '';
      memory.parsed = value === undefined ? { containers: new Map(), problems: [] } : parseDebugAnnotation(value);
      for (const problem of memory.parsed.problems) this.#refuse(memory, problem.container, problem.message);
    }
    return memory;
  }

  #bury(key: string, memory: Memory): void {
    for (const target of [...memory.active.values()]) this.#terminate(memory, target, 'deleted');
    this.#pods.delete(key);
    keepNewest(this.#gone, memory.uid);
  }

  /** Containers that the annotation names and the pod does not have; ephemeral ones may still come. */
  #refuseUnknown(memory: Memory, pod: Pod, statuses: readonly ContainerStatus[]): void {
    const specs = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
    if (specs.length === 0) return;
    const names = new Set([...specs, ...statuses].map(({ name }) => name));
    for (const container of memory.parsed.containers.keys()) {
      if (names.has(container)) continue;
      this.#refuse(memory, container, `${debugAnnotation}: the pod has no container called ${container}`);
    }
  }

  #refuse(memory: Memory, container: string | null, message: string): void {
    if (memory.told.has(message)) return;
    memory.told.add(message);
    const { namespace, name, uid } = memory;
    this.#onChange({ kind: 'refused', namespace, pod: name, podUid: uid, container, message });
  }

  #compare(memory: Memory, pod: Pod, status: ContainerStatus): void {
    const active = memory.active.get(status.name);
    const isRunning = status.state?.running !== undefined;
    if (active !== undefined && !(isRunning && instanceOf(status) === instanceOf(active))) {
      this.#terminate(memory, active, hasMoved(status, active) ? 'restarted' : 'exited', endOf(status, active));
    }
    if (!isRunning || memory.active.has(status.name)) return;
    const config = memory.parsed.containers.get(status.name);
    if (config === undefined || memory.ended.has(idOf(status.name, status)) || !this.#isOwn(pod, status)) return;
    const target = targetOf(pod, status, config);
    memory.active.set(status.name, target);
    this.#onChange({ kind: 'started', target });
  }

  /** A pod at its end may have lost its statuses (an eviction, a lost node): nothing runs in it. */
  #endMissing(memory: Memory, statuses: readonly ContainerStatus[]): void {
    for (const target of [...memory.active.values()]) {
      if (!statuses.some(({ name }) => name === target.container)) this.#terminate(memory, target, 'exited');
    }
  }

  #terminate(memory: Memory, target: DebugTarget, cause: DebugEnd, end?: ContainerStateTerminated): void {
    memory.active.delete(target.container);
    keepNewest(memory.ended, idOf(target.container, target));
    this.#onChange({
      kind: 'terminated',
      target,
      cause,
      exitCode: end?.exitCode ?? null,
      reason: end?.reason ?? null,
      finishedAt: end?.finishedAt ?? null,
    });
  }
}

function keepNewest(ids: Set<string>, id: string): void {
  ids.add(id);
  const [oldest] = ids;
  if (oldest !== undefined && ids.size > endedKept) ids.delete(oldest);
}

function keyOf(pod: Pod): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`;
}

function statusesOf(pod: Pod): readonly ContainerStatus[] {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status ?? {};
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses];
}

function hasEnded(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

interface Instance {
  readonly containerID?: string | null;
  readonly restartCount?: number;
}

/** What tells one instance of a container from the next. */
function instanceOf({ containerID, restartCount = 0 }: Instance): string {
  return containerID ?? `#${restartCount}`;
}

function idOf(container: string, instance: Instance): string {
  return `${container}/${instanceOf(instance)}`;
}

/** How the instance ended, if the status tells of that very instance. */
function endOf(status: ContainerStatus, target: DebugTarget): ContainerStateTerminated | undefined {
  for (const end of [status.state?.terminated, status.lastState?.terminated]) {
    if (end === undefined) continue;
    if (target.containerID === null || end.containerID === undefined) {
      if (end === status.state?.terminated && (status.restartCount ?? 0) === target.restartCount) return end;
    } else if (end.containerID === target.containerID) return end;
  }
  return undefined;
}

/** Whether the status is of a later instance than the target. */
function hasMoved({ state, ...instance }: ContainerStatus, target: DebugTarget): boolean {
  return state?.waiting === undefined && state !== undefined && instanceOf(instance) !== instanceOf(target);
}

function targetOf(pod: Pod, status: ContainerStatus, config: DebugConfig): DebugTarget {
  const image = status.image ?? '';
  return {
    namespace: pod.metadata.namespace,
    pod: pod.metadata.name,
    podUid: pod.metadata.uid,
    container: status.name,
    containerID: status.containerID ?? null,
    restartCount: status.restartCount ?? 0,
    node: pod.spec?.nodeName ?? null,
    artifact: config.artifact === '' ? (specImage(pod, status.name) ?? image) : config.artifact,
    image,
    imageID: status.imageID ?? '',
    runtime: config.runtime,
    workingDir: config.workingDir,
    debugPorts: config.ports,
    startedAt: status.state?.running?.startedAt ?? null,
  };
}

function specImage(pod: Pod, container: string): string | undefined {
  const specs = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return specs.find(({ name }) => name === container)?.image;
}
