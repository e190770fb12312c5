/** The rules in force, and the draw that says whether one applies. */
import type { Clock } from '../../clock.ts';
import type { Random } from '../random.ts';
import type { Fault, FaultRule } from './rules.ts';

interface Entry {
  readonly name: string;
  readonly rule: FaultRule;
  readonly fromMs: number;
  left: number;
}

export class RuleBook {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #entries: Entry[] = [];
  #names = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** The rules that may still apply, by name. */
  get rules(): readonly FaultRule[] {
    return this.#entries.map(({ name, rule }) => ({ ...rule, name }));
  }

  /** A rule of the same name is replaced. Gives the name. */
  add(rule: FaultRule): string {
    this.#names += 1;
    const name = rule.name ?? `fault-${this.#names}`;
    this.remove(name);
    const fromMs = this.#clock.now() + this.#random.duration(rule.afterMs ?? 0);
    const left = rule.times ?? (rule.rate === undefined ? 1 : Number.POSITIVE_INFINITY);
    this.#entries.push({ name, rule, fromMs, left });
    return name;
  }

  remove(name: string): boolean {
    const at = this.#entries.findIndex((entry) => entry.name === name);
    if (at >= 0) this.#entries.splice(at, 1);
    return at >= 0;
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** The fault of the first rule that fits and is drawn; what is used up goes. */
  draw(fits: (rule: FaultRule) => boolean): Fault | undefined {
    const now = this.#clock.now();
    for (const entry of this.#entries) {
      if (now < entry.fromMs || !fits(entry.rule)) continue;
      if (entry.rule.rate !== undefined && !this.#random.chance(entry.rule.rate)) continue;
      entry.left -= 1;
      if (entry.left <= 0) this.remove(entry.name);
      return entry.rule.fault;
    }
    return undefined;
  }
}
