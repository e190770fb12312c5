/** Notices streams on which nothing comes, while somebody waits for it: a slow reader is not silence. */
import type { Clock, Timer } from '../clock.ts';
import type { ByteStream } from '../kube/resource.ts';

export class SilenceGuard {
  readonly #clock: Clock;
  #limitMs: number;
  /** The wait that is under way. */
  #wait: { readonly since: number; readonly onSilence: () => void; timer: Timer } | null = null;

  #lastWaitMs = 0;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  /** How long the last chunk was waited for: not at all when it was there before it was asked for. */
  get lastWaitMs(): number {
    return this.#lastWaitMs;
  }

  /** Also for the wait that is under way, counted from its beginning. */
  shorten(limitMs: number): void {
    this.#limitMs = limitMs;
    if (this.#wait === null) return;
    this.#wait.timer.cancel();
    const leftMs = this.#wait.since + limitMs - this.#clock.now();
    this.#wait.timer = this.#clock.schedule(Math.max(0, leftMs), this.#wait.onSilence);
  }

  /** Passes the chunks on; `onSilence` must make the stream end. */
  async *watch(stream: ByteStream, onSilence: () => void): AsyncGenerator<Uint8Array, void, undefined> {
    const iterator = stream[Symbol.asyncIterator]();
    let isOver = false;
    try {
      for (;;) {
        const result = await this.#next(iterator, onSilence);
        if (result.done === true) {
          isOver = true;
          return;
        }
        yield result.value;
      }
    } finally {
      if (!isOver) await iterator.return?.();
    }
  }

  async #next(iterator: AsyncIterator<Uint8Array>, onSilence: () => void): Promise<IteratorResult<Uint8Array>> {
    const timer = this.#clock.schedule(this.#limitMs, onSilence);
    this.#wait = { since: this.#clock.now(), onSilence, timer };
    try {
      return await iterator.next();
    } finally {
      this.#lastWaitMs = this.#clock.now() - this.#wait.since;
      this.#wait.timer.cancel();
      this.#wait = null;
    }
  }
}
