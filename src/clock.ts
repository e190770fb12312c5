/** The one source of time: everything that waits or stamps takes a `Clock`, so that tests can move it. */

export interface Timer {
  /** Idempotent; after it the callback does not run. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `callback` once after `delayMs`. Delays over 2^31-1 ms are honoured. */
  schedule(delayMs: number, callback: () => void): Timer;
}

/** setTimeout overflows above this and would fire at once. */
const longestDelayMs = 2 ** 31 - 1;

/** The real time. Its timers keep the process alive: whoever schedules also cancels. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, callback) {
    let handle: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const step = Math.min(leftMs, longestDelayMs);
      handle = setTimeout(() => (leftMs > step ? arm(leftMs - step) : callback()), step);
    };
    arm(Math.max(0, delayMs));
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs` of the clock's time; rejects with the signal's reason when aborted, leaving no timer. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.schedule(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

interface Entry {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that moves only when told. Timers fire in order of time, then of scheduling; `advance` steps from timer to
 * timer, so that a timer set by a timer fires in the same call when its time has come.
 */
export class VirtualClock implements Clock {
  #now: number;
  #order = 0;
  readonly #entries = new Set<Entry>();

  constructor(startMs = 0) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    const entry = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#entries.add(entry);
    return { cancel: () => void this.#entries.delete(entry) };
  }

  /** The time of the next timer, or undefined when there is none. */
  get nextAt(): number | undefined {
    return this.#next()?.at;
  }

  /** Moves the time forward to `atMs`, firing what is due on the way. */
  advanceTo(atMs: number): void {
    for (let entry = this.#next(); entry !== undefined && entry.at <= atMs; entry = this.#next()) {
      this.#entries.delete(entry);
      this.#now = Math.max(this.#now, entry.at);
      entry.callback();
    }
    this.#now = Math.max(this.#now, atMs);
  }

  advance(byMs: number): void {
    this.advanceTo(this.#now + byMs);
  }

  #next(): Entry | undefined {
    let next: Entry | undefined;
    for (const entry of this.#entries) {
      if (next === undefined || entry.at < next.at || (entry.at === next.at && entry.order < next.order)) next = entry;
    }
    return next;
  }
}
