/** The one source of chance of a cluster: seeded, so that a run can be repeated. */

/** A stream of its own for each user (`fork`), so that one user's draws do not shift another's. */
export class Random {
  #state: number;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed >>> 0;
    this.#state = this.#seed;
  }

  fork(name: string): Random {
    let hash = this.#seed ^ 0x9e3779b9;
    for (const char of name) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
    return new Random(hash);
  }

  /** In [0, 1). Mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [from, to]. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** A fixed duration, or one drawn from a range. */
  duration(span: number | readonly [from: number, to: number]): number {
    return typeof span === 'number' ? span : this.between(span[0], span[1]);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  shuffle<T>(items: readonly T[]): T[] {
    const result = [...items];
    for (let at = result.length - 1; at > 0; at -= 1) {
      const other = this.integer(0, at);
      const held = result[at] as T;
      result[at] = result[other] as T;
      result[other] = held;
    }
    return result;
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.integer(0, 15).toString(16)).join('');
  }

  /** Version 4, as the API server makes them. */
  uuid(): string {
    const variant = '89ab'.charAt(this.integer(0, 3));
    return `${this.hex(8)}-${this.hex(4)}-4${this.hex(3)}-${variant}${this.hex(3)}-${this.hex(12)}`;
  }

  /** The suffix of generateName: no vowels, so that no words come out. */
  suffix(length = 5): string {
    const letters = 'bcdfghjklmnpqrstvwxz2456789';
    return Array.from({ length }, () => letters.charAt(this.integer(0, letters.length - 1))).join('');
  }
}
