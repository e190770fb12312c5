/**
 * A pod as the kubelet and the API server would tell of it: its statuses, its frames, its Events, in the order of time.
 *
 * Written from the rules of the kubelet (kubernetes.md §4 and §5) alone; nothing of the product is used.
 */
import type { ContainerState, ContainerStatus, KubeEvent, Pod, PodCondition } from '../../src/pod/types.ts';
import type { RecordingLine } from '../../src/trace/recording.ts';

export const placeholderImageID = 'sha256:placeholder';
const epoch = Date.parse('2026-11-30T20:00:00Z');

export interface PodWriterOptions {
  readonly names: readonly string[];
  /** Whether each container has a rule that starts it again after 213. */
  readonly hasRules: boolean;
  readonly hasGeneration: boolean;
  /** What a placeholder ends with that is asked to stop. */
  readonly sigtermCode: number;
  /** Seconds by which the node's clock is slow. */
  readonly nodeBehind: number;
}

/** Times in seconds. What is changed is told with the next frame. */
export class PodWriter {
  readonly lines: RecordingLine[] = [];
  readonly statuses = new Map<string, ContainerStatus>();
  readonly images = new Map<string, string>();
  generation = 1;
  phase = 'Pending';
  startTime: string | undefined;
  reason: string | undefined;
  initState: ContainerState | undefined;
  deletedAt: number | undefined;
  readonly #options: PodWriterOptions;
  readonly #conditions: PodCondition[] = [];
  /** Of each instance, by its containerID. */
  readonly #startedAt = new Map<string, string>();
  #t = 0;
  #version = 5000;
  #instance = 0;
  #event = 0;

  constructor(options: PodWriterOptions) {
    this.#options = options;
  }

  /** An instance starts, in place of the one before. */
  run(name: string, imageName: string, imageID: string, restartCount: number): void {
    const before = this.statuses.get(name);
    const containerID = `containerd://${name}-${this.#instance++}`;
    this.#startedAt.set(containerID, this.nodeTime());
    const lastState =
      before?.containerID === undefined
        ? {}
        : { lastState: { terminated: this.terminated(before.containerID, this.#options.sigtermCode) } };
    this.set(name, {
      image: imageName,
      imageID,
      containerID,
      restartCount,
      state: { running: { startedAt: this.nodeTime() } },
      ...lastState,
    });
    this.tell(name, 'Started', 'Container started');
  }

  /** The instance of the container ends, and that is told. */
  end(name: string, exitCode: number, reason: string): void {
    const status = this.statuses.get(name);
    if (status === undefined) return;
    const terminated = { ...this.terminated(status.containerID ?? '', exitCode), reason };
    this.set(name, { ...status, state: { terminated } });
    this.frame();
    this.after(1);
  }

  /** Somebody deletes it; `grace` in seconds. */
  delete(grace = 30): void {
    this.deletedAt = this.#t + grace;
    this.generation++;
    this.frame();
  }

  /** All that runs is stopped, or some of it, and the phase follows from the codes. */
  stop(code: number, phase?: string, only?: readonly string[]): void {
    this.after(0.5);
    for (const [name, status] of this.statuses) {
      if (status.state?.running === undefined || only?.includes(name) === false) continue;
      const isOwn = status.imageID !== placeholderImageID;
      this.set(name, {
        ...status,
        state: { terminated: this.terminated(status.containerID ?? '', isOwn ? code : this.#options.sigtermCode) },
      });
    }
    const codes = [...this.statuses.values()].map(({ state }) => state?.terminated?.exitCode ?? 1);
    this.phase = phase ?? (codes.every((exitCode) => exitCode === 0) ? 'Succeeded' : 'Failed');
    this.frame();
    this.after(0.5);
  }

  /** The state of an instance that ends now. */
  terminated(containerID: string, exitCode: number): NonNullable<NonNullable<ContainerStatus['state']>['terminated']> {
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const startedAt = this.#startedAt.get(containerID) ?? this.nodeTime(-1);
    return { exitCode, reason, containerID, startedAt, finishedAt: this.nodeTime() };
  }

  condition(type: string, reason: string, status = 'True', lastTransitionTime = this.#time()): void {
    this.#conditions.push({ type, status, ...(reason === '' ? {} : { reason }), lastTransitionTime });
  }

  set(name: string, status: Omit<ContainerStatus, 'name'>): void {
    this.statuses.set(name, { restartCount: 0, ...status, name });
  }

  after(seconds: number): void {
    this.#t = Math.round((this.#t + seconds) * 1000) / 1000;
  }

  #time(shift = 0): string {
    return new Date(epoch + Math.floor(this.#t + shift) * 1000).toISOString().replace('.000Z', 'Z');
  }

  nodeTime(shift = 0): string {
    return this.#time(shift - this.#options.nodeBehind);
  }

  frame(type: 'ADDED' | 'MODIFIED' | 'DELETED' = 'MODIFIED'): void {
    this.lines.push({ t: this.#t, kind: 'watch', resource: 'pods', type, object: this.shown() });
    this.after(0.01);
  }

  action(method: string, path: string, body: unknown, status: number): void {
    this.lines.push({ t: this.#t, kind: 'action', action: { what: method, method, path, body, status } });
  }

  /** Gives back the Event's uid; with it, the same Event is counted up. */
  tell(name: string, reason: string, message: string, again?: string): string {
    const uid = again ?? `event-${this.#event++}`;
    const object: KubeEvent = {
      metadata: { name: uid, namespace: 'n', uid, resourceVersion: String(++this.#version) },
      involvedObject: { kind: 'Pod', name: 'build', uid: 'pod-uid', fieldPath: `spec.containers{${name}}` },
      reason,
      message,
      type: ['Failed'].includes(reason) ? 'Warning' : 'Normal',
      count: again === undefined ? 1 : 2,
      lastTimestamp: this.nodeTime(),
    };
    const type = again === undefined ? 'ADDED' : 'MODIFIED';
    this.lines.push({ t: this.#t, kind: 'watch', resource: 'events', type, object });
    return uid;
  }

  /** As the API server shows it now, in a new version. */
  shown(): Pod {
    const rules = {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
    };
    const generation = this.#options.hasGeneration ? { generation: this.generation } : {};
    const deletion =
      this.deletedAt === undefined
        ? {}
        : {
            deletionTimestamp: new Date(epoch + Math.floor(this.deletedAt) * 1000).toISOString(),
            deletionGracePeriodSeconds: 30,
          };
    return {
      metadata: {
        name: 'build',
        namespace: 'n',
        uid: 'pod-uid',
        resourceVersion: String(++this.#version),
        creationTimestamp: new Date(epoch).toISOString(),
        ...generation,
        ...deletion,
      },
      spec: {
        restartPolicy: 'Never',
        ...(this.initState === undefined ? {} : { initContainers: [{ name: 'prepare', image: 'init:1' }] }),
        containers: this.#options.names.map((name) => ({
          name,
          image: this.images.get(name) ?? '',
          ...(this.#options.hasRules ? rules : {}),
        })),
      },
      status: {
        phase: this.phase,
        ...(this.startTime === undefined ? {} : { startTime: this.startTime }),
        ...(this.reason === undefined ? {} : { reason: this.reason }),
        conditions: [...this.#conditions],
        ...(this.initState === undefined
          ? {}
          : { initContainerStatuses: [{ name: 'prepare', state: this.initState }] }),
        containerStatuses: [...this.statuses.values()].sort((left, right) => left.name.localeCompare(right.name)),
      },
    };
  }

  note(text: string): void {
    this.lines.push({ t: this.#t, kind: 'note', text });
  }
}
