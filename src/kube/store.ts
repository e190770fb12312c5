/**
 * The last known state of every object, and what changed with each frame or list.
 *
 * Keyed by namespace and name, compared by uid: another uid under the same name is a deletion that was missed and a
 * new object. A state older than the one that is held is dropped.
 */
import type { WatchFrame } from './frames.ts';
import type { KubeObject } from './resource.ts';

/** What changed in the cache. `key` is `namespace/name`; `old` is there for updates and replaced objects. */
export interface Delta<T> {
  readonly kind: 'added' | 'updated' | 'deleted';
  readonly key: string;
  readonly object: T;
  readonly old?: T;
  /** False only for deletions that were found out by a later list: `object` may be older than its last state. */
  readonly finalStateKnown: boolean;
}

type ObjectFrame<T> = Extract<WatchFrame<T>, { object: T }>;

export class Store<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #keep: (object: T) => T;

  /** `keep` cuts an object down once its delta is made; identity and version stay. */
  constructor(keep: (object: T) => T = (object) => object) {
    this.#keep = keep;
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  entries(): IterableIterator<[string, T]> {
    return this.#objects.entries();
  }

  /** Applies one frame. No delta when it tells nothing new. */
  apply(frame: ObjectFrame<T>): readonly Delta<T>[] {
    return frame.type === 'DELETED' ? this.#remove(frame.object) : this.#put(frame.object);
  }

  /** Applies a whole list at once: what it does not contain is gone, though nobody saw it go. */
  replace(items: readonly T[]): readonly Delta<T>[] {
    const listed = new Set(items.map(keyOf));
    const gone = [...this.#objects].filter(([key]) => !listed.has(key));
    for (const [key] of gone) this.#objects.delete(key);
    return [...gone.map(([key, object]) => tombstone(key, object)), ...items.flatMap((item) => this.#put(item))];
  }

  #put(object: T): readonly Delta<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old === undefined) {
      this.#objects.set(key, this.#keep(object));
      return [{ kind: 'added', key, object, finalStateKnown: true }];
    }
    if (old.metadata.uid !== object.metadata.uid) {
      this.#objects.set(key, this.#keep(object));
      return [tombstone(key, old), { kind: 'added', key, object, finalStateKnown: true }];
    }
    if (!isNewer(object.metadata.resourceVersion, old.metadata.resourceVersion)) return [];
    this.#objects.set(key, this.#keep(object));
    return [{ kind: 'updated', key, object, old, finalStateKnown: true }];
  }

  /** A deletion is final for its uid, whatever its version; for another uid it is old news. */
  #remove(object: T): readonly Delta<T>[] {
    const key = keyOf(object);
    const old = this.#objects.get(key);
    if (old?.metadata.uid !== object.metadata.uid) return [];
    this.#objects.delete(key);
    return [{ kind: 'deleted', key, object, old, finalStateKnown: true }];
  }
}

/** `namespace/name`, or the name alone for cluster-wide objects. */
export function keyOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * Versions of one object are decimal numbers that only rise (kubernetes.md §6.1). A server that uses something else
 * is believed in the order in which it speaks.
 */
export function isNewer(version: string, than: string): boolean {
  if (version === than) return false;
  if (!isDecimal(version) || !isDecimal(than)) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}

function isDecimal(version: string): boolean {
  return /^[1-9]\d*$/.test(version);
}

function tombstone<T extends KubeObject>(key: string, object: T): Delta<T> {
  return { kind: 'deleted', key, object, old: object, finalStateKnown: false };
}
