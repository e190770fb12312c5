/**
 * How far a log was read, exactly enough to go on in another response or another process.
 *
 * The kubelet can be asked only for lines from a whole second on, and answers with them in the order of its file. So a
 * position is that second and how many lines of its answer are known: neither equal times nor times out of order (the
 * two streams of a container are stamped apart) can lose or repeat a line. The times of the first and of the last of
 * these lines tell whether the file still begins where it did, or was rotated away.
 */
import { PodwrightError } from '../errors.ts';
import { compareTimes, type LogTime } from './log-time.ts';

export interface Window {
  /** The second from which the kubelet is asked. */
  readonly since: number;
  /** Lines from there on that were read whole; at least 1. */
  readonly count: number;
  readonly first: LogTime;
  readonly last: LogTime;
  /** How many of the lines at the end have just the time `last`. */
  readonly ordinal: number;
}

export interface Position {
  /** null while no line was read whole. */
  readonly window: Window | null;
  /** Pieces of the line after it that were read. */
  readonly pieces: number;
}

export const logStart: Position = { window: null, pieces: 0 };

const version = 'v1';

export function encodePosition({ window, pieces }: Position): string {
  if (window === null) return `${version}:${pieces}`;
  const { since, count, first, last, ordinal } = window;
  return `${version}:${pieces}:${since}:${count}:${encodeTime(first)}:${encodeTime(last)}:${ordinal}`;
}

/** Throws ERR_PODWRIGHT_USAGE for anything that `encodePosition` did not give. */
export function decodePosition(text: string): Position {
  const [found, ...fields] = text.split(':');
  const numbers = fields.flatMap((field) => field.split('.')).map(Number);
  const isSound = found === version && numbers.every((number) => Number.isSafeInteger(number) && number >= 0);
  const [pieces, since, count, firstSeconds, firstNanos, lastSeconds, lastNanos, ordinal] = numbers;
  if (isSound && pieces !== undefined && numbers.length === 1) return { window: null, pieces };
  if (
    !isSound ||
    numbers.length !== 8 ||
    pieces === undefined ||
    since === undefined ||
    count === undefined ||
    firstSeconds === undefined ||
    firstNanos === undefined ||
    lastSeconds === undefined ||
    lastNanos === undefined ||
    ordinal === undefined
  ) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no position in a log`, {
      remedy: 'Give the `position` of a line that was read before, unchanged.',
    });
  }
  const first = { seconds: firstSeconds, nanos: firstNanos };
  return { window: { since, count, first, last: { seconds: lastSeconds, nanos: lastNanos }, ordinal }, pieces };
}

function encodeTime({ seconds, nanos }: LogTime): string {
  return `${seconds}.${nanos}`;
}

/**
 * How far apart in the file lines may stand in the wrong order. The runtime stamps a line before it writes it, so two
 * streams can overtake each other by the time of a write.
 */
const disorderNanos = 100_000_000;

interface Bucket {
  count: number;
  readonly first: LogTime;
}

/** Keeps the window of the lines that were read. */
export class WindowTracker {
  /** By second, in the order of their first lines; none is before `#since`. */
  readonly #buckets = new Map<number, Bucket>();
  #since = Number.NEGATIVE_INFINITY;
  #last: LogTime | null = null;
  #ordinal = 0;

  /** A line older than the window is not in the kubelet's next answer either, and does not count. */
  note(time: LogTime): void {
    if (time.seconds < this.#since) return;
    this.#advance(time);
    const bucket = this.#buckets.get(time.seconds);
    if (bucket === undefined) this.#buckets.set(time.seconds, { count: 1, first: time });
    else bucket.count++;
    this.#ordinal = this.#last !== null && compareTimes(this.#last, time) === 0 ? this.#ordinal + 1 : 1;
    this.#last = time;
  }

  get window(): Window | null {
    const [first] = this.#buckets.values();
    if (first === undefined || this.#last === null) return null;
    let count = 0;
    for (const bucket of this.#buckets.values()) count += bucket.count;
    return { since: this.#since, count, first: first.first, last: this.#last, ordinal: this.#ordinal };
  }

  #advance(time: LogTime): void {
    const since = time.nanos < disorderNanos ? time.seconds - 1 : time.seconds;
    if (since <= this.#since) return;
    this.#since = since;
    for (const second of this.#buckets.keys()) {
      if (second < since) this.#buckets.delete(second);
    }
  }
}

/** The times of the lines given out last, for a file whose beginning was rotated away within them. */
export class RecentTimes {
  /** By tenth of a second, then by the nanoseconds in it, how many lines. Two tenths are kept. */
  readonly #slots = new Map<number, Map<number, number>>();
  #newest = Number.NEGATIVE_INFINITY;

  note(time: LogTime): void {
    const slot = slotOf(time);
    if (slot > this.#newest) {
      this.#newest = slot;
      for (const each of this.#slots.keys()) {
        if (each < slot - 1) this.#slots.delete(each);
      }
    }
    let times = this.#slots.get(slot);
    if (times === undefined) {
      times = new Map();
      this.#slots.set(slot, times);
    }
    times.set(time.nanos, (times.get(time.nanos) ?? 0) + 1);
  }

  /** How many lines of just this time were given out; all that there are when it is older than any disorder. */
  count(time: LogTime): number {
    const slot = slotOf(time);
    if (slot < this.#newest - 1) return Number.POSITIVE_INFINITY;
    return this.#slots.get(slot)?.get(time.nanos) ?? 0;
  }
}

function slotOf({ seconds, nanos }: LogTime): number {
  return seconds * 10 + Math.floor(nanos / disorderNanos);
}

/** Tells the lines of a new answer that were read before from those that are new. */
export class Replay {
  readonly #window: Window | null;
  readonly #recent: RecentTimes | null;
  #state: 'counting' | 'searching' | 'over';
  /** Lines counted, or met by time. */
  #seen = 0;
  readonly #met = new Map<string, number>();
  #isProven: boolean;

  /** `recent` is null for a position of another process: then a disorder within the last tenth of a second is not seen. */
  constructor(window: Window | null, recent: RecentTimes | null) {
    this.#window = window;
    this.#recent = recent;
    this.#state = window === null ? 'over' : 'counting';
    this.#isProven = window === null;
  }

  /** Whether every known line was met, or is met no more: what comes now is new. */
  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Whether the last known line was met again, so that nothing can be missing between it and what is new. */
  get isProven(): boolean {
    return this.#isProven;
  }

  /** To be asked of each line in order, until it says false. */
  isKnown(time: LogTime): boolean {
    if (this.#window === null || this.#state === 'over') return false;
    if (this.#state === 'counting' && this.#seen === 0 && compareTimes(time, this.#window.first) !== 0) {
      this.#state = 'searching';
    }
    return this.#state === 'counting' ? this.#count(this.#window) : this.#search(this.#window, time);
  }

  #count({ count }: Window): boolean {
    this.#seen++;
    if (this.#seen === count) {
      this.#state = 'over';
      this.#isProven = true;
    }
    return true;
  }

  /** The file begins later than it did: known lines are told by their times, until the last of them was met. */
  #search(window: Window, time: LogTime): boolean {
    const isKnown =
      this.#recent === null ? this.#isBeforeEnd(window, time) : this.#isRecent(window, this.#recent, time);
    if (!isKnown) this.#state = 'over';
    return isKnown;
  }

  /** Where one known line is, all later ones are. */
  #isRecent({ last }: Window, recent: RecentTimes, time: LogTime): boolean {
    const key = `${time.seconds}.${time.nanos}`;
    const met = (this.#met.get(key) ?? 0) + 1;
    this.#met.set(key, met);
    const count = recent.count(time);
    if (met > count) return false;
    this.#isProven = true;
    if (met === count && compareTimes(time, last) === 0) this.#state = 'over';
    return true;
  }

  #isBeforeEnd({ last, ordinal }: Window, time: LogTime): boolean {
    const order = compareTimes(time, last);
    if (order !== 0) return order < 0;
    this.#seen++;
    this.#isProven = true;
    if (this.#seen === ordinal) this.#state = 'over';
    return true;
  }
}
