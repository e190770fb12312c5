/** The kubelet of the one node: registers it, and gives each pod bound to it a worker. A client of the API server. */
import { type Clock, sleep, type Timer } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { LogAnswer, LogOptions, NodeApi } from '../api/context.ts';
import type { Overfilled } from '../backend/backend.ts';
import { type ApiClient, ApiFailure, ListWatch } from '../client.ts';
import { equal } from '../json.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import { amountOf, countedResources, podRequest } from '../requests.ts';
import { texts } from '../texts.ts';
import { timestamp } from '../times.ts';
import type { Timings } from '../timings.ts';
import type { PodObject } from '../types.ts';
import { BackOff } from './back-off.ts';
import type { DisturbPod } from './disturb.ts';
import { EventRecorder, type RecorderOptions } from './event-recorder.ts';
import { Hooks } from './hooks.ts';
import { Images } from './images.ts';
import { Killer } from './killing.ts';
import { readLog } from './logs.ts';
import { type NodeDescription, nodeObject, readyCondition } from './node.ts';
import type { PodVerdict } from './outcome.ts';
import { isTerminal } from './phase.ts';
import { Relist } from './relist.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { StarterOptions } from './start.ts';
import { StatusManager } from './status-manager.ts';
import { PodWorker } from './worker.ts';

export interface KubeletOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly timings: Timings;
  readonly logger: Logger;
  readonly runtime: ContainerRuntime;
  readonly node: NodeDescription;
  readonly disturbEvent?: RecorderOptions['disturb'];
  readonly disturbPod?: DisturbPod;
  /** Another kubelet was here before: the runtime may hold containers. */
  readonly restarted?: boolean;
}

/** An eviction does not wait for the pod's own grace. */
const evictionGraceMs = 1_000;

/** k8s `wait.JitterUntil(syncNodeStatus, …, 0.04)` */
const heartbeatJitter = 1.04;

const crashFirstMs = 10_000;
const crashLongestMs = 300_000;

export class Kubelet implements NodeApi {
  readonly #options: KubeletOptions;
  readonly #workers = new Map<string, PodWorker>();
  /** When a pod is to be synced again though nothing happened: one time each, the last one asked for. */
  readonly #due = new Map<string, number>();
  readonly #pods: ListWatch;
  readonly #relist: Relist;
  readonly #statuses: StatusManager;
  readonly #events: EventRecorder;
  readonly #starter: StarterOptions;
  readonly #beats: Random;
  #tick: Timer | undefined;
  #heartbeat: Timer | undefined;
  #stopped = false;

  constructor(options: KubeletOptions) {
    this.#options = options;
    const { client, clock, random, profile, timings, logger, runtime, node } = options;
    this.#beats = random.fork('heartbeats');
    this.#pods = new ListWatch({
      client,
      path: '/api/v1/pods',
      fieldSelector: `spec.nodeName=${node.name}`,
      onChange: (object, change, old) => this.#changed(object as PodObject, change, old as PodObject | undefined),
    });
    this.#relist = new Relist({
      clock,
      runtime,
      periodMs: timings.relistMs,
      onChange: (uid) => this.#relisted(uid),
    });
    this.#statuses = new StatusManager({
      client,
      clock,
      random: random.fork('statuses'),
      lagMs: timings.statusLagMs,
      logger,
      mayRun: (uid) => this.#workers.get(uid)?.mayRun ?? false,
    });
    this.#events = new EventRecorder({
      client,
      clock,
      random: random.fork('events'),
      profile,
      nodeName: node.name,
      lagMs: timings.eventLagMs,
      logger,
      ...(options.disturbEvent && { disturb: options.disturbEvent }),
    });
    const hooks = new Hooks(clock, runtime);
    this.#starter = {
      hooks,
      killer: new Killer({ clock, random, timings, runtime, hooks }),
      client,
      clock,
      profile,
      runtime,
      images: new Images({ clock, runtime, profile }),
      crashBackOff: new BackOff(clock, crashFirstMs, crashLongestMs),
      hostIP: node.address,
    };
  }

  /** Resolves when the node is registered and its pods are known. */
  async start(): Promise<void> {
    const { clock, random, timings } = this.#options;
    await this.#register();
    this.#beat();
    const startMs = random.duration(timings.kubeletStartMs);
    if (this.#options.restarted === true && startMs > 0) await sleep(clock, startMs);
    if (this.#stopped) return;
    this.#relist.start();
    // The ticks and the reading of the runtime keep no step with each other.
    this.#tickAfter(random.between(0, timings.tickMs));
    this.#pods.start();
    await this.#pods.synced;
    this.#endOrphans();
  }

  /** As `kill -9` of the kubelet: containers go on, everything it had in memory is gone. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#tick?.cancel();
    this.#heartbeat?.cancel();
    this.#relist.stop();
    for (const worker of this.#workers.values()) worker.stop();
    await Promise.all([this.#pods.stop(), this.#statuses.stop(), this.#events.stop()]);
  }

  async containerLogs(pod: PodObject, container: string, options: LogOptions, signal: AbortSignal): Promise<LogAnswer> {
    const { uid } = pod.metadata;
    if (!this.#workers.has(uid)) return { kind: 'unknownPod' };
    const now = this.#options.clock.now();
    return readLog(this.#options.runtime, this.#statuses.get(uid), { pod, container, options, signal, now });
  }

  /** Ends a pod as a whole, with its containers; false when the kubelet does not know it. */
  endPod(uid: string, reason: string, verdict: PodVerdict, graceMs: number | undefined): boolean {
    const worker = this.#workers.get(uid);
    if (worker === undefined || !worker.mayRun) return false;
    const { message } = verdict;
    this.#events.record({ pod: worker.pod, fieldPath: undefined, type: 'Warning', reason, message });
    worker.end(verdict, graceMs);
    return true;
  }

  /** As `endPod`, without an Event. */
  shutDownPod(uid: string, verdict: PodVerdict): void {
    this.#workers.get(uid)?.end(verdict, undefined);
  }

  podUids(): readonly string[] {
    return [...this.#workers.keys()];
  }

  /** A volume or a container's own files hold more than they may: the eviction manager notices at its next check. */
  overfilled(uid: string, what: Overfilled): void {
    const { clock, random, timings } = this.#options;
    clock.schedule(random.duration(timings.evictionCheckMs), () => {
      const pod = this.#workers.get(uid)?.pod;
      const message = this.#stopped || pod === undefined ? undefined : overfilledText(pod, what);
      if (message !== undefined) this.endPod(uid, 'Evicted', { reason: 'Evicted', message }, evictionGraceMs);
    });
  }

  /** Containers of pods that went while no kubelet looked. */
  #endOrphans(): void {
    for (const pod of this.#options.runtime.pods()) {
      if (this.#stopped || this.#workers.has(pod.metadata.uid)) continue;
      const orphan = { ...pod, metadata: { ...pod.metadata, resourceVersion: '' } };
      this.#work(orphan);
      this.#workers.get(pod.metadata.uid)?.removed(orphan);
    }
  }

  async #register(): Promise<void> {
    const { client, node, profile, clock } = this.#options;
    const object = nodeObject(node, profile, clock.now());
    try {
      await client.send('POST', '/api/v1/nodes', object);
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 409) throw error;
    }
    await client.merge(`/api/v1/nodes/${node.name}/status`, { status: object['status'] });
  }

  #beat(): void {
    const { client, clock, timings, node, logger } = this.#options;
    // Each a little late, by chance: so it may be missed for a moment after an outage that was short enough.
    this.#heartbeat = clock.schedule(timings.heartbeatMs * this.#beats.between(1, heartbeatJitter), () => {
      const status = { conditions: [readyCondition(true, clock.now())] };
      client.merge(`/api/v1/nodes/${node.name}/status`, { status }).catch((error: unknown) => {
        logger.debug('a heartbeat was lost', { error });
      });
      this.#beat();
    });
  }

  #tickAfter(delayMs: number): void {
    const { clock, timings } = this.#options;
    this.#tick = clock.schedule(delayMs, () => {
      this.#wakeDue();
      this.#tickAfter(timings.tickMs);
    });
  }

  #wakeDue(): void {
    const now = this.#options.clock.now();
    const due = new Set([...this.#due].flatMap(([uid, time]) => (time <= now ? [uid] : [])));
    for (const uid of due) this.#due.delete(uid);
    for (const [uid, worker] of this.#workers) {
      if (due.has(uid) || worker.isOverDeadline) worker.wake();
    }
  }

  #relisted(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    // After the view was taken: of dead instances one a container is kept, of an evicted pod none.
    this.#options.runtime.removeDead(uid, worker.isEvicted && worker.mayRun ? 'none' : 'newest');
    worker.wake();
  }

  #changed(pod: PodObject, change: 'added' | 'updated' | 'deleted', old: PodObject | undefined): void {
    if (this.#stopped) return;
    const { uid } = pod.metadata;
    const worker = this.#workers.get(uid);
    if (change === 'deleted') worker?.removed(pod);
    else if (worker === undefined) this.#admit(pod);
    else if (old === undefined || differs(pod, old)) worker.update(pod);
  }

  #admit(pod: PodObject): void {
    const known = this.#options.runtime.list(pod.metadata.uid).length > 0;
    if (isTerminal(pod.status.phase) && !known) return;
    const refusal = known ? undefined : this.#refusal(pod);
    if (refusal === undefined) this.#work(pod);
    else this.#reject(pod, refusal);
  }

  #work(pod: PodObject): void {
    const { clock, random, profile, timings, logger, runtime, node } = this.#options;
    const { uid } = pod.metadata;
    const worker = new PodWorker({
      pod,
      clock,
      random: random.fork(uid),
      profile,
      timings,
      logger,
      runtime,
      relist: this.#relist,
      statuses: this.#statuses,
      starter: this.#starter,
      disturbPod: this.#options.disturbPod,
      hostIP: node.address,
      tellsUser: node.containerd === '2.2',
      record: (event) => this.#events.record(event),
      wakeAfter: (delayMs) => void this.#due.set(uid, clock.now() + delayMs),
      onFinished: () => void this.#forget(uid),
    });
    this.#workers.set(uid, worker);
    worker.start();
  }

  async #forget(uid: string): Promise<void> {
    const worker = this.#workers.get(uid);
    this.#workers.delete(uid);
    this.#due.delete(uid);
    this.#statuses.forget(uid);
    if (worker !== undefined) this.#starter.images.forget(worker.pod);
    this.#starter.crashBackOff.forget(`${uid}_`);
    try {
      await this.#options.runtime.removePod(uid);
    } catch (error) {
      this.#options.logger.info('a pod was not cleaned up', { uid, error });
    }
  }

  /** Why the node does not take the pod (k8s `lifecycle/predicate.go`). */
  #refusal({ spec }: PodObject): { reason: string; message: string } | undefined {
    const { node, disturbPod } = this.#options;
    const fault = disturbPod?.('rejectPod');
    if (fault !== undefined) {
      return { reason: fault.reason ?? 'UnexpectedAdmissionError', message: fault.message ?? texts.admissionFailed };
    }
    const others = [...this.#workers.values()].filter((worker) => worker.mayRun);
    for (const resource of countedResources) {
      const wanted = podRequest(spec, resource);
      const used = others.reduce((sum, { pod }) => sum + podRequest(pod.spec, resource), 0);
      const has = amountOf(node[resource], resource);
      if (wanted > 0 && wanted + used > has) {
        return { reason: `OutOf${resource}`, message: texts.outOf(resource, wanted, used, has) };
      }
    }
    return undefined;
  }

  #reject(pod: PodObject, { reason, message }: { reason: string; message: string }): void {
    const { clock, profile } = this.#options;
    this.#events.record({ pod, fieldPath: undefined, type: 'Warning', reason, message });
    const { generation } = pod.metadata;
    this.#statuses.set(pod, {
      ...(profile.observedGeneration && generation !== undefined && { observedGeneration: generation }),
      phase: 'Failed',
      message: texts.podRejected(message),
      reason,
      startTime: timestamp(clock.now()),
      ...(pod.status.qosClass !== undefined && { qosClass: pod.status.qosClass }),
    });
  }
}

/** Undefined where there is no limit. */
function overfilledText({ spec }: PodObject, { volume, container }: Overfilled): string | undefined {
  if (volume !== undefined) {
    const limit = spec.volumes?.find(({ name }) => name === volume)?.emptyDir?.sizeLimit;
    return limit === undefined ? undefined : texts.emptyDirEvicted(volume, limit);
  }
  const limit = spec.containers.find(({ name }) => name === container)?.resources?.limits?.['ephemeral-storage'];
  return limit === undefined ? undefined : texts.storageEvicted(container, limit);
}

/** Whether there is something to do for the worker; a status is the kubelet's own word come back. */
function differs(next: PodObject, old: PodObject): boolean {
  const read = ({ spec, metadata }: PodObject): object => {
    const { labels, annotations, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
    return { spec, labels, annotations, deletionTimestamp, deletionGracePeriodSeconds };
  };
  return !equal(read(next), read(old));
}
