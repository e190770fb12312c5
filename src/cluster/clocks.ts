/** The clocks of a cluster: one that can be shut down, and the node's, which may be wrong. */
import type { Clock, Timer } from '../clock.ts';

/** A clock whose timers can all be cancelled at once: what guarantees that a stopped cluster leaves none. */
export class ScopedClock implements Clock {
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  #closed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  /** After `close` nothing is scheduled any more. */
  schedule(delayMs: number, callback: () => void): Timer {
    if (this.#closed) return { cancel: () => undefined };
    const timer = this.#clock.schedule(delayMs, () => {
      this.#timers.delete(timer);
      callback();
    });
    this.#timers.add(timer);
    return {
      cancel: () => {
        this.#timers.delete(timer);
        timer.cancel();
      },
    };
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

/** A clock that shows another time than the one it follows: of a node whose clock is wrong. */
export class SkewedClock implements Clock {
  readonly #clock: Clock;
  /** Milliseconds by which it is ahead. */
  skewMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.skewMs;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    return this.#clock.schedule(delayMs, callback);
  }
}
