/**
 * Keeps one list-watch going until it is stopped, as the machine in `machines/reflector.ts` decides.
 *
 * The machine says what is next; this carries it out, measures silence, and reports back. Nothing is delivered after
 * `stop()` was called, and once `stop()` resolves no request and no timer is left.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Actor, createActor } from 'xstate';
import {
  type ReflectorFailure,
  type ReflectorMessage,
  type ReflectorSnapshot,
  reflectorMachine,
} from '../../machines/reflector.ts';
import { assert } from '../assert.ts';
import { type Clock, sleep } from '../clock.ts';
import { isPodwrightError, PodwrightError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { KubeClient, ListOptions, WatchQuery } from './client.ts';
import { FrameDecoder, isKubeObject, type WatchFrame } from './frames.ts';
import { type ByteStream, describePath, type KubeList, type KubeObject, type ResourcePath } from './resource.ts';
import { retryAfterOf, statusOf } from './status.ts';
import { Watchdog } from './watchdog.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly path: ResourcePath;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly trim: (object: T) => T;
  readonly bookmarks: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** A whole list, which replaces all that was known. */
  readonly onList: (items: readonly T[]) => void;
  readonly onFrame: (frame: Extract<WatchFrame<T>, { object: T }>) => void;
}

/** As client-go: small enough for the server's memory and for our event loop. */
const pageSize = 500;
/** API servers send a bookmark about once a minute: one may be late, not two. */
const longestSilenceMs = 90_000;
/** A server that was told to end the watch after a time gets so much longer. */
const overdueMs = 5_000;
/** With bookmarks a silent watch is noticed anyway. Without, it is as old as this before it is opened anew. */
const watchSeconds = { withBookmarks: [290, 580], without: [60, 120] } as const;
/** A saturated stream must not starve the timers. */
const framesPerTurn = 200;

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #actor: Actor<typeof reflectorMachine> = createActor(reflectorMachine);
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #lastError: Error | null = null;
  #bytes = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#actor.start();
  }

  get snapshot(): ReflectorSnapshot {
    return this.#actor.getSnapshot();
  }

  get lastError(): Error | null {
    return this.snapshot.context.failure === null ? null : this.#lastError;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Called after every message, with the snapshot set. */
  subscribe(listener: (snapshot: ReflectorSnapshot) => void): () => void {
    const subscription = this.#actor.subscribe(listener);
    return () => subscription.unsubscribe();
  }

  /** Idempotent. */
  start(): void {
    if (this.#running !== undefined || this.#stopping.signal.aborted) return;
    this.#actor.send({ type: 'start', at: this.#options.clock.now() });
    this.#running = this.#run();
  }

  /** Idempotent; resolves once nothing is under way any more. */
  async stop(): Promise<void> {
    if (!this.#stopping.signal.aborted) {
      this.#actor.send({ type: 'stop', at: this.#options.clock.now() });
      this.#stopping.abort(new PodwrightError('ERR_PODWRIGHT_STOPPED', 'the reflector was stopped'));
    }
    await this.#running;
  }

  async #run(): Promise<void> {
    for (;;) {
      const { value, context } = this.snapshot;
      switch (value) {
        case 'listing':
          await this.#list();
          break;
        case 'connecting':
          await this.#watch();
          break;
        case 'backingOff':
        case 'degraded':
          await this.#pause(context.pauseMs);
          break;
        case 'idle':
        case 'watching':
        case 'stopped':
          assert(value === 'stopped', 'a watch is read until its end');
          return;
      }
    }
  }

  async #list(): Promise<void> {
    const { clock, random, onList } = this.#options;
    try {
      const { items, resourceVersion } = await this.#readPages();
      if (this.#stopping.signal.aborted) return;
      onList(items);
      this.#send({ type: 'list.succeeded', at: clock.now(), resourceVersion });
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const failure = this.#failed(error);
      this.#send({ type: 'list.failed', at: clock.now(), draw: random(), failure });
    }
  }

  /** Every page of one snapshot. */
  async #readPages(): Promise<{ items: readonly T[]; resourceVersion: string }> {
    const first = await this.#readPage({ limit: pageSize });
    const items = first.items.map((item) => this.#trimmed(item));
    for (let token = first.metadata.continue; token; ) {
      await nextTurn();
      const page = await this.#readNextPage(token);
      // The snapshot was compacted away between two pages: only a list in one piece is whole now.
      if (page === 'expired') return await this.#readInOnePiece();
      items.push(...page.items.map((item) => this.#trimmed(item)));
      token = page.metadata.continue;
    }
    return { items, resourceVersion: versionOf(first) };
  }

  async #readNextPage(token: string): Promise<KubeList<T> | 'expired'> {
    try {
      return await this.#readPage({ limit: pageSize, continue: token });
    } catch (error) {
      if (statusOf(error) === 410) return 'expired';
      throw error;
    }
  }

  async #readInOnePiece(): Promise<{ items: readonly T[]; resourceVersion: string }> {
    const list = await this.#readPage({});
    return { items: list.items.map((item) => this.#trimmed(item)), resourceVersion: versionOf(list) };
  }

  /** The most recent state: never one that is older than what was seen before. */
  async #readPage(page: ListOptions): Promise<KubeList<T>> {
    const { client, path } = this.#options;
    return await client.list<T>(path, { ...page, ...this.#selectors(), retryForMs: 0, signal: this.#stopping.signal });
  }

  async #watch(): Promise<void> {
    const { client, path, clock, random } = this.#options;
    const stalled = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, stalled.signal]);
    const timeoutSeconds = this.#drawWatchSeconds();
    const watchdog = this.#guard(timeoutSeconds, () => stalled.abort());
    let failure: ReflectorFailure | null;
    try {
      const stream = await client.openWatch(path, this.#watchQuery(timeoutSeconds), signal);
      this.#send({ type: 'watch.opened', at: clock.now() });
      failure = await this.#read(stream, watchdog);
    } catch (error) {
      failure = stalled.signal.aborted ? this.#stalled() : this.#failed(error);
    } finally {
      watchdog.cancel();
    }
    if (this.#stopping.signal.aborted) return;
    this.#send({ type: 'watch.ended', at: clock.now(), draw: random(), failure });
  }

  #watchQuery(timeoutSeconds: number): WatchQuery {
    const { resourceVersion } = this.snapshot.context;
    assert(resourceVersion !== null, 'a watch follows a list');
    return {
      ...this.#selectors(),
      resourceVersion,
      timeoutSeconds,
      ...(this.#options.bookmarks ? { allowWatchBookmarks: true } : {}),
    };
  }

  /** Reads until the stream ends (null) or says that it is of no more use. */
  async #read(stream: ByteStream, watchdog: Watchdog): Promise<ReflectorFailure | null> {
    const decoder = new FrameDecoder<T>();
    let framesThisTurn = 0;
    for await (const chunk of stream) {
      watchdog.heard();
      this.#bytes += chunk.length;
      const frames = decoder.push(chunk);
      const failure = this.#take(frames);
      if (failure !== null) return failure;
      framesThisTurn += frames.length;
      if (framesThisTurn < framesPerTurn) continue;
      framesThisTurn = 0;
      await nextTurn();
    }
    return null;
  }

  #take(frames: readonly WatchFrame<T>[]): ReflectorFailure | null {
    let failure: ReflectorFailure | null = null;
    let resourceVersion: string | undefined;
    let objects = 0;
    let bookmarks = 0;
    for (const frame of frames) {
      if (this.#stopping.signal.aborted) return null;
      if (frame.type === 'ERROR' || frame.type === 'malformed') {
        failure = this.#frameFailure(frame);
        break;
      }
      if (frame.type === 'BOOKMARK') {
        bookmarks++;
        resourceVersion = frame.resourceVersion;
        continue;
      }
      this.#options.onFrame({ type: frame.type, object: this.#options.trim(frame.object) });
      objects++;
      resourceVersion = frame.object.metadata.resourceVersion;
    }
    if (resourceVersion !== undefined) {
      const at = this.#options.clock.now();
      this.#send({ type: 'watch.progressed', at, resourceVersion, frames: objects, bookmarks });
    }
    return failure;
  }

  async #pause(pauseMs: number): Promise<void> {
    try {
      await sleep(this.#options.clock, pauseMs, this.#stopping.signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      throw error;
    }
    this.#send({ type: 'pause.over', at: this.#options.clock.now() });
  }

  /** A result that comes after the stop is of no interest to anybody. */
  #send(message: ReflectorMessage): void {
    if (!this.#stopping.signal.aborted) this.#actor.send(message);
  }

  #selectors(): Pick<ListOptions, 'labelSelector' | 'fieldSelector'> {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  #trimmed(item: T): T {
    if (isKubeObject(item)) return this.#options.trim(item);
    throw new PodwrightError(
      'ERR_PODWRIGHT_API',
      `a list of ${describePath(this.#options.path)} has an item without its identity`,
    );
  }

  #drawWatchSeconds(): number {
    const [least, most] = this.#options.bookmarks ? watchSeconds.withBookmarks : watchSeconds.without;
    return Math.floor(least + (most - least) * this.#options.random());
  }

  #guard(timeoutSeconds: number, onStall: () => void): Watchdog {
    const overdue = timeoutSeconds * 1000 + overdueMs;
    return new Watchdog(this.#options.clock, this.#options.bookmarks ? longestSilenceMs : overdue, overdue, onStall);
  }

  #stalled(): ReflectorFailure {
    return this.#remember(new PodwrightError('ERR_PODWRIGHT_TIMEOUT', 'the watch went silent'), 'stalled');
  }

  #failed(error: unknown): ReflectorFailure {
    const retryAfterMs = retryAfterOf(error);
    const failure = this.#remember(error, kindOfFailure(error));
    return retryAfterMs === undefined ? failure : { ...failure, retryAfterMs };
  }

  #frameFailure(frame: Extract<WatchFrame<T>, { type: 'ERROR' | 'malformed' }>): ReflectorFailure {
    if (frame.type === 'malformed') {
      return this.#remember(new PodwrightError('ERR_PODWRIGHT_API', `the watch sent ${frame.reason}`), 'malformed');
    }
    const { code, message, reason, details } = frame.status;
    const error = new PodwrightError('ERR_PODWRIGHT_API', `the watch ended with ${code}: ${message}`, {
      details: { status: code, reason, message },
    });
    const failure = this.#remember(error, inStreamKinds[code ?? 0] ?? 'other');
    const seconds = details?.retryAfterSeconds;
    return seconds === undefined ? failure : { ...failure, retryAfterMs: seconds * 1000 };
  }

  /** The machine holds plain data only; the error itself, with its cause, is kept for `health`. */
  #remember(error: unknown, kind: ReflectorFailure['kind']): ReflectorFailure {
    const { path, logger } = this.#options;
    this.#lastError = error instanceof Error ? error : new Error(String(error));
    logger.debug('A list or watch ended early', { resource: path.resource, kind, error });
    return { kind, message: this.#lastError.message };
  }
}

const inStreamKinds: Readonly<Record<number, ReflectorFailure['kind']>> = {
  410: 'expired',
  429: 'busy',
  500: 'internal',
};

function kindOfFailure(error: unknown): ReflectorFailure['kind'] {
  const status = statusOf(error);
  if (status === undefined) return isPodwrightError(error, 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE') ? 'network' : 'other';
  if (status === 410) return 'expired';
  if (status === 429 || status >= 500) return 'busy';
  return status === 401 || status === 403 || status === 404 || status === 405 ? 'refused' : 'other';
}

function versionOf(list: KubeList<unknown>): string {
  const { resourceVersion } = list.metadata;
  if (resourceVersion !== undefined && resourceVersion !== '') return resourceVersion;
  throw new PodwrightError('ERR_PODWRIGHT_API', 'the server sent a list without a resourceVersion');
}
