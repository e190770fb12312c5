/**
 * Waiting for something to become true of a state that changes by steps: the state's owner calls `check` after each.
 *
 * Every wait ends: by its condition, by its signal, or by `close`. None leaves a listener behind.
 */
interface Waiter {
  /** True once it has ended. */
  check(): boolean;
  reject(error: unknown): void;
}

export class Waiters {
  readonly #waiters = new Set<Waiter>();
  #closed: { readonly error: unknown } | undefined;

  /** Resolves with the first value of `read` that is not undefined: now, or after a later change. */
  until<T>(read: () => T | undefined, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => waiter.reject(signal?.reason);
      const waiter: Waiter = {
        check: () => {
          const value = read();
          if (value === undefined) return false;
          this.#end(waiter, signal, onAbort);
          resolve(value);
          return true;
        },
        reject: (error) => {
          this.#end(waiter, signal, onAbort);
          reject(error);
        },
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      try {
        if (waiter.check()) return;
      } catch (error) {
        reject(error);
        return;
      }
      if (this.#closed !== undefined) {
        reject(this.#closed.error);
        return;
      }
      this.#waiters.add(waiter);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Looks at every condition again. A condition that throws rejects its own wait. */
  check(): void {
    for (const waiter of [...this.#waiters]) {
      try {
        waiter.check();
      } catch (error) {
        waiter.reject(error);
      }
    }
  }

  /** Rejects what waits, and everything that would wait from now on. */
  close(error: unknown): void {
    this.#closed ??= { error };
    for (const waiter of [...this.#waiters]) waiter.reject(error);
  }

  get size(): number {
    return this.#waiters.size;
  }

  #end(waiter: Waiter, signal: AbortSignal | undefined, onAbort: () => void): void {
    this.#waiters.delete(waiter);
    signal?.removeEventListener('abort', onAbort);
  }
}
