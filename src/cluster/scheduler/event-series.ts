/**
 * The scheduler's Events on their way to the API server (client-go `tools/events`): what is said again about the same
 * version of a pod becomes a series of the first Event, whose text stays as it was.
 *
 * The second time is written at once, later ones are counted and written when the series ends or at long intervals.
 */
import { type Clock, sleep } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import type { ApiClient } from '../client.ts';
import type { Random } from '../random.ts';
import { eventSuffix, microTimestamp } from '../times.ts';
import type { Duration } from '../timings.ts';
import type { PodObject } from '../types.ts';

export interface EventSeriesOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lagMs: Duration;
}

export interface SchedulerEvent {
  readonly pod: PodObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  /** For whose sake it happened. */
  readonly related?: PodObject;
}

interface Series {
  readonly path: string;
  count: number;
  lastAt: number;
}

/** A series without news for so long is over; also how often that is looked at. */
const finishMs = 360_000;
const refreshMs = 1_800_000;

export class EventSeries {
  readonly #options: EventSeriesOptions;
  readonly #series = new Map<string, Series>();
  readonly #stop = new AbortController();

  constructor(options: EventSeriesOptions) {
    this.#options = options;
    this.#every(finishMs, () => this.#finish());
    this.#every(refreshMs, () => this.#refresh());
  }

  /** Never waits, never fails: an Event that is not taken is lost. */
  record(event: SchedulerEvent): void {
    this.#write(event).catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#options.logger.debug('an Event was lost', { reason: event.reason, error });
    });
  }

  stop(): void {
    this.#stop.abort();
  }

  async #write(event: SchedulerEvent): Promise<void> {
    const { clock, random, lagMs } = this.#options;
    const at = clock.now();
    const pauseMs = random.duration(lagMs);
    if (pauseMs > 0) await sleep(clock, pauseMs, this.#stop.signal);
    const { pod, type, action, reason, related } = event;
    const { uid, resourceVersion } = pod.metadata;
    const key = [type, action, reason, uid, resourceVersion, related?.metadata.uid ?? ''].join('/');
    const known = this.#series.get(key);
    if (known === undefined) {
      const { namespace, name } = pod.metadata;
      const eventName = `${name}.${eventSuffix(at, random.integer(0, 999_999))}`;
      const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
      this.#series.set(key, { path: `${path}/${eventName}`, count: 1, lastAt: at });
      await this.#create(event, path, eventName, at);
      return;
    }
    known.count += 1;
    known.lastAt = at;
    if (known.count === 2) await this.#patch(known);
  }

  async #create(event: SchedulerEvent, path: string, eventName: string, at: number): Promise<void> {
    const { pod, type, reason, action, note, related } = event;
    await this.#options.client.send('POST', path, {
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name: eventName, namespace: pod.metadata.namespace },
      eventTime: microTimestamp(at),
      reportingController: 'default-scheduler',
      reportingInstance: 'default-scheduler-podwright',
      action,
      reason,
      regarding: referenceTo(pod),
      ...(related && { related: referenceTo(related) }),
      note,
      type,
    });
  }

  async #patch({ path, count, lastAt }: Series): Promise<void> {
    await this.#options.client.merge(path, { series: { count, lastObservedTime: microTimestamp(lastAt) } });
  }

  #finish(): void {
    for (const [key, series] of this.#series) {
      if (this.#options.clock.now() - series.lastAt < finishMs) continue;
      this.#series.delete(key);
      if (series.count > 2) this.#patchLater(series);
    }
  }

  #refresh(): void {
    for (const series of this.#series.values()) if (series.count > 2) this.#patchLater(series);
  }

  #patchLater(series: Series): void {
    this.#patch(series).catch((error: unknown) => {
      this.#options.logger.debug('an Event was lost', { path: series.path, error });
    });
  }

  #every(periodMs: number, run: () => void): void {
    const { clock } = this.#options;
    const timer = clock.schedule(periodMs, () => {
      this.#stop.signal.removeEventListener('abort', cancel);
      run();
      this.#every(periodMs, run);
    });
    const cancel = (): void => timer.cancel();
    this.#stop.signal.addEventListener('abort', cancel, { once: true });
  }
}

function referenceTo({ metadata }: PodObject): object {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion };
}
