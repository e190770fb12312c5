/**
 * One pod on the node: a serial loop of syncs (kubernetes.md §10.3).
 *
 * A status is made only at the start of a sync; kills, pulls and starts run inside it, and nothing interrupts them, not
 * even the pod's deletion. Updates that come meanwhile are merged: the latest wins, an end is never forgotten.
 */
import type { Clock } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import { texts } from '../texts.ts';
import type { Timings } from '../timings.ts';
import type { Container, PodObject, PodStatus } from '../types.ts';
import { computeActions } from './actions.ts';
import type { PodEvent } from './event-recorder.ts';
import { endedStatus, type PodVerdict } from './outcome.ts';
import { isTerminal } from './phase.ts';
import type { Relist } from './relist.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';
import { type StarterOptions, startContainer } from './start.ts';
import { generateStatus } from './status.ts';
import type { StartError } from './status-input.ts';
import type { StatusManager } from './status-manager.ts';

export interface WorkerOptions {
  readonly pod: PodObject;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly timings: Timings;
  readonly logger: Logger;
  readonly runtime: ContainerRuntime;
  readonly relist: Relist;
  readonly statuses: StatusManager;
  readonly starter: StarterOptions;
  readonly hostIP: string;
  readonly tellsUser: boolean;
  readonly record: (event: PodEvent) => void;
  /** Wakes the worker at the first tick of the node that comes `delayMs` from now or later. */
  readonly wakeAfter: (delayMs: number) => void;
  /** Nothing of the pod is left on the node. */
  readonly onFinished: () => void;
}

/** Seen in 3 of 195 recorded deletions; often enough to be met. */
const addressLostChance = 0.05;

type Stage = 'syncing' | 'terminating' | 'terminated' | 'finished';

export class PodWorker {
  readonly #options: WorkerOptions;
  /** As it was first seen: its version stands in every Event. */
  readonly #first: PodObject;
  #pod: PodObject;
  #stage: Stage = 'syncing';
  #gone = false;
  #verdict: PodVerdict | undefined;
  #verdictGraceMs: number | undefined;
  #overDeadline = false;
  #pending = false;
  #stopped = false;
  #wake: (() => void) | undefined;
  #lastSyncEnd: number | undefined;
  #startTime: number;
  readonly #startErrors = new Map<string, StartError>();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#first = options.pod;
    this.#pod = options.pod;
    const { startTime } = options.pod.status;
    this.#startTime = startTime === undefined ? options.clock.now() : Date.parse(startTime);
  }

  get pod(): PodObject {
    return this.#pod;
  }

  /** Until its termination is complete the pod may have running containers. */
  get mayRun(): boolean {
    return this.#stage === 'syncing' || this.#stage === 'terminating';
  }

  get isEvicted(): boolean {
    return this.#verdict?.reason === 'Evicted';
  }

  /** Looked at with every tick, and with every sync. */
  get isOverDeadline(): boolean {
    const seconds = this.#pod.spec.activeDeadlineSeconds;
    if (seconds === undefined || this.#stage !== 'syncing') return false;
    return this.#options.clock.now() - this.#startTime >= seconds * 1000;
  }

  start(): void {
    void this.#run();
    this.wake();
  }

  update(pod: PodObject): void {
    this.#pod = pod;
    if (this.#stage === 'finished') this.#options.statuses.nudge(pod.metadata.uid);
    else this.wake();
  }

  /** The object is gone from the API server; what runs of it is to end. */
  removed(pod: PodObject): void {
    this.#pod = pod;
    this.#gone = true;
    if (this.#stage === 'finished') this.#options.onFinished();
    else this.wake();
  }

  /** Ends the whole pod as Failed with this verdict. The first one stands. */
  end(verdict: PodVerdict, graceMs: number | undefined): void {
    if (this.#verdict !== undefined || !this.mayRun) return;
    this.#verdict = verdict;
    this.#verdictGraceMs = graceMs;
    this.wake();
  }

  wake(): void {
    this.#pending = true;
    this.#wake?.();
  }

  /** Ends the loop where it stands, as the death of the kubelet does; containers go on. */
  stop(): void {
    this.#stopped = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    const { relist, clock, logger } = this.#options;
    while (!this.#stopped && this.#stage !== 'finished') {
      await this.#triggered();
      if (this.#stopped) return;
      this.#pending = false;
      if (this.#lastSyncEnd !== undefined) await relist.newerThan(this.#lastSyncEnd);
      if (this.#stopped) return;
      try {
        await this.#step();
      } catch (error) {
        if (this.#stopped) return;
        logger.debug('a sync failed', { pod: this.#pod.metadata.name, error });
        this.#retry();
      }
      this.#lastSyncEnd = clock.now();
    }
  }

  #triggered(): Promise<void> {
    if (this.#pending || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  async #step(): Promise<void> {
    const ends =
      this.#gone ||
      this.#verdict !== undefined ||
      this.#overDeadline ||
      this.#pod.metadata.deletionTimestamp !== undefined;
    if (this.#stage === 'syncing' && ends) this.#stage = 'terminating';
    switch (this.#stage) {
      case 'syncing':
        return this.#sync();
      case 'terminating':
        return this.#terminate();
      case 'terminated':
        return this.#finish();
      case 'finished':
        return undefined;
    }
  }

  async #sync(): Promise<void> {
    const { relist, runtime, statuses, random, timings } = this.#options;
    const pod = this.#pod;
    const { uid } = pod.metadata;
    const view = relist.view(uid);
    const status = this.#status(pod, view, false);
    statuses.set(pod, status);
    if (isTerminal(status.phase)) {
      this.#stage = 'terminating';
      this.#options.wakeAfter(0);
      return;
    }
    if (this.isOverDeadline) {
      this.#exceedDeadline();
      return;
    }
    const actions = computeActions(pod, view, runtime.sandbox(uid));
    if (actions.killPod) {
      await this.#killAll(pod, this.#grace(pod));
      this.#relistSoon();
      return;
    }
    if (actions.createSandbox) await this.#createSandbox(pod, view);
    const killed = actions.kill.length > 0;
    for (const container of random.shuffle(actions.kill)) await this.#killChanged(pod, container, view);
    const retryMs = await this.#startAll(pod, actions.start, view);
    if (this.#stopped) return;
    if (retryMs !== undefined) this.#options.wakeAfter(retryMs);
    else {
      if (killed || actions.start.length > 0) this.#relistSoon();
      this.#options.wakeAfter(random.duration(timings.resyncMs));
    }
  }

  async #createSandbox(pod: PodObject, view: readonly InstanceView[]): Promise<void> {
    const { runtime, profile, statuses } = this.#options;
    await runtime.createSandbox(pod);
    if (profile.sandboxReadyAtOnce && !this.#stopped) statuses.set(pod, this.#status(pod, view, false));
  }

  async #killChanged(pod: PodObject, container: Container, view: readonly InstanceView[]): Promise<void> {
    const running = view.filter(({ name, state }) => name === container.name && state === 'running').at(-1);
    if (running === undefined || this.#stopped) return;
    this.#record(container, 'Normal', 'Killing', texts.definitionChanged(container.name));
    await this.#options.runtime.stop(running, this.#specGrace(pod));
  }

  /**
   * An error of one does not keep the others from starting. Gives the time after which what failed is to be tried again;
   * undefined when nothing failed.
   */
  async #startAll(
    pod: PodObject,
    containers: readonly Container[],
    view: readonly InstanceView[],
  ): Promise<number | undefined> {
    const { random, timings, profile, starter } = this.#options;
    const retries: (number | undefined)[] = [];
    for (const container of containers) {
      if (this.#stopped) return undefined;
      const newest = view.filter(({ name }) => name === container.name).at(-1);
      const { error, retryMs } = await startContainer(starter, {
        pod,
        container,
        newest,
        restartCount: this.#nextRestartCount(pod, container, newest),
        isStopped: () => this.#stopped,
        record: (type, reason, message) => this.#record(container, type, reason, message),
      });
      if (error === undefined) {
        this.#startErrors.delete(container.name);
        continue;
      }
      this.#startErrors.set(container.name, error);
      retries.push(retryMs);
    }
    if (retries.length === 0) return undefined;
    // The long back-off of one must not keep another from its next pull.
    const backOffs = retries.filter((retryMs) => retryMs !== undefined);
    const isEarly = profile.retriesAtBackOffEnd && backOffs.length === retries.length;
    return isEarly ? Math.min(...backOffs) * random.between(1, 1.5) : random.duration(timings.retryMs);
  }

  #nextRestartCount(pod: PodObject, { name }: Container, newest: InstanceView | undefined): number {
    if (newest !== undefined) return newest.restartCount + 1;
    const old = this.#options.statuses.get(pod.metadata.uid);
    const statuses = [...(old?.containerStatuses ?? []), ...(old?.initContainerStatuses ?? [])];
    const shown = statuses.find((status) => status.name === name);
    const lost = shown?.lastState.terminated !== undefined || shown?.containerID !== undefined;
    return (shown?.restartCount ?? 0) + (lost ? 1 : 0);
  }

  async #terminate(): Promise<void> {
    const { relist, runtime, statuses } = this.#options;
    const { uid } = this.#pod.metadata;
    const pod = this.#pod;
    const status = this.#status(pod, relist.view(uid), false);
    const verdict = this.#verdict;
    statuses.set(pod, verdict === undefined ? status : endedStatus(status, verdict, this.#options.clock.now()));
    await this.#killAll(pod, this.#grace(pod));
    if (this.#stopped) return;
    this.#stage = 'terminated';
    statuses.set(pod, this.#status(pod, runtime.list(uid), true));
    this.#options.wakeAfter(0);
  }

  async #finish(): Promise<void> {
    const { relist, statuses, clock, timings, random } = this.#options;
    const pod = this.#pod;
    const { uid } = pod.metadata;
    const { podIP, podIPs, resources, ...rest } = this.#status(pod, relist.view(uid), true);
    // Now and then the sandbox is cleaned up before this last look at it.
    const address = random.chance(addressLostChance) || podIP === undefined ? {} : { podIP, podIPs: podIPs ?? [] };
    // The limits go with the pod's cgroup.
    const { limits: _limits, ...kept } = resources ?? {};
    statuses.set(pod, { ...rest, ...address, ...(resources && { resources: kept }) });
    const cleanupMs = random.duration(timings.cleanupMs);
    if (cleanupMs > 0) await new Promise<void>((resolve) => void clock.schedule(cleanupMs, resolve));
    if (this.#stopped) return;
    statuses.finish(pod);
    this.#stage = 'finished';
    if (this.#gone) this.#options.onFinished();
  }

  async #killAll(pod: PodObject, graceMs: number): Promise<void> {
    const { runtime, random, timings, clock } = this.#options;
    const { uid } = pod.metadata;
    const running = runtime.list(uid).filter(({ state }) => state === 'running');
    const { containers, initContainers = [] } = pod.spec;
    const stopped = async (list: readonly Container[]): Promise<void> => {
      const own = running.filter(({ name }) => list.some((container) => container.name === name));
      for (const instance of own) {
        const container = list.find(({ name }) => name === instance.name);
        if (container !== undefined) this.#record(container, 'Normal', 'Killing', texts.stopping(container.name));
      }
      await Promise.all(own.map((instance) => runtime.stop(instance, graceMs)));
    };
    await stopped(containers);
    await stopped([...initContainers].reverse());
    const sandbox = runtime.sandbox(uid);
    if (sandbox?.ready !== true) return;
    const stopMs = random.duration(timings.stopMs);
    if (stopMs > 0) await new Promise<void>((resolve) => void clock.schedule(stopMs, resolve));
    sandbox.ready = false;
  }

  #status(pod: PodObject, instances: readonly InstanceView[], terminal: boolean): PodStatus {
    const { statuses, runtime, relist, clock, hostIP, tellsUser, profile } = this.#options;
    const { uid } = pod.metadata;
    if (this.#overDeadline) this.#recordDeadline();
    return generateStatus({
      pod,
      old: statuses.get(uid) ?? pod.status,
      instances,
      sandbox: runtime.sandbox(uid),
      address: relist.address(uid),
      startErrors: this.#startErrors,
      terminal,
      startTime: this.#startTime,
      now: clock.now(),
      hostIP,
      tellsUser,
      profile,
      overDeadline: this.#overDeadline,
    });
  }

  #grace(pod: PodObject): number {
    if (this.#verdictGraceMs !== undefined) return this.#verdictGraceMs;
    const { deletionGracePeriodSeconds } = pod.metadata;
    return deletionGracePeriodSeconds === undefined ? this.#specGrace(pod) : deletionGracePeriodSeconds * 1000;
  }

  #specGrace({ spec }: PodObject): number {
    return (spec.terminationGracePeriodSeconds ?? 30) * 1000;
  }

  #retry(): void {
    this.#options.wakeAfter(this.#options.random.duration(this.#options.timings.retryMs));
  }

  #relistSoon(): void {
    const { profile, relist, random, timings } = this.#options;
    if (profile.relistAfterSync) relist.soon(random.duration(timings.earlyRelistMs));
  }

  #record(container: Container, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const init = this.#pod.spec.initContainers?.some(({ name }) => name === container.name) ?? false;
    const fieldPath = `spec.${init ? 'initContainers' : 'containers'}{${container.name}}`;
    if (!this.#stopped) this.#options.record({ pod: this.#first, fieldPath, type, reason, message });
  }

  /** Within a sync: the status says so at once, the containers end in the next step. */
  #exceedDeadline(): void {
    this.#overDeadline = true;
    this.#stage = 'terminating';
    const { statuses, relist } = this.#options;
    statuses.set(this.#pod, this.#status(this.#pod, relist.view(this.#pod.metadata.uid), false));
    this.#options.wakeAfter(0);
  }

  #recordDeadline(): void {
    this.#options.record({
      pod: this.#first,
      fieldPath: undefined,
      type: 'Normal',
      reason: 'DeadlineExceeded',
      message: texts.deadlineExceeded,
    });
  }
}
