/** Notices that a watch has gone silent, or goes on for longer than it should. */
import type { Clock, Timer } from '../clock.ts';

/** Calls `onStall` when nothing was heard for `silenceMs`, or the whole took `overdueInMs`. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #onStall: () => void;
  readonly #overdue: Timer;
  #silence: Timer;
  #heardAt: number;

  constructor(clock: Clock, silenceMs: number, overdueInMs: number, onStall: () => void) {
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#onStall = onStall;
    this.#heardAt = clock.now();
    this.#silence = clock.schedule(silenceMs, () => this.#look());
    this.#overdue = clock.schedule(overdueInMs, onStall);
  }

  heard(): void {
    this.#heardAt = this.#clock.now();
  }

  cancel(): void {
    this.#silence.cancel();
    this.#overdue.cancel();
  }

  /** Re-arms itself for the rest, so that hearing something costs no timer. */
  #look(): void {
    const leftMs = this.#heardAt + this.#silenceMs - this.#clock.now();
    if (leftMs > 0) this.#silence = this.#clock.schedule(leftMs, () => this.#look());
    else this.#onStall();
  }
}
