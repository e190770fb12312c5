/**
 * Writes a bounded log to one HTTP response for as long as its reader listens.
 *
 * 1. Entries go out in order, each once, as fast as the reader takes them: no more than one batch waits in this
 *    process for a reader that does not read.
 * 2. A reader for whom entries were dropped gets one last message that says so, and its connection ends; one that does
 *    not even take that is cut off.
 * 3. A closed connection ends the work at once, also while nothing is published.
 */
import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../clock.ts';
import type { Entry, LogCursor } from '../bounded-log.ts';

export interface StreamOptions<T> {
  readonly clock: Clock;
  /** The bytes of one entry; null for one that this reader does not get. */
  readonly encode: (entry: Entry<T>) => Buffer | string | null;
  /** The last message of a reader that was too slow. */
  readonly dropped: (missed: number) => string;
  /** The last message when there is nothing more to come. */
  readonly ended?: () => string;
  /** Ends when everything that is there now was written. */
  readonly follow: boolean;
  /** Sent when nothing else was for a while. */
  readonly heartbeat?: string;
}

export type StreamEnd = 'ended' | 'dropped' | 'closed';

const batchEntries = 512;
const batchBytes = 64 * 1024;
/** How often a blocked reader is looked at. */
const lagCheckMs = 1000;
/** How long a dropped reader may take to fetch its last message. */
const lastMessageMs = 10_000;
const heartbeatMs = 15_000;

export async function streamLog<T>(
  response: ServerResponse,
  cursor: LogCursor<T>,
  options: StreamOptions<T>,
): Promise<StreamEnd> {
  const closed = new AbortController();
  const onClose = (): void => closed.abort();
  response.once('close', onClose);
  const beat = new Heartbeat(response, options);
  try {
    while (!closed.signal.aborted && !response.destroyed) {
      const reading = cursor.take(batchEntries, batchBytes);
      if (reading.kind === 'lagged') return drop(response, options, reading.missed);
      if (reading.kind === 'closed') return end(response, options.ended?.());
      if (reading.entries.length === 0) {
        if (!options.follow) return end(response);
        await cursor.changed(closed.signal);
        continue;
      }
      if (writeAll(response, reading.entries, options)) beat.written();
      if (response.writableNeedDrain) await drained(response, cursor, options.clock, closed.signal);
    }
    return 'closed';
  } finally {
    beat.stop();
    response.off('close', onClose);
  }
}

/** Whether anything was written. */
function writeAll<T>(response: ServerResponse, entries: readonly Entry<T>[], options: StreamOptions<T>): boolean {
  let any = false;
  response.cork();
  for (const entry of entries) {
    const bytes = options.encode(entry);
    if (bytes === null || bytes.length === 0) continue;
    response.write(bytes);
    any = true;
  }
  response.uncork();
  return any;
}

/** Until the reader has taken what was written, has fallen out of the log, or is gone. */
async function drained<T>(
  response: ServerResponse,
  cursor: LogCursor<T>,
  clock: Clock,
  closed: AbortSignal,
): Promise<void> {
  await new Promise<void>((resolve) => {
    let timer: Timer | undefined;
    const done = (): void => {
      timer?.cancel();
      response.off('drain', done);
      closed.removeEventListener('abort', done);
      resolve();
    };
    const look = (): void => {
      if (cursor.isLagging) done();
      else timer = clock.schedule(lagCheckMs, look);
    };
    response.once('drain', done);
    closed.addEventListener('abort', done, { once: true });
    if (closed.aborted) done();
    else look();
  });
}

function drop<T>(response: ServerResponse, options: StreamOptions<T>, missed: number): StreamEnd {
  const cut = options.clock.schedule(lastMessageMs, () => response.destroy());
  response.once('close', () => cut.cancel());
  response.end(options.dropped(missed));
  return 'dropped';
}

function end(response: ServerResponse, last?: string): StreamEnd {
  response.end(last);
  return 'ended';
}

class Heartbeat {
  readonly #response: ServerResponse;
  readonly #text: string | undefined;
  readonly #clock: Clock;
  #timer: Timer | undefined;

  constructor(response: ServerResponse, options: { readonly clock: Clock; readonly heartbeat?: string }) {
    this.#response = response;
    this.#text = options.heartbeat;
    this.#clock = options.clock;
    this.#arm();
  }

  written(): void {
    this.#timer?.cancel();
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const text = this.#text;
    if (text === undefined) return;
    this.#timer = this.#clock.schedule(heartbeatMs, () => {
      if (!this.#response.writableNeedDrain) this.#response.write(text);
      this.#arm();
    });
  }
}
