/** How long it is worth to go on asking for the log of an instance that has ended, or was canceled. */
import type { Clock } from '../clock.ts';

/**
 * Time and tries in a row after which there is no hope. Both, since on a slow server few tries take long.
 *
 * `silent` nothing came for too long · `connection` passes, however long it takes · `unavailable` may last for ever, but
 * a kubelet is restarted within a minute · `shortened` the file lacks what was read of it: a proxy that ends responses
 * early does so once or twice, a file that was rotated stays short · `gone` lasts for ever.
 */
const limits = {
  silent: { ms: Number.POSITIVE_INFINITY, tries: 1 },
  connection: { ms: Number.POSITIVE_INFINITY, tries: 1 },
  unavailable: { ms: 60_000, tries: 5 },
  shortened: { ms: 3_000, tries: 5 },
  gone: { ms: 0, tries: 1 },
} as const;

export type TroubleKind = keyof typeof limits;

export class Patience {
  readonly #clock: Clock;
  readonly #isBounded: boolean;
  #since: number | null = null;
  #tries = 0;

  /** With `isBounded` trouble that passes is given no more time than trouble that may not. */
  constructor(clock: Clock, isBounded: boolean) {
    this.#clock = clock;
    this.#isBounded = isBounded;
  }

  restore(): void {
    this.#since = null;
    this.#tries = 0;
  }

  /** To be asked once for each trouble. Trouble that passes by itself restores all. */
  isOver(kind: TroubleKind): boolean {
    const isPassing = limits[kind].ms === Number.POSITIVE_INFINITY;
    if (isPassing && !this.#isBounded) {
      this.restore();
      return false;
    }
    const { ms, tries } = isPassing ? limits.unavailable : limits[kind];
    const now = this.#clock.now();
    this.#since ??= now;
    this.#tries++;
    return this.#tries >= tries && now - this.#since >= ms;
  }
}
