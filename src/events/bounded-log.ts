/**
 * A bounded log with many readers.
 *
 * 1. Entries have sequence numbers 1, 2, 3, …; a number is never used twice.
 * 2. A cursor yields every entry after its start, in order, each once, the past first and then what comes, without a
 *    gap or a repeat.
 * 3. Writers never wait for readers, and readers cost nothing while they do not read: a cursor is a number.
 * 4. The log keeps the newest entries within its bounds (at least one). A cursor whose next entry is no longer kept
 *    is told how many it missed, once, and ends: the entries it did get have no hole.
 *
 * It does not promise that a late reader sees the very first entries: what the bounds dropped is gone.
 */
import { assert } from '../assert.ts';
import { PodwrightError } from '../errors.ts';

export interface Entry<T> {
  readonly seq: number;
  readonly value: T;
  /** What this entry counts against the byte bound. */
  readonly bytes: number;
}

export interface Bounds {
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** What a read gave: entries, or that the reader fell behind, or that there is nothing more to come. */
export type Reading<T> =
  | { readonly kind: 'entries'; readonly entries: readonly Entry<T>[] }
  | { readonly kind: 'lagged'; readonly missed: number; readonly first: number }
  | { readonly kind: 'closed' };

export class BoundedLog<T> {
  readonly #bounds: Bounds;
  readonly #onDrop: (entry: Entry<T>) => void;
  /** The kept entries; those before `#head` are dropped and wait to be cut off in one go. */
  #entries: (Entry<T> | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  #last = 0;
  #closed = false;
  /** Woken once, by the next append or the close. */
  readonly #waiters = new Set<() => void>();

  /** `onDrop` is called with each entry that the bounds drop, oldest first; it must not use the log. */
  constructor(bounds: Bounds, onDrop: (entry: Entry<T>) => void = () => undefined) {
    assert(bounds.maxEntries >= 1 && bounds.maxBytes >= 1, 'a log keeps at least one entry');
    this.#bounds = bounds;
    this.#onDrop = onDrop;
  }

  /** The oldest kept sequence number; `last + 1` while nothing is kept. */
  get first(): number {
    return this.#last - (this.#entries.length - this.#head) + 1;
  }

  /** The newest sequence number; 0 before the first entry. */
  get last(): number {
    return this.#last;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  append(make: (seq: number) => { readonly value: T; readonly bytes: number }): Entry<T> {
    assert(!this.#closed, 'nothing is appended to a closed log');
    const seq = this.#last + 1;
    const entry = { seq, ...make(seq) };
    this.#last = seq;
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#trim();
    this.#wake();
    return entry;
  }

  /** No entry follows. Cursors read to the end, then learn that it is the end. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#wake();
  }

  /**
   * A reader that begins after `after`, a number that this log has given out; without one, with the oldest entry that
   * is kept. Throws `ERR_PODWRIGHT_USAGE` for a number of the future.
   */
  cursor(after?: number): LogCursor<T> {
    if (after !== undefined && after > this.#last) {
      throw new PodwrightError('ERR_PODWRIGHT_USAGE', `there is no entry ${after} yet: the newest is ${this.#last}`);
    }
    return new LogCursor(this, after ?? this.first - 1);
  }

  /** Up to `max` entries after `after`, or up to about `maxBytes` of them (at least one). */
  read(after: number, max: number, maxBytes = Number.POSITIVE_INFINITY): Reading<T> {
    const first = this.first;
    if (after + 1 < first) return { kind: 'lagged', missed: first - after - 1, first };
    const entries: Entry<T>[] = [];
    let bytes = 0;
    for (let seq = after + 1; seq <= this.#last && entries.length < max && bytes < maxBytes; seq++) {
      const entry = this.#entries[this.#head + seq - first];
      assert(entry?.seq === seq, 'a kept entry is where its sequence number says');
      entries.push(entry);
      bytes += entry.bytes;
    }
    return entries.length === 0 && this.#closed ? { kind: 'closed' } : { kind: 'entries', entries };
  }

  /** Resolves when there is something after `after`, the log is closed, or `signal` aborts. */
  async changed(after: number, signal?: AbortSignal): Promise<void> {
    if (this.#last > after || this.#closed || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** How many readers wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  #trim(): void {
    const { maxEntries, maxBytes } = this.#bounds;
    while (this.#entries.length - this.#head > 1) {
      if (this.#entries.length - this.#head <= maxEntries && this.#bytes <= maxBytes) break;
      const oldest = this.#entries[this.#head];
      assert(oldest !== undefined, 'the head is the oldest kept entry');
      this.#entries[this.#head] = undefined;
      this.#head++;
      this.#bytes -= oldest.bytes;
      this.#onDrop(oldest);
    }
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }
}

/** One reader's place. Not for two readers at once. */
export class LogCursor<T> {
  readonly #log: BoundedLog<T>;
  /** The newest sequence number this reader has been given. */
  #position: number;

  constructor(log: BoundedLog<T>, position: number) {
    this.#log = log;
    this.#position = position;
  }

  get position(): number {
    return this.#position;
  }

  /** Whether entries were dropped before this reader had them: its next `take` says so, and it gets no more. */
  get isLagging(): boolean {
    return this.#position + 1 < this.#log.first;
  }

  /** What is there now, without waiting: possibly no entry. */
  take(max: number, maxBytes?: number): Reading<T> {
    const reading = this.#log.read(this.#position, max, maxBytes);
    if (reading.kind === 'entries') this.#position = reading.entries.at(-1)?.seq ?? this.#position;
    return reading;
  }

  changed(signal?: AbortSignal): Promise<void> {
    return this.#log.changed(this.#position, signal);
  }

  /** Entry by entry until the log is closed or `signal` aborts. Throws `ERR_PODWRIGHT_READER_LAGGED` when dropped. */
  async *entries(signal?: AbortSignal): AsyncGenerator<Entry<T>, void> {
    while (!signal?.aborted) {
      const reading = this.take(256);
      if (reading.kind === 'closed') return;
      if (reading.kind === 'lagged') throw lagged(reading.missed, reading.first);
      yield* reading.entries;
      if (reading.entries.length === 0) await this.changed(signal);
    }
  }
}

function lagged(missed: number, first: number): PodwrightError {
  return new PodwrightError(
    'ERR_PODWRIGHT_READER_LAGGED',
    `the reader fell behind: ${missed} entries were dropped before it read them; the oldest kept is ${first}`,
    { remedy: 'Take a snapshot of the state and read on from its sequence number.', details: { missed, first } },
  );
}
