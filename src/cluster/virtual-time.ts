/** Moves a virtual clock while letting everything that waits on promises run in between. */
import type { VirtualClock } from '../clock.ts';

/** All that can happen without time passing has happened. */
export function settled(): Promise<void> {
  // Callbacks of setImmediate run after every microtask, and after those they made.
  return new Promise((resolve) => void setImmediate(resolve));
}

/** From timer to timer, settling after each time; resolves at `byMs` from now. */
export async function passTime(clock: VirtualClock, byMs: number): Promise<void> {
  const until = clock.now() + byMs;
  await settled();
  for (let next = clock.nextAt; next !== undefined && next <= until; next = clock.nextAt) {
    clock.advanceTo(next);
    await settled();
  }
  clock.advanceTo(until);
}

/** As `passTime`, until `condition` holds; false when it does not within `withinMs`. */
export async function passTimeUntil(clock: VirtualClock, withinMs: number, condition: () => boolean): Promise<boolean> {
  const until = clock.now() + withinMs;
  await settled();
  while (!condition()) {
    const next = clock.nextAt;
    if (next === undefined || next > until) {
      clock.advanceTo(until);
      return condition();
    }
    clock.advanceTo(next);
    await settled();
  }
  return true;
}
