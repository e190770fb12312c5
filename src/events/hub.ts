/**
 * Where events are published: one bounded log and the state they add up to, moved in one step, so that a snapshot and
 * the sequence number it belongs to never differ; and the logs of containers beside them, each bounded by itself, so
 * that a chatty step pushes out neither events nor the lines of another.
 */
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../clock.ts';
import { version } from '../version.ts';
import { BoundedLog, type Bounds } from './bounded-log.ts';
import { emptyState, reduce, type State } from './state.ts';
import type { EventBody, LogLineRecord, PodwrightEvent } from './types.ts';

export interface EventHubOptions {
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Told in the first event; default the package's own. */
  readonly version?: string;
  /** Which API server, for people. */
  readonly server?: string;
  /** Names this hub's sequence numbers; a random one by default. */
  readonly epoch?: string;
  readonly events?: Partial<Bounds>;
  /** Of each container. */
  readonly lines?: Partial<Bounds>;
  /** Builds that have ended and are still kept, the newest; older ones are forgotten. */
  readonly maxEndedBuilds?: number;
}

/** What the log holds: the event, and its JSON text, made once for all readers. */
export interface StoredEvent {
  readonly event: PodwrightEvent;
  readonly json: string;
  /** Encoded forms by wire format, made when the first reader asks for one. */
  readonly encoded: Map<string, Buffer>;
}

export interface StoredLine {
  readonly build: string;
  readonly container: string;
  readonly line: LogLineRecord;
  readonly json: string;
}

export interface Snapshot {
  readonly epoch: string;
  /** The newest event that the state contains. */
  readonly seq: number;
  readonly state: State;
}

const defaultEvents: Bounds = { maxEntries: 50_000, maxBytes: 32 * 2 ** 20 };
const defaultLines: Bounds = { maxEntries: 20_000, maxBytes: 2 ** 20 };
const allLinesBounds: Bounds = { maxEntries: 50_000, maxBytes: 8 * 2 ** 20 };
const ended: readonly string[] = ['succeeded', 'failed', 'canceled', 'errored', 'removed'];

export class EventHub {
  readonly epoch: string;
  readonly events: BoundedLog<StoredEvent>;
  /** The lines of all containers, in the order in which they came here. */
  readonly allLines: BoundedLog<StoredLine>;
  readonly #clock: Clock;
  readonly #lineBounds: Bounds;
  readonly #maxEndedBuilds: number;
  readonly #lines = new Map<string, Map<string, BoundedLog<StoredLine>>>();
  readonly #listeners = new Set<(event: PodwrightEvent) => void>();
  readonly #wantListeners = new Set<(build: string, container: string) => void>();
  readonly #lineListeners = new Set<(bytes: number) => void>();
  /** Builds that have ended and are in the state, oldest first. */
  readonly #ended = new Set<string>();
  #state: State = emptyState;
  /** The fold of the events that the log has dropped: where a replay of the kept ones begins. */
  #base: State = emptyState;

  constructor(options: EventHubOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.epoch = options.epoch ?? randomUUID();
    this.events = new BoundedLog({ ...defaultEvents, ...options.events }, ({ value }) => {
      this.#base = reduce(this.#base, value.event);
    });
    this.#lineBounds = { ...defaultLines, ...options.lines };
    this.allLines = new BoundedLog(allLinesBounds);
    this.#maxEndedBuilds = options.maxEndedBuilds ?? 1000;
    this.publish({ type: 'run.started', version: options.version ?? version, server: options.server ?? null });
  }

  /** The state, and the number of the newest event in it. */
  snapshot(): Snapshot {
    return { epoch: this.epoch, seq: this.events.last, state: this.#state };
  }

  /** The state before the oldest event that is kept. */
  baseSnapshot(): Snapshot {
    return { epoch: this.epoch, seq: this.events.first - 1, state: this.#base };
  }

  get state(): State {
    return this.#state;
  }

  /** Puts an event at the end of the log. After the hub was ended nothing is taken any more, and null is returned. */
  publish(body: EventBody): PodwrightEvent | null {
    if (this.events.isClosed) return null;
    const at = this.#clock.now();
    const { value } = this.events.append((seq) => {
      // Last, so that an event that is published again gets a place of its own.
      const event = { ...body, seq, at };
      const json = JSON.stringify(event);
      return { value: { event, json, encoded: new Map() }, bytes: json.length };
    });
    const before = this.#state;
    this.#state = reduce(before, value.event);
    if (value.event.type === 'build.planned' && before !== this.#state) this.#begin(value.event.build);
    for (const listener of [...this.#listeners]) listener(value.event);
    this.#forget(value.event);
    return value.event;
  }

  /**
   * Called with each later event, at once and in order, after the state has it. For parts of this process (metrics,
   * spans); whoever may be slow takes a cursor. A listener must not throw and must not publish.
   */
  listen(listener: (event: PodwrightEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Called with the size of each line that is kept. */
  listenLines(listener: (bytes: number) => void): () => void {
    this.#lineListeners.add(listener);
    return () => void this.#lineListeners.delete(listener);
  }

  /** Keeps one line of a container's log. */
  appendLine(build: string, container: string, line: Omit<LogLineRecord, 'seq'>): void {
    const log = this.#log(build, container);
    if (log.isClosed) return;
    const { value, bytes } = log.append((seq) => {
      const record = { seq, ...line };
      const json = JSON.stringify(record);
      return { value: { build, container, line: record, json }, bytes: json.length };
    });
    this.allLines.append(() => ({ value, bytes }));
    for (const listener of this.#lineListeners) listener(Buffer.byteLength(line.text) + 1);
  }

  /** No line follows. */
  endLines(build: string, container: string): void {
    this.#log(build, container).close();
  }

  /** Called when somebody begins to read a container's log: where lines are brought only on demand. */
  onLinesWanted(listener: (build: string, container: string) => void): () => void {
    this.#wantListeners.add(listener);
    return () => void this.#wantListeners.delete(listener);
  }

  /** Somebody begins to read this log. */
  wantLines(build: string, container: string): void {
    for (const listener of [...this.#wantListeners]) listener(build, container);
  }

  /** The log of a container that the state knows; also before its first line. */
  lines(build: string, container: string): BoundedLog<StoredLine> | undefined {
    const known = this.#state.builds[build]?.containers.some(({ name }) => name === container) ?? false;
    return known ? this.#log(build, container) : undefined;
  }

  /** Publishes the last event and closes every log; readers read to the end. Idempotent. */
  end(outcome: 'succeeded' | 'failed' | 'canceled' | 'errored', message: string | null = null): void {
    if (this.events.isClosed) return;
    this.publish({ type: 'run.ended', outcome, message });
    this.events.close();
    this.allLines.close();
    for (const logs of this.#lines.values()) for (const log of logs.values()) log.close();
  }

  #log(build: string, container: string): BoundedLog<StoredLine> {
    let logs = this.#lines.get(build);
    if (logs === undefined) {
      logs = new Map();
      this.#lines.set(build, logs);
    }
    let log = logs.get(container);
    if (log === undefined) {
      log = new BoundedLog(this.#lineBounds);
      if (this.events.isClosed) log.close();
      logs.set(container, log);
    }
    return log;
  }

  /** A build that takes the id of one that was removed has nothing of it. */
  #begin(build: string): void {
    this.#ended.delete(build);
    this.#dropLines(build);
  }

  #dropLines(build: string): void {
    for (const log of this.#lines.get(build)?.values() ?? []) log.close();
    this.#lines.delete(build);
  }

  #forget(event: PodwrightEvent): void {
    if (event.type !== 'build.changed' || !ended.includes(event.to)) return;
    if (this.#state.builds[event.build] !== undefined) this.#ended.add(event.build);
    const [oldest] = this.#ended;
    if (oldest === undefined || this.#ended.size <= this.#maxEndedBuilds) return;
    this.#ended.delete(oldest);
    this.#dropLines(oldest);
    this.publish({ type: 'build.forgotten', build: oldest });
  }
}
