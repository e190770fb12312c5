/**
 * The container runtime of the node (what containerd is): sandboxes, images and container instances.
 *
 * It outlives the kubelet: a restarted kubelet finds here what still runs. Instances change by themselves; the kubelet
 * learns of it when it reads `list`.
 */
import { assert } from '../../assert.ts';
import { type Clock, sleep } from '../../clock.ts';
import {
  type Backend,
  type ContainerEnd,
  type ExecResult,
  type ImageRecord,
  type NetworkRequest,
  type PullOutcome,
  type RunningContainer,
  StartFailure,
  type VolumeContent,
} from '../backend/backend.ts';
import type { Random } from '../random.ts';
import { texts } from '../texts.ts';
import type { Timings } from '../timings.ts';
import type { Container, PodObject } from '../types.ts';
import { ContainerLog } from './container-log.ts';

/** One try of one container. Fields change until it is exited. */
export interface Instance {
  /** `containerd://` and 64 hex digits */
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  /** What the spec named, by which a change is noticed. */
  readonly image: string;
  readonly imageID: string;
  readonly restartCount: number;
  /** In which it was made. */
  readonly sandbox: Sandbox | undefined;
  readonly log: ContainerLog;
  state: 'created' | 'running' | 'exited';
  readonly createdAt: number;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  exitCode: number;
  reason: string;
  message: string;
}

/** An instance as it was when the kubelet looked. */
export type InstanceView = Readonly<Instance>;

export interface Sandbox {
  /** As it was when the sandbox was made. */
  readonly pod: PodObject;
  readonly ip: string;
  /** False once it was stopped, or died. */
  ready: boolean;
}

export interface RuntimeOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly backend: Backend;
  readonly timings: Timings;
}

/** Of a command that could not be run. */
const notRunningCode = 126;

/** StopContainer never waits less. */
const stopGraceMinMs = 2_000;

export class ContainerRuntime {
  readonly #options: RuntimeOptions;
  /** Newest last. */
  readonly #instances = new Map<string, Instance[]>();
  readonly #running = new Map<string, RunningContainer>();
  readonly #ends = new Map<string, { readonly promise: Promise<void>; readonly resolve: () => void }>();
  readonly #sandboxes = new Map<string, Sandbox>();
  #addresses = 0;
  #lastNs = 0n;

  constructor(options: RuntimeOptions) {
    this.#options = options;
  }

  image(reference: string): ImageRecord | undefined {
    return this.#options.backend.image(reference);
  }

  pull(reference: string, pod: PodObject): Promise<PullOutcome> {
    return this.#options.backend.pull(reference, pod);
  }

  sandbox(uid: string): Sandbox | undefined {
    return this.#sandboxes.get(uid);
  }

  async createSandbox(pod: PodObject): Promise<Sandbox> {
    await this.#pass(this.#options.timings.sandboxMs);
    this.#addresses += 1;
    const sandbox = { pod, ip: `10.88.${(this.#addresses >> 8) & 255}.${this.#addresses & 255}`, ready: true };
    this.#sandboxes.set(pod.metadata.uid, sandbox);
    return sandbox;
  }

  async create(pod: PodObject, container: Container, restartCount: number): Promise<Instance> {
    await this.#pass(this.#options.timings.createMs);
    const { uid } = pod.metadata;
    const instance: Instance = {
      id: `containerd://${this.#options.random.hex(64)}`,
      podUid: uid,
      name: container.name,
      image: container.image,
      imageID: this.image(container.image)?.imageID ?? '',
      restartCount,
      sandbox: this.#sandboxes.get(uid),
      log: new ContainerLog(() => this.#nanoseconds()),
      state: 'created',
      createdAt: this.#options.clock.now(),
      startedAt: undefined,
      finishedAt: undefined,
      exitCode: 0,
      reason: '',
      message: '',
    };
    this.#instances.set(uid, [...(this.#instances.get(uid) ?? []), instance]);
    let resolve: () => void = () => undefined;
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    this.#ends.set(instance.id, { promise, resolve });
    return instance;
  }

  /** Rejects with StartFailure; the instance is exited with 128 then. */
  async start(
    instance: Instance,
    request: {
      readonly pod: PodObject;
      readonly container: Container;
      readonly environment: Readonly<Record<string, string>>;
      readonly volumes: ReadonlyMap<string, VolumeContent>;
    },
  ): Promise<void> {
    await this.#pass(this.#options.timings.startMs);
    instance.startedAt = this.#options.clock.now();
    instance.state = 'running';
    try {
      const running = await this.#options.backend.start({
        ...request,
        image: instance.image,
        output: (line) => instance.log.write(line),
        exited: (end) => this.#exited(instance, end),
      });
      if (this.#isRunning(instance)) this.#running.set(instance.id, running);
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      instance.startedAt = 0;
      this.#exited(instance, { exitCode: 128, reason: 'StartError', message: error.message });
      throw error;
    }
  }

  /** SIGTERM, then SIGKILL after the grace. Resolves when the container has ended. */
  async stop(instance: InstanceView, graceMs: number): Promise<void> {
    const end = this.#ends.get(instance.id);
    const running = this.#running.get(instance.id);
    if (running === undefined || end === undefined) return;
    running.terminate();
    const kill = this.#options.clock.schedule(Math.max(graceMs, stopGraceMinMs), () => running.kill());
    await end.promise;
    kill.cancel();
    await this.#pass(this.#options.timings.stopMs);
  }

  /** From outside, as `ctr task kill` does it. */
  kill(instance: InstanceView): void {
    this.#running.get(instance.id)?.kill();
  }

  /** Runs a command in a container; resolves when it has ended, at the latest when the container does. */
  exec(instance: InstanceView, command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const running = this.#running.get(instance.id);
    if (running !== undefined) return running.exec(command, signal);
    return Promise.resolve({ exitCode: notRunningCode, output: 'cannot exec in a stopped container' });
  }

  /** Asks a container over its network; resolves when it has answered, at the latest when it ends. */
  connect(instance: InstanceView, request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
    const running = this.#running.get(instance.id);
    if (running !== undefined) return running.connect(request, signal);
    return Promise.resolve({ exitCode: notRunningCode, output: texts.networkRefused(request) });
  }

  /** All instances of a pod as they are now, oldest first. */
  list(uid: string): readonly InstanceView[] {
    return (this.#instances.get(uid) ?? []).map((instance) => ({ ...instance }));
  }

  /** Those that have or had a sandbox here. */
  pods(): readonly PodObject[] {
    return [...this.#sandboxes.values()].map(({ pod }) => pod);
  }

  podUids(): readonly string[] {
    return [...new Set([...this.#instances.keys(), ...this.#sandboxes.keys()])];
  }

  find(id: string): InstanceView | undefined {
    for (const instances of this.#instances.values()) {
      const found = instances.find((instance) => instance.id === id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Cleans up dead instances, but for the newest dead one of each container. */
  removeDead(uid: string, kept: 'newest' | 'none'): void {
    const instances = this.#instances.get(uid) ?? [];
    const newestDead = new Map(instances.filter(isExited).map((instance) => [instance.name, instance]));
    const left = instances.filter(
      (instance) => !isExited(instance) || (kept === 'newest' && newestDead.get(instance.name) === instance),
    );
    if (left.length < instances.length) this.#instances.set(uid, left);
  }

  async removePod(uid: string): Promise<void> {
    for (const instance of this.#instances.get(uid) ?? []) {
      assert(instance.state !== 'running', `no container of a removed pod runs: ${instance.name}`);
      this.#ends.delete(instance.id);
    }
    this.#instances.delete(uid);
    this.#sandboxes.delete(uid);
    await this.#options.backend.removePod(uid);
  }

  /** As after a power cut: what ran is lost, with no code of its own. */
  reboot(): void {
    for (const [id, running] of [...this.#running]) {
      const instance = this.#find(id);
      // Before it is killed: what it would say of its end is lost, too.
      if (instance !== undefined) this.#exited(instance, { exitCode: 255, reason: 'Unknown' });
      running.kill();
    }
    for (const sandbox of this.#sandboxes.values()) sandbox.ready = false;
  }

  async dispose(): Promise<void> {
    await this.#options.backend.dispose();
  }

  #exited(instance: Instance, { exitCode, reason, message }: ContainerEnd): void {
    if (instance.state === 'exited') return;
    instance.state = 'exited';
    instance.finishedAt = this.#options.clock.now();
    instance.exitCode = exitCode;
    instance.reason = reason ?? (exitCode === 0 ? 'Completed' : 'Error');
    instance.message = message ?? '';
    instance.log.end();
    this.#running.delete(instance.id);
    this.#ends.get(instance.id)?.resolve();
  }

  /** A container may end before its start has returned. */
  #isRunning(instance: Instance): boolean {
    return instance.state === 'running';
  }

  #find(id: string): Instance | undefined {
    return [...this.#instances.values()].flat().find((instance) => instance.id === id);
  }

  async #pass(span: Timings['createMs']): Promise<void> {
    const ms = this.#options.random.duration(span);
    if (ms > 0) await sleep(this.#options.clock, ms);
  }

  /** Never the same twice: a line's time is its identity for whoever reads again. */
  #nanoseconds(): bigint {
    const now = BigInt(Math.floor(this.#options.clock.now() * 1000)) * 1000n;
    this.#lastNs = now > this.#lastNs ? now : this.#lastNs + 1n;
    return this.#lastNs;
  }
}

function isExited({ state }: Instance): boolean {
  return state === 'exited';
}
