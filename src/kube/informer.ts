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
import type { Logger } from '../logger.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject, ResourcePath } from './resource.ts';

/** What changed in the cache. `key` is `namespace/name`; `old` is there for updates and replaced objects. */
export interface Delta<T> {
  readonly kind: 'added' | 'updated' | 'deleted';
  readonly key: string;
  readonly object: T;
  readonly old?: T;
  /** False only for deletions that were found out by a later list: `object` may be older than its last state. */
  readonly finalStateKnown: boolean;
}

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly path: ResourcePath;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Cuts an object down to what is needed, before it is stored. Pure; keeps name, namespace, uid, resourceVersion. */
  readonly trim: (object: T) => T;
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
 * `starting` no list yet · `live` a watch is open · `relisting` the history was lost, the cache is being compared with
 * a new list · `stale` the last watch or list failed and is being retried · `degraded` the server refuses (401, 403,
 * 404), tried again slowly · `stopped`.
 */
export interface WatchHealth {
  readonly state: 'starting' | 'live' | 'relisting' | 'stale' | 'degraded' | 'stopped';
  /** Milliseconds of the clock: when this state began, and for `stale` when the server was last heard. */
  readonly since: number;
  readonly lastContactAt: number | null;
  /** The last failure; null again once a watch is open. */
  readonly lastError: Error | null;
  readonly counters: WatchCounters;
}
