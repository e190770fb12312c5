/**
 * The log of one container, as the runtime keeps it: lines with a time each, a newest file that is readable, and a
 * rotation that loses what is older.
 */

import type { LogOptions } from '../api/context.ts';
import { nanoTimestamp } from '../times.ts';

interface Entry {
  readonly sequence: number;
  readonly ns: bigint;
  /** A char a byte. Without a newline at its end it is a piece of a line that goes on. */
  readonly text: string;
}

/** containerLogMaxSize of the kubelet. */
const fileBytesMax = 10 * 1024 * 1024;
/** The runtime cuts longer lines into pieces. */
const pieceBytesMax = 16 * 1024;
/** What a reader is given at once. */
const batchBytes = 64 * 1024;

export class ContainerLog {
  readonly #stamp: () => bigint;
  /** Ascending. The newest file begins at `#fileStart`; what is before it is there for those who follow already. */
  #entries: Entry[] = [];
  #fileStart = 0;
  #fileBytes = 0;
  #next = 0;
  #ended = false;
  #wake = new Set<() => void>();

  constructor(stamp: () => bigint) {
    this.#stamp = stamp;
  }

  /** One line with its newline, or the last piece of the output without one. */
  write(line: Uint8Array): void {
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('latin1');
    for (const piece of pieces(text)) {
      this.#entries.push({ sequence: this.#next, ns: this.#stamp(), text: piece });
      this.#next += 1;
      this.#fileBytes += piece.length;
    }
    if (this.#fileBytes > fileBytesMax) this.#rotate();
    this.#notify();
  }

  /** Nothing is written any more. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** The last lines, at most `bytes` long: for FallbackToLogsOnError. */
  tail(lines: number, bytes: number): string {
    const text = this.#readable()
      .slice(-lines)
      .map((entry) => entry.text)
      .join('');
    return Buffer.from(text.slice(-bytes), 'latin1').toString();
  }

  /** Ends at the last entry, or with `follow` when the container has ended and all was given. */
  async *read(options: LogOptions, now: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
    let startsLine = true;
    let entries = selected(this.#readable(), options, now);
    let after = (entries[0]?.sequence ?? this.#next) - 1;
    for (;;) {
      let batch = '';
      for (const { sequence, ns, text } of entries) {
        after = sequence;
        batch += options.timestamps && startsLine ? `${nanoTimestamp(ns)} ${text}` : text;
        startsLine = text.endsWith('\n');
        if (batch.length < batchBytes && batch.length < left) continue;
        yield Buffer.from(batch.slice(0, left), 'latin1');
        left -= batch.length;
        if (left <= 0) return;
        batch = '';
      }
      if (batch !== '') yield Buffer.from(batch, 'latin1');
      left -= batch.length;
      entries = this.#after(after);
      if (entries.length > 0) continue;
      if (!options.follow || this.#ended || signal.aborted) return;
      await this.#changed(signal);
      entries = this.#after(after);
    }
  }

  /** Searched from the end: a follower is seldom far behind. */
  #after(sequence: number): readonly Entry[] {
    let from = this.#entries.length;
    while (from > 0 && (this.#entries[from - 1]?.sequence ?? 0) > sequence) from -= 1;
    return this.#entries.slice(from);
  }

  #readable(): readonly Entry[] {
    return this.#entries.filter(({ sequence }) => sequence >= this.#fileStart);
  }

  #rotate(): void {
    this.#entries = this.#entries.filter(({ sequence }) => sequence >= this.#fileStart);
    this.#fileStart = this.#next;
    this.#fileBytes = 0;
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        signal.removeEventListener('abort', settle);
        this.#wake.delete(settle);
        resolve();
      };
      signal.addEventListener('abort', settle, { once: true });
      this.#wake.add(settle);
    });
  }

  #notify(): void {
    for (const settle of [...this.#wake]) settle();
  }
}

function* pieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; from += pieceBytesMax) yield text.slice(from, from + pieceBytesMax);
}

function selected(entries: readonly Entry[], options: LogOptions, now: number): readonly Entry[] {
  const { sinceSeconds, sinceTime, tailLines } = options;
  const since = sinceTime ?? (sinceSeconds === undefined ? undefined : now - sinceSeconds * 1000);
  const late = since === undefined ? entries : entries.filter(({ ns }) => ns >= BigInt(Math.floor(since)) * 1_000_000n);
  return tailLines === undefined ? late : lastLines(late, tailLines);
}

function lastLines(entries: readonly Entry[], lines: number): readonly Entry[] {
  if (lines === 0) return [];
  let seen = 0;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const isEnd = at === entries.length - 1 || entries[at]?.text.endsWith('\n') === true;
    if (!isEnd) continue;
    seen += 1;
    if (seen > lines) return entries.slice(at + 1);
  }
  return entries;
}
