/**
 * The objects of one list-watch, kept up to date and told to handlers.
 *
 * Promises, as client-go's shared informer gives them:
 * 1. Eventually consistent: what handlers see of one object is a subsequence of its true states, never out of order,
 *    and the last state is seen. States in between may be skipped.
 * 2. Handlers are called one after the other, one delta at a time, after `get` and `list` show it.
 * 3. A handler that is added late is first told every object there is, as `added`.
 * 4. A handler that throws disturbs nobody else; the error is logged and counted.
 * 5. After `stop()` was called no handler is called any more.
 *
 * Not promised: any order between different objects, or between informers. A deletion with `finalStateKnown: false`
 * was missed, and its object is the last one that was seen.
 */
import type { Clock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { type Logger, silentLogger } from '../logger.ts';
import type { KubeClient } from './client.ts';
import { Reflector } from './reflector.ts';
import type { KubeObject, ResourcePath } from './resource.ts';
import { type Delta, Store } from './store.ts';

export type { Delta } from './store.ts';

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly path: ResourcePath;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Cuts an object down to what is needed, before it is stored. Pure; keeps name, namespace, uid, resourceVersion. */
  readonly trim: (object: T) => T;
  /**
   * Cuts it down further once the handlers were told, for what is never asked for again: then `get`, `list`, `old`, what
   * a late handler is told and a deletion that was missed have only that. Pure; keeps the same as `trim`.
   */
  readonly keep?: (object: T) => T;
  /** Whether the server sends bookmarks for this resource: not for Events (kubernetes.md §2.5). */
  readonly bookmarks: boolean;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}

export interface WatchCounters {
  readonly lists: number;
  readonly watches: number;
  readonly frames: number;
  readonly bookmarks: number;
  readonly bytes: number;
  /** Lists or watches that failed or broke. */
  readonly failures: number;
  /** Watches that were closed because nothing was heard for too long. */
  readonly stalls: number;
  /** Times the server had forgotten our resourceVersion. */
  readonly expirations: number;
  readonly malformedFrames: number;
  readonly handlerErrors: number;
}

/**
 * How far the cache can be trusted.
 *
 * `starting` no list yet · `live` a watch is open, or on its way after an ordinary end · `relisting` the history was lost, the cache is being compared with
 * a new list · `stale` the last watch or list failed and is being retried · `degraded` the server refuses (401, 403,
 * 404), tried again slowly · `stopped`.
 */
export interface WatchHealth {
  readonly state: 'starting' | 'live' | 'relisting' | 'stale' | 'degraded' | 'stopped';
  /** Milliseconds of the clock: when this state began, and for `stale` when the server was last heard. */
  readonly since: number;
  readonly lastContactAt: number | null;
  /** The last failure; null again once a list or watch worked. */
  readonly lastError: Error | null;
  readonly counters: WatchCounters;
}

type Handler<T> = (delta: Delta<T>) => void;

export class Informer<T extends KubeObject> {
  readonly #store: Store<T>;
  readonly #reflector: Reflector<T>;
  readonly #resource: string;
  readonly #logger: Logger;
  readonly #handlers = new Set<{ readonly handle: Handler<T> }>();
  #handlerErrors = 0;

  constructor(options: InformerOptions<T>) {
    this.#logger = options.logger ?? silentLogger;
    this.#store = new Store<T>(options.keep);
    this.#resource = options.path.resource;
    this.#reflector = new Reflector<T>({
      ...options,
      random: options.random ?? Math.random,
      logger: this.#logger,
      onList: (items) => this.#deliver(this.#store.replace(items)),
      onFrame: (frame) => this.#deliver(this.#store.apply(frame)),
    });
  }

  /** Tells `handler` every object there is, then every delta. Returns what removes it. */
  addHandler(handler: Handler<T>): () => void {
    if (this.#reflector.snapshot.value === 'stopped') return () => undefined;
    const entry = { handle: handler };
    this.#handlers.add(entry);
    for (const [key, object] of this.#store.entries()) {
      this.#tell(entry, { kind: 'added', key, object, finalStateKnown: true });
    }
    return () => void this.#handlers.delete(entry);
  }

  /** Idempotent. Has no effect after `stop()`. */
  start(): void {
    this.#reflector.start();
  }

  /** Idempotent. Once it resolves no request, timer or call of a handler is left. */
  async stop(): Promise<void> {
    this.#handlers.clear();
    await this.#reflector.stop();
  }

  /**
   * Resolves once the handlers were told the first whole list. Rejects when the server refuses (the informer goes on
   * trying), with ERR_PODWRIGHT_STOPPED when it was stopped, and with the signal's reason.
   */
  async synced(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        const verdict = this.#syncVerdict();
        if (verdict === 'pending') return;
        leave();
        if (verdict === 'synced') resolve();
        else reject(verdict);
      };
      const giveUp = (): void => {
        leave();
        reject(signal?.reason);
      };
      const unsubscribe = this.#reflector.subscribe(look);
      const leave = (): void => {
        unsubscribe();
        signal?.removeEventListener('abort', giveUp);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      look();
    });
  }

  /** By `namespace/name`. The object is shared: never change it. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  get health(): WatchHealth {
    const { value, context } = this.#reflector.snapshot;
    const { counters, lastContactAt, stateSince } = context;
    const state = this.#healthState();
    return {
      state,
      since: state === 'stale' ? (lastContactAt ?? stateSince) : stateSince,
      lastContactAt,
      lastError: value === 'stopped' ? null : this.#reflector.lastError,
      counters: { ...counters, bytes: this.#reflector.bytes, handlerErrors: this.#handlerErrors },
    };
  }

  /** Told whenever the state changes; not on mere progress. */
  subscribeHealth(listener: (health: WatchHealth) => void): () => void {
    let known = this.#healthState();
    return this.#reflector.subscribe(() => {
      const state = this.#healthState();
      if (state === known) return;
      known = state;
      try {
        listener(this.health);
      } catch (error) {
        this.#logger.info('A health listener threw', { resource: this.#resource, state, error });
      }
    });
  }

  #healthState(): WatchHealth['state'] {
    const { value, context } = this.#reflector.snapshot;
    switch (value) {
      case 'idle':
        return 'starting';
      case 'listing':
        return context.hasSynced ? 'relisting' : 'starting';
      case 'connecting':
        return context.failure === null ? 'live' : 'stale';
      case 'watching':
        return 'live';
      case 'backingOff':
        return 'stale';
      case 'degraded':
      case 'stopped':
        return value;
    }
  }

  #syncVerdict(): 'synced' | 'pending' | Error {
    const { value, context } = this.#reflector.snapshot;
    if (context.hasSynced) return 'synced';
    if (value === 'degraded') return this.#reflector.lastError ?? new PodwrightError('ERR_PODWRIGHT_API', 'refused');
    if (value === 'stopped')
      return new PodwrightError('ERR_PODWRIGHT_STOPPED', 'the informer was stopped before it had a list');
    return 'pending';
  }

  /** The store is up to date for all of `deltas` by now: a handler added meanwhile has seen them. */
  #deliver(deltas: readonly Delta<T>[]): void {
    if (deltas.length === 0) return;
    const entries = [...this.#handlers];
    for (const delta of deltas) {
      for (const entry of entries) this.#tell(entry, delta);
    }
  }

  #tell(entry: { readonly handle: Handler<T> }, delta: Delta<T>): void {
    if (!this.#handlers.has(entry)) return;
    try {
      entry.handle(delta);
    } catch (error) {
      this.#handlerErrors++;
      this.#logger.info('A handler threw', { resource: this.#resource, kind: delta.kind, key: delta.key, error });
    }
  }
}
