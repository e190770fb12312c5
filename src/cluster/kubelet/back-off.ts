/** Growing waits by key (client-go `flowcontrol.Backoff`). */
import type { Clock } from '../../clock.ts';

interface Entry {
  delayMs: number;
  updatedAt: number;
}

export class BackOff {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #longestMs: number;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock, firstMs: number, longestMs: number) {
    this.#clock = clock;
    this.#firstMs = firstMs;
    this.#longestMs = longestMs;
  }

  /** Doubles the wait, or begins anew when the last failure is long ago. `at`: when the thing failed. */
  next(key: string, at = this.#clock.now()): void {
    const entry = this.#entries.get(key);
    const known = entry !== undefined && at - entry.updatedAt <= 2 * this.#longestMs;
    const delayMs = known ? Math.min(entry.delayMs * 2, this.#longestMs) : this.#firstMs;
    this.#entries.set(key, { delayMs, updatedAt: this.#clock.now() });
  }

  /** The wait that is left after a failure at `at`, in milliseconds; 0 when there is none. */
  leftSince(key: string, at: number): number {
    const entry = this.#entries.get(key);
    if (entry === undefined || at - entry.updatedAt > 2 * this.#longestMs) return 0;
    return Math.max(0, at + entry.delayMs - this.#clock.now());
  }

  /** As `leftSince`, counted from the last `next`. */
  left(key: string): number {
    const entry = this.#entries.get(key);
    return entry === undefined ? 0 : this.leftSince(key, entry.updatedAt);
  }

  delay(key: string): number {
    return this.#entries.get(key)?.delayMs ?? 0;
  }

  /** Forgets all keys that begin so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
