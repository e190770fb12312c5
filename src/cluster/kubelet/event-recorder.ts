/**
 * The kubelet's Events on their lossy way to the API server (client-go `tools/record`): queue, aggregation,
 * de-duplication, spam filter, write.
 */
import type { Clock } from '../../clock.ts';
import { sleep } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { type ApiClient, ApiFailure } from '../client.ts';
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import { timestamp } from '../times.ts';
import type { Duration } from '../timings.ts';
import type { ApiObject, PodObject } from '../types.ts';

export interface RecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly nodeName: string;
  readonly lagMs: Duration;
  readonly logger: Logger;
  /** Asked for each Event: lose it, or hold it back for so long. */
  readonly disturb?: (event: PodEvent) => { drop: boolean; delayMs: number };
}

export interface PodEvent {
  readonly pod: PodObject;
  /** `spec.containers{NAME}`; undefined for the pod itself. */
  readonly fieldPath: string | undefined;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

const queueMax = 1_000;
const aggregateFrom = 10;
const aggregateWindowMs = 600_000;
const spamBurst = 25;
const spamRefillMs = 300_000;
const writeTries = 12;
const writePauseMs = 10_000;

interface Written {
  readonly name: string;
  count: number;
  readonly firstTimestamp: string;
}

interface Similar {
  readonly messages: Set<string>;
  lastAt: number;
}

interface Bucket {
  tokens: number;
  refilledAt: number;
}

export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #queue: PodEvent[] = [];
  readonly #written = new Map<string, Written>();
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #stop = new AbortController();
  #writing: Promise<void> | undefined;
  /** Until the last look into the queue: an Event that comes after it begins anew. */
  #isWriting = false;
  /** Names are made of the time: no two are the same. */
  #lastName = 0n;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Never waits, never fails: an Event that finds no place is lost. */
  record(event: PodEvent): void {
    if (this.#stop.signal.aborted || this.#queue.length >= queueMax) return;
    this.#queue.push(event);
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#writing = this.#drain();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#queue.length = 0;
    await this.#writing;
  }

  /** Forgets counts and budgets, as a restarted kubelet has. */
  forget(): void {
    this.#queue.length = 0;
    this.#written.clear();
    this.#similar.clear();
    this.#buckets.clear();
  }

  async #drain(): Promise<void> {
    const { clock, random, lagMs, disturb, logger } = this.#options;
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      try {
        const { drop, delayMs } = disturb?.(event) ?? { drop: false, delayMs: 0 };
        const pauseMs = random.duration(lagMs) + delayMs;
        if (pauseMs > 0) await sleep(clock, pauseMs, this.#stop.signal);
        if (!drop) await this.#write(event);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        logger.debug('an Event was lost', { reason: event.reason, error });
      }
    }
    this.#isWriting = false;
  }

  async #write(event: PodEvent): Promise<void> {
    const { message, key } = this.#aggregated(event);
    const known = this.#written.get(key);
    // The count in memory rises even when the filter keeps the write back.
    if (known !== undefined) known.count += 1;
    if (!this.#hasToken(event)) return;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await (known === undefined ? this.#create(event, message, key, 1) : this.#count(event, known, message, key));
        return;
      } catch (error) {
        // A refusal is final; only what did not arrive is sent again.
        if (error instanceof ApiFailure || attempt >= writeTries) throw error;
        const { clock, random } = this.#options;
        await sleep(clock, attempt === 1 ? random.between(0, writePauseMs) : writePauseMs, this.#stop.signal);
      }
    }
  }

  #aggregated(event: PodEvent): { message: string; key: string } {
    const now = this.#options.clock.now();
    const { uid } = event.pod.metadata;
    const group = [uid, event.type, event.reason].join('/');
    let similar = this.#similar.get(group);
    if (similar === undefined || now - similar.lastAt > aggregateWindowMs) {
      similar = { messages: new Set(), lastAt: now };
      this.#similar.set(group, similar);
    }
    similar.lastAt = now;
    similar.messages.add(event.message);
    if (similar.messages.size >= aggregateFrom) {
      similar.messages.delete(similar.messages.values().next().value ?? '');
      return { message: `(combined from similar events): ${event.message}`, key: group };
    }
    return { message: event.message, key: [group, event.fieldPath ?? '', event.message].join('/') };
  }

  #hasToken({ pod, type }: PodEvent): boolean {
    const { clock, profile } = this.#options;
    const key = profile.spamKeyHasType ? `${pod.metadata.uid}/${type}` : pod.metadata.uid;
    const now = clock.now();
    const bucket = this.#buckets.get(key) ?? { tokens: spamBurst, refilledAt: now };
    this.#buckets.set(key, bucket);
    bucket.tokens = Math.min(spamBurst, bucket.tokens + (now - bucket.refilledAt) / spamRefillMs);
    bucket.refilledAt = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  async #create(event: PodEvent, message: string, key: string, count: number, first?: string): Promise<void> {
    const { client, clock, nodeName } = this.#options;
    const { pod, fieldPath, type, reason } = event;
    const { name, namespace, uid, resourceVersion } = pod.metadata;
    const now = timestamp(clock.now());
    const created = await client.send<ApiObject>('POST', `/api/v1/namespaces/${namespace}/events`, {
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name: `${name}.${this.#nameSuffix()}`, namespace },
      involvedObject: {
        kind: 'Pod',
        namespace,
        name,
        uid,
        apiVersion: 'v1',
        // Of a pod that was found in the runtime only, no version is known.
        ...(resourceVersion !== '' && { resourceVersion }),
        ...(fieldPath !== undefined && { fieldPath }),
      },
      reason,
      message,
      source: { component: 'kubelet', host: nodeName },
      firstTimestamp: first ?? now,
      lastTimestamp: now,
      count,
      type,
      reportingComponent: 'kubelet',
      reportingInstance: nodeName,
    });
    this.#written.set(key, { name: created.metadata.name, count, firstTimestamp: first ?? now });
  }

  async #count(event: PodEvent, known: Written, message: string, key: string): Promise<void> {
    const { client, clock } = this.#options;
    const path = `/api/v1/namespaces/${event.pod.metadata.namespace}/events/${known.name}`;
    try {
      await client.merge(path, { count: known.count, lastTimestamp: timestamp(clock.now()), message });
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 404) throw error;
      // Its time to live was over: a new object goes on counting.
      await this.#create(event, message, key, known.count, known.firstTimestamp);
    }
  }

  #nameSuffix(): string {
    const now = BigInt(Math.floor(this.#options.clock.now() * 1000)) * 1000n;
    this.#lastName = now > this.#lastName ? now : this.#lastName + 1n;
    return this.#lastName.toString(16);
  }
}
