/**
 * One pod on the node: a serial loop of syncs (kubernetes.md §10.3).
 *
 * A status is made only at the start of a sync; kills, pulls and starts run inside it, and nothing interrupts them, not
 * even the pod's deletion. Updates that come meanwhile are merged: the latest wins, an end is never forgotten.
 */
import { type Clock, sleep } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import { texts } from '../texts.ts';
import type { Timings } from '../timings.ts';
import type { Container, PodObject, PodStatus } from '../types.ts';
import { computeActions, type Replaced } from './actions.ts';
import type { DisturbPod } from './disturb.ts';
import type { PodEvent } from './event-recorder.ts';
import type { Kill } from './killing.ts';
import { mountVolumes, type Volumes } from './mounts.ts';
import { endedStatus, type PodVerdict } from './outcome.ts';
import { isTerminal } from './phase.ts';
import { Prober } from './prober.ts';
import type { Relist } from './relist.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';
import type { StarterOptions } from './start.ts';
import { PodStarter } from './start-all.ts';
import { generateStatus } from './status.ts';
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
  readonly disturbPod: DisturbPod | undefined;
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
  readonly #starter: PodStarter;
  readonly #prober: Prober;
  /** Aborts when the pod is to end, or the kubelet does: waits are left. */
  readonly #ending = new AbortController();

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#first = options.pod;
    this.#pod = options.pod;
    const { startTime } = options.pod.status;
    this.#startTime = startTime === undefined ? options.clock.now() : Date.parse(startTime);
    this.#starter = new PodStarter({ ...options, isStopped: () => this.#stopped });
    this.#prober = new Prober({
      clock: options.clock,
      runtime: options.runtime,
      record: (container, type, reason, message) => this.#record(container, type, reason, message),
      onChange: () => this.wake(),
    });
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
    if (pod.metadata.deletionTimestamp !== undefined) this.#ending.abort();
    if (this.#stage === 'finished') this.#options.statuses.nudge(pod.metadata.uid);
    else this.wake();
  }

  /** The object is gone from the API server; what runs of it is to end. */
  removed(pod: PodObject): void {
    this.#pod = pod;
    this.#gone = true;
    this.#ending.abort();
    if (this.#stage === 'finished') this.#options.onFinished();
    else this.wake();
  }

  /** Ends the whole pod as Failed with this verdict. The first one stands. */
  end(verdict: PodVerdict, graceMs: number | undefined): void {
    if (this.#verdict !== undefined || !this.mayRun) return;
    this.#verdict = verdict;
    this.#verdictGraceMs = graceMs;
    this.#ending.abort();
    this.wake();
  }

  wake(): void {
    this.#pending = true;
    this.#wake?.();
  }

  /** Ends the loop where it stands, as the death of the kubelet does; containers go on. */
  stop(): void {
    this.#stopped = true;
    this.#ending.abort();
    this.#prober.stop();
    this.#wake?.();
  }

  async #run(): Promise<void> {
    const { relist, logger } = this.#options;
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
      this.#lastSyncEnd = relist.mark;
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
    this.#prober.follow(pod, view);
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
    const health: Prober['health'] = (container, instance) => this.#prober.health(container, instance);
    const actions = computeActions(pod, view, runtime.sandbox(uid), health);
    if (actions.killPod) {
      await this.#killAll(pod, this.#grace(pod));
      this.#relistSoon();
      return;
    }
    const volumes = await this.#mounted(pod, actions.start);
    if (volumes === undefined || this.#stopped) return;
    if (actions.createSandbox) await this.#createSandbox(pod, view);
    for (const one of random.shuffle(actions.kill)) await this.#killReplaced(pod, one, view);
    const retryMs = await this.#starter.start({
      pod,
      containers: actions.start,
      view,
      shown: statuses.get(uid),
      volumes,
      graceMs: this.#specGrace(pod),
      recordOf: (container) => (type, reason, message) => this.#record(container, type, reason, message),
    });
    if (this.#stopped) return;
    if (retryMs !== undefined) this.#options.wakeAfter(retryMs);
    else {
      if (actions.kill.length > 0 || actions.start.length > 0) this.#relistSoon();
      this.#options.wakeAfter(random.duration(timings.resyncMs));
    }
  }

  /** Undefined when the pod is to end before they are there: the next step sees to that. */
  async #mounted(pod: PodObject, starting: readonly Container[]): Promise<Volumes | undefined> {
    if (starting.length === 0) return new Map();
    const { signal } = this.#ending;
    const { client } = this.#options.starter;
    const record = (message: string): void => this.#recordPod('Warning', 'FailedMount', message);
    try {
      return await mountVolumes(pod, { client, clock: this.#options.clock, record, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
      this.#pending = true;
      return undefined;
    }
  }

  async #createSandbox(pod: PodObject, view: readonly InstanceView[]): Promise<void> {
    const { runtime, profile, statuses, disturbPod } = this.#options;
    if (runtime.sandbox(pod.metadata.uid) !== undefined) {
      this.#recordPod('Normal', 'SandboxChanged', texts.sandboxChanged);
      await this.#killAll(pod, this.#grace(pod));
      if (this.#stopped) return;
    }
    const fault = disturbPod?.('failSandbox');
    if (fault !== undefined) {
      const message = texts.sandboxFailed(fault.message ?? texts.noSandboxNetwork);
      this.#recordPod('Warning', 'FailedCreatePodSandBox', message);
      throw new Error(message);
    }
    await runtime.createSandbox(pod);
    if (profile.sandboxReadyAtOnce && !this.#stopped) statuses.set(pod, this.#status(pod, view, false));
  }

  async #killReplaced(
    pod: PodObject,
    { container, failed, restarts }: Replaced,
    view: readonly InstanceView[],
  ): Promise<void> {
    const instance = view.filter(({ name, state }) => name === container.name && state === 'running').at(-1);
    if (instance === undefined || this.#stopped) return;
    const { name } = container;
    const message = failed === undefined ? texts.definitionChanged(name) : texts.unhealthy(name, failed, restarts);
    const own = failed && container[`${failed}Probe`]?.terminationGracePeriodSeconds;
    const graceMs = own === undefined ? this.#specGrace(pod) : own * 1000;
    await this.#options.starter.killer.kill(this.#killOf({ pod, container, instance, graceMs, message }));
  }

  async #terminate(): Promise<void> {
    this.#prober.judgeNoMore();
    const { relist, runtime, statuses } = this.#options;
    const { uid } = this.#pod.metadata;
    const pod = this.#pod;
    const status = this.#status(pod, relist.view(uid), false);
    const verdict = this.#verdict;
    statuses.set(pod, verdict === undefined ? status : endedStatus(status, verdict, this.#options.clock.now()));
    await this.#killAll(pod, this.#grace(pod));
    if (this.#stopped) return;
    this.#prober.stop();
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
    if (cleanupMs > 0) await sleep(clock, cleanupMs);
    if (this.#stopped) return;
    statuses.finish(pod);
    this.#stage = 'finished';
    if (this.#gone) this.#options.onFinished();
  }

  #killAll(pod: PodObject, graceMs: number): Promise<void> {
    return this.#options.starter.killer.killAll(pod, (container, instance) =>
      this.#killOf({ pod, container, instance, graceMs, message: texts.stopping(container.name) }),
    );
  }

  #killOf(kill: Omit<Kill, 'record'>): Kill {
    return { ...kill, record: (type, reason, message) => this.#record(kill.container, type, reason, message) };
  }

  #status(pod: PodObject, instances: readonly InstanceView[], terminal: boolean): PodStatus {
    const { statuses, runtime, relist, clock, hostIP, tellsUser, profile } = this.#options;
    const { uid } = pod.metadata;
    if (this.#overDeadline) this.#recordPod('Normal', 'DeadlineExceeded', texts.deadlineExceeded);
    return generateStatus({
      pod,
      old: statuses.get(uid) ?? pod.status,
      instances,
      sandbox: runtime.sandbox(uid),
      address: relist.address(uid),
      health: (container, instance) => this.#prober.health(container, instance),
      startErrors: this.#starter.errors,
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

  #recordPod(type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (!this.#stopped) this.#options.record({ pod: this.#first, fieldPath: undefined, type, reason, message });
  }
}
