/**
 * The cluster's one log of revisions, as etcd and the watch caches keep it.
 *
 * Every write takes the next number of one counter. Objects are never changed once stored. What is older than the
 * compaction of a resource can neither be listed nor be watched from.
 */
import { assert } from '../../assert.ts';
import type { ApiObject } from '../types.ts';

export interface Revision {
  readonly number: number;
  readonly resource: string;
  /** `namespace/name`, or the name alone. */
  readonly key: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** For DELETED the last object, with the resourceVersion of the deletion. */
  readonly object: ApiObject;
  readonly previous: ApiObject | undefined;
}

interface Table {
  readonly objects: Map<string, ApiObject>;
  /** Ascending; holds everything after `compacted`. */
  history: Revision[];
  compacted: number;
  readonly listeners: Set<(revision: Revision) => void>;
}

export class RevisionStore {
  readonly #start: number;
  #current: number;
  readonly #tables = new Map<string, Table>();

  /** Counts on from `start`: clients must not rely on small numbers. */
  constructor(start: number) {
    this.#start = start;
    this.#current = start;
  }

  /** The number of the last write. */
  get current(): number {
    return this.#current;
  }

  get(resource: string, key: string): ApiObject | undefined {
    return this.#table(resource).objects.get(key);
  }

  /** In the order of their keys. */
  list(resource: string, prefix = ''): ApiObject[] {
    return sorted(this.#table(resource).objects, prefix);
  }

  /** As it was right after revision `number`; undefined when that is compacted. */
  listAt(resource: string, number: number, prefix = ''): ApiObject[] | undefined {
    const table = this.#table(resource);
    if (number < table.compacted) return undefined;
    const objects = new Map(table.objects);
    for (let at = table.history.length - 1; at >= 0; at -= 1) {
      const revision = table.history[at];
      if (revision === undefined || revision.number <= number) break;
      if (revision.previous === undefined) objects.delete(revision.key);
      else objects.set(revision.key, revision.previous);
    }
    return sorted(objects, prefix);
  }

  /** Stores `object` under its key with the next resourceVersion, and tells the listeners. */
  put(resource: string, key: string, object: ApiObject): ApiObject {
    const table = this.#table(resource);
    const previous = table.objects.get(key);
    const stored = this.#stamped(object);
    table.objects.set(key, stored);
    this.#record(table, { resource, key, type: previous ? 'MODIFIED' : 'ADDED', object: stored, previous });
    return stored;
  }

  remove(resource: string, key: string): ApiObject {
    const table = this.#table(resource);
    const previous = table.objects.get(key);
    assert(previous !== undefined, `${resource} ${key} is stored`);
    table.objects.delete(key);
    const stored = this.#stamped(previous);
    this.#record(table, { resource, key, type: 'DELETED', object: stored, previous });
    return stored;
  }

  /** What was written after revision `number`; undefined when some of it is compacted. */
  since(resource: string, number: number): readonly Revision[] | undefined {
    const table = this.#table(resource);
    if (number < table.compacted) return undefined;
    let low = 0;
    let high = table.history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((table.history[middle]?.number ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return table.history.slice(low);
  }

  /** Revisions below it are gone: the oldest from which `resource` can be watched. */
  oldest(resource: string): number {
    return this.#table(resource).compacted;
  }

  /** Forgets what is older than `number`, of one resource or of all. */
  compact(number: number, resource?: string): void {
    const tables = resource === undefined ? [...this.#tables.values()] : [this.#table(resource)];
    for (const table of tables) {
      table.compacted = Math.max(table.compacted, Math.min(number, this.#current));
      table.history = table.history.filter((revision) => revision.number > table.compacted);
    }
  }

  /** Listeners are called in order, within the write. */
  subscribe(resource: string, listener: (revision: Revision) => void): () => void {
    const { listeners } = this.#table(resource);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  #stamped(object: ApiObject): ApiObject {
    this.#current += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#current) } };
  }

  #record(table: Table, revision: Omit<Revision, 'number'>): void {
    const recorded = { ...revision, number: this.#current };
    table.history.push(recorded);
    for (const listener of [...table.listeners]) listener(recorded);
  }

  #table(resource: string): Table {
    let table = this.#tables.get(resource);
    if (table === undefined) {
      table = { objects: new Map(), history: [], compacted: this.#start, listeners: new Set() };
      this.#tables.set(resource, table);
    }
    return table;
  }
}

function sorted(objects: ReadonlyMap<string, ApiObject>, prefix: string): ApiObject[] {
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort();
  return keys.flatMap((key) => objects.get(key) ?? []);
}
