/**
 * Log responses of one container instance, put together to its log: each line once. Pure: knows bytes, no connection.
 */
import { assert } from '../assert.ts';
import type { LogGap, LogLine, LogPosition } from './line.ts';
import { type LinePiece, LineSplitter } from './lines.ts';
import {
  formatSeconds,
  formatTime,
  type LogTime,
  mayBeginTimestamp,
  readTimestamp,
  type Timestamp,
} from './log-time.ts';
import {
  decodePosition,
  encodePosition,
  logStart,
  type Position,
  RecentTimes,
  Replay,
  WindowTracker,
} from './position.ts';

/** A place where the time of the lines leaps: the container was silent, or files were rotated past a slow reader. */
export interface Leap {
  /** Of the line after it, among those of the push. */
  readonly index: number;
  readonly from: LogTime;
  readonly ms: number;
}

/** The kubelet can be told to look for logs to rotate every three seconds, not more often. */
export const fastestRotationMs = 3_000;

export class LogAssembler {
  /** Up to the last line that was given out. */
  #position: Position;
  #splitter = new LineSplitter();
  #replay = new Replay(null, null);
  /** Of this process; null when the position came from another one. */
  #recent: RecentTimes | null;
  #tracker = new WindowTracker();
  /** The line that is being read; its first piece has been seen. */
  #line: Timestamp | null = null;
  #isKnownLine = false;
  /** Whether this response has had a line that is new. */
  #hasNew = false;
  /** Of the present line: seen in this response, and given out before it. */
  #pieces = 0;
  #piecesToSkip = 0;
  #complaint: string | null = null;
  /** Of the last line that this response added. */
  #lastTime: LogTime | null = null;
  #leaps: Leap[] = [];

  constructor(from?: string) {
    this.#position = from === undefined ? logStart : decodePosition(from);
    this.#recent = from === undefined ? new RecentTimes() : null;
  }

  get position(): string {
    return encodePosition(this.#position);
  }

  /** What to ask the kubelet for; undefined for the whole log. */
  get sinceTime(): string | undefined {
    const { window } = this.#position;
    return window === null ? undefined : formatSeconds(window.since);
  }

  /** Time of the last line that was given out, null before the first. */
  get lastAt(): string | null {
    const { window } = this.#position;
    return window === null ? null : formatTime(window.last);
  }

  /** Words of the kubelet in place of a line: the log could not be read on from there. */
  get complaint(): string | null {
    return this.#complaint;
  }

  /** Whether this response has reached the end of what was known before it. */
  get isCaughtUp(): boolean {
    return this.#replay.isOver;
  }

  /** Of the last push. */
  get leaps(): readonly Leap[] {
    return this.#leaps;
  }

  /** Takes back what was given out after `position`. */
  rewind(position: LogPosition): void {
    this.#position = decodePosition(position);
    this.#recent = null;
  }

  /** To be called before the bytes of each response. */
  begin(): void {
    this.#splitter = new LineSplitter();
    this.#replay = new Replay(this.#position.window, this.#recent);
    this.#tracker = new WindowTracker();
    this.#line = null;
    this.#hasNew = false;
    this.#complaint = null;
    this.#lastTime = null;
  }

  /** The lines that these bytes complete. Nothing may be pushed after a complaint. */
  push(chunk: Uint8Array): LogLine[] {
    const lines: LogLine[] = [];
    this.#leaps = [];
    for (const piece of this.#splitter.push(chunk)) {
      this.#take(piece, lines);
      if (this.#complaint !== null) break;
    }
    return lines;
  }

  /**
   * What stands after the last line break, once the response has ended: words of the kubelet, or a line that was cut
   * off or has no end. `takeRest` gives the line out, for a caller who knows that it has no end.
   */
  get rest(): { readonly length: number; readonly complaint: string | null } {
    const piece = this.#splitter.rest;
    if (piece === null) return { length: 0, complaint: null };
    const { bytes, isFirst } = piece;
    const isLine = !isFirst || readTimestamp(bytes) !== null || mayBeginTimestamp(bytes);
    return { length: bytes.length, complaint: isLine ? null : bytes.toString('utf8') };
  }

  takeRest(): LogLine[] {
    const lines: LogLine[] = [];
    const piece = this.#splitter.rest;
    if (piece !== null) this.#take(piece, lines);
    return lines;
  }

  #take(piece: LinePiece, lines: LogLine[]): void {
    if (piece.isFirst) {
      const start = readTimestamp(piece.bytes);
      if (start === null) {
        this.#complaint = piece.bytes.toString('utf8');
        return;
      }
      this.#beginLine(start, lines);
    }
    const start = this.#line;
    assert(start !== null, 'a piece belongs to a line that has begun');
    this.#pieces++;
    if (piece.isLast) this.#tracker.note(start.time);
    if (this.#isKnownLine || (this.#pieces <= this.#piecesToSkip && !piece.isLast)) return;
    if (piece.isLast) this.#recent?.note(start.time);
    if (piece.isFirst) this.#noteLeap(start.time, lines.length);
    this.#position = { window: this.#tracker.window, pieces: piece.isLast ? 0 : this.#pieces };
    lines.push({
      text: piece.bytes.toString('utf8', piece.isFirst ? start.length : 0),
      at: start.text,
      position: this.position,
      ...(piece.isLast ? {} : { partial: true }),
    });
  }

  #noteLeap(time: LogTime, index: number): void {
    const from = this.#lastTime;
    this.#lastTime = time;
    if (from === null) return;
    const ms = (time.seconds - from.seconds) * 1000 + (time.nanos - from.nanos) / 1e6;
    if (ms >= fastestRotationMs) this.#leaps.push({ index, from, ms });
  }

  #beginLine(start: Timestamp, lines: LogLine[]): void {
    this.#line = start;
    this.#pieces = 0;
    this.#piecesToSkip = 0;
    this.#isKnownLine = this.#replay.isKnown(start.time);
    if (this.#isKnownLine || this.#hasNew) return;
    this.#hasNew = true;
    if (this.#replay.isProven) this.#piecesToSkip = this.#position.pieces;
    else
      lines.push(gapLine(this.position, { after: this.lastAt, before: start.text, reason: 'rotated', message: null }));
  }
}

/** `position` stays that of the line before: a gap is told again to who goes on from there. */
export function gapLine(position: LogPosition, gap: LogGap): LogLine {
  return { text: '', at: gap.before ?? gap.after ?? '', position, gap };
}
