/** Keys to be worked on one after the other, each again later when its work failed or asks for it. */
import type { Clock, Timer } from '../../clock.ts';
import type { Logger } from '../../logger.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gives the milliseconds after which the key is due again; undefined when its work is done. */
  readonly work: (key: string) => Promise<number | undefined>;
}

const retryMs = 1_000;

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #keys = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  #working: Promise<void> | undefined;
  #stopped = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string, delayMs = 0): void {
    if (this.#stopped) return;
    if (delayMs > 0) {
      if (this.#timers.has(key)) return;
      const timer = this.#options.clock.schedule(delayMs, () => {
        this.#timers.delete(key);
        this.add(key);
      });
      this.#timers.set(key, timer);
      return;
    }
    this.#keys.add(key);
    this.#working ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#keys.clear();
    await this.#working;
  }

  async #run(): Promise<void> {
    for (let [key] = this.#keys; key !== undefined; [key] = this.#keys) {
      this.#keys.delete(key);
      try {
        const againMs = await this.#options.work(key);
        if (againMs !== undefined) this.add(key, againMs);
      } catch (error) {
        this.#options.logger.debug('a controller failed', { key, error });
        this.add(key, retryMs);
      }
    }
    // In the same breath as the last look: a key that is added between the two would lie until the next one.
    this.#working = undefined;
  }
}
