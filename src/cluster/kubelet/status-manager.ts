/**
 * Brings the kubelet's statuses to the API server, one pod after the other; what changes meanwhile is written once
 * (k8s `status_manager.go`).
 */
import { type Clock, sleep } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { type ApiClient, ApiFailure } from '../client.ts';
import { equal, isObject, type JsonObject } from '../json.ts';
import type { Random } from '../random.ts';
import type { Duration } from '../timings.ts';
import type { PodCondition, PodObject, PodStatus } from '../types.ts';
import { isTerminal } from './phase.ts';
import { closedStatus } from './status.ts';

export interface StatusManagerOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly lagMs: Duration;
  readonly logger: Logger;
  /** While it may have running containers a pod is not shown as Succeeded or Failed. */
  readonly mayRun: (uid: string) => boolean;
}

interface Entry {
  readonly pod: PodObject;
  status: PodStatus;
  /** Differs from what was written last. */
  dirty: boolean;
  /** Everything of the pod is over: after the last status its object is deleted, if it is marked. */
  finished: boolean;
}

/** A write that failed is tried again after this. */
const retryMs = 10_000;

export class StatusManager {
  readonly #options: StatusManagerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue = new Set<string>();
  readonly #stop = new AbortController();
  #working: Promise<void> | undefined;

  constructor(options: StatusManagerOptions) {
    this.#options = options;
  }

  /** What the kubelet said last about the pod, be it written or not. */
  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  set(pod: PodObject, status: PodStatus): void {
    const { uid } = pod.metadata;
    const entry = this.#entries.get(uid);
    if (entry !== undefined && goesBack(entry.status, status, pod)) return;
    const changed = entry === undefined || !equal(entry.status, status);
    this.#entries.set(uid, { pod, status, dirty: changed || entry.dirty, finished: entry?.finished ?? false });
    if (changed) this.#enqueue(uid);
  }

  /** No container of the pod is left: closes what its status left open, and lets the object go. */
  finish(pod: PodObject): void {
    const entry = this.#entries.get(pod.metadata.uid);
    if (entry === undefined) return;
    const closed = closedStatus(entry.status);
    const phase = isTerminal(closed.phase) ? closed.phase : endedPhase(closed);
    entry.status = { ...closed, phase };
    entry.dirty = true;
    entry.finished = true;
    this.#enqueue(pod.metadata.uid);
  }

  /** The pod is marked for deletion now: a finished one can go. */
  nudge(uid: string): void {
    if (this.#entries.get(uid)?.finished === true) this.#enqueue(uid);
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
    this.#queue.delete(uid);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#working;
  }

  #enqueue(uid: string): void {
    if (this.#stop.signal.aborted) return;
    this.#queue.add(uid);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    const { clock, random, lagMs, logger } = this.#options;
    for (let [uid] = this.#queue; uid !== undefined; [uid] = this.#queue) {
      this.#queue.delete(uid);
      try {
        const pauseMs = random.duration(lagMs);
        if (pauseMs > 0) await sleep(clock, pauseMs, this.#stop.signal);
        await this.#sync(uid);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        logger.debug('a status was not written', { uid, error });
        this.#retry(uid);
      }
    }
    // In the same breath as the last look: one that is queued between the two would lie until the next one.
    this.#working = undefined;
  }

  #retry(uid: string): void {
    const timer = this.#options.clock.schedule(retryMs, () => {
      this.#stop.signal.removeEventListener('abort', cancel);
      if (this.#entries.has(uid)) this.#enqueue(uid);
    });
    const cancel = (): void => timer.cancel();
    this.#stop.signal.addEventListener('abort', cancel, { once: true });
  }

  async #sync(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    const { namespace, name } = entry.pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const pod = await this.#read(path);
    if (pod === undefined || pod.metadata.uid !== uid) {
      this.forget(uid);
      return;
    }
    if (entry.dirty) {
      entry.dirty = false;
      const next = merged(pod.status, entry.status, this.#options.mayRun(uid));
      const patch = difference(pod.status as unknown as JsonObject, next as unknown as JsonObject);
      try {
        if (patch !== undefined)
          await this.#options.client.merge(`${path}/status`, { metadata: { uid }, status: patch });
      } catch (error) {
        entry.dirty = true;
        throw error;
      }
    }
    if (!entry.finished || entry.dirty || pod.metadata.deletionTimestamp === undefined) return;
    await this.#delete(path, uid);
  }

  async #read(path: string): Promise<PodObject | undefined> {
    try {
      return await this.#options.client.get<PodObject>(path);
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 404) return undefined;
      throw error;
    }
  }

  async #delete(path: string, uid: string): Promise<void> {
    try {
      await this.#options.client.send('DELETE', path, {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        gracePeriodSeconds: 0,
        preconditions: { uid },
      });
    } catch (error) {
      // Gone already, or another pod has its name.
      if (!(error instanceof ApiFailure) || (error.code !== 404 && error.code !== 409)) throw error;
    }
    this.forget(uid);
  }
}

/** A container seen terminated that may not be restarted cannot come back: such a status is dropped whole. */
function goesBack(old: PodStatus, next: PodStatus, { spec }: PodObject): boolean {
  return (next.containerStatuses ?? []).some((status) => {
    const before = old.containerStatuses?.find(({ name }) => name === status.name);
    const container = spec.containers.find(({ name }) => name === status.name);
    if (before?.state.terminated === undefined || status.state.terminated !== undefined) return false;
    if ((container?.restartPolicyRules ?? []).length > 0) return false;
    const policy = container?.restartPolicy ?? spec.restartPolicy;
    const final = policy === 'Never' || (policy === 'OnFailure' && before.state.terminated.exitCode === 0);
    return final && status.restartCount === before.restartCount;
  });
}

function endedPhase({ containerStatuses = [] }: PodStatus): 'Succeeded' | 'Failed' {
  return containerStatuses.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed';
}

/** Others' conditions stay, in front; a terminal phase waits for the last container. */
function merged(stored: PodStatus, next: PodStatus, mayRun: boolean): PodStatus {
  const own = next.conditions ?? [];
  const foreign = (stored.conditions ?? []).filter(({ type }: PodCondition) => !own.some((one) => one.type === type));
  const conditions = [...foreign, ...own];
  const { conditions: _own, ...others } = next;
  const result: PodStatus = { ...others, ...(conditions.length > 0 && { conditions }) };
  if (!mayRun || isTerminal(stored.phase) || !isTerminal(next.phase)) return result;
  const { reason: _reason, message: _message, ...rest } = result;
  return {
    ...rest,
    phase: stored.phase,
    // Told only together with the end.
    conditions: conditions.filter(
      ({ type }) => type !== 'DisruptionTarget' || foreign.some((one) => one.type === type),
    ),
    ...(stored.reason !== undefined && { reason: stored.reason }),
    ...(stored.message !== undefined && { message: stored.message }),
  };
}

/** The merge patch from one to the other; undefined when they are equal. Lists are replaced whole. */
function difference(from: JsonObject, to: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const before = from[key];
    const after = to[key];
    if (equal(before, after)) continue;
    if (after === undefined) patch[key] = null;
    else patch[key] = isObject(before) && isObject(after) ? (difference(before, after) ?? {}) : after;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
