/** A wait with a limit of its own that is not an error: gives undefined when the time is over first. */
import type { Clock } from '../clock.ts';
import type { Waiters } from './waiters.ts';

/** `limitMs` 0 waits without a limit. */
export async function untilOr<T>(
  clock: Clock,
  waiters: Waiters,
  read: () => T | undefined,
  limitMs: number,
  signal?: AbortSignal,
): Promise<T | undefined> {
  let over = false;
  const timer =
    limitMs <= 0
      ? undefined
      : clock.schedule(limitMs, () => {
          over = true;
          waiters.check();
        });
  try {
    const done = await waiters.until<{ readonly value: T | undefined }>(() => {
      const value = read();
      return value !== undefined || over ? { value } : undefined;
    }, signal);
    return done.value;
  } finally {
    timer?.cancel();
  }
}
