/**
 * The events that the page has, and the state at any of them.
 *
 * States share what did not change between them, so one every `checkpointEvery` events is kept, and any other is
 * folded from the one before in no time.
 */
import { emptyState, reduce, type State } from '../../../events/state.ts';
import type { PodwrightEvent } from '../../../events/types.ts';

const checkpointEvery = 256;
/** Beyond this many events the oldest are folded into the base: a page that stays open for days must not grow. */
const eventsKept = 150_000;
/** So many at once; a multiple of `checkpointEvery`, so that the other checkpoints stay right. */
const foldedAtOnce = 200 * checkpointEvery;

export class Timeline {
  epoch = '';
  readonly events: PodwrightEvent[] = [];
  #base: State = emptyState;
  /** The states before event 0, 256, 512, … */
  #checkpoints: State[] = [emptyState];
  #latest: State = emptyState;
  #cached: { readonly count: number; readonly state: State } = { count: 0, state: emptyState };

  /** Forgets everything and begins with `state`. */
  reset(epoch: string, state: State): void {
    this.epoch = epoch;
    this.events.length = 0;
    this.#base = state;
    this.#checkpoints = [state];
    this.#latest = state;
    this.#cached = { count: 0, state };
  }

  append(event: PodwrightEvent): void {
    this.events.push(event);
    this.#latest = reduce(this.#latest, event);
    if (this.events.length % checkpointEvery === 0) this.#checkpoints.push(this.#latest);
    if (this.events.length > eventsKept) this.#foldOldest();
  }

  get latest(): State {
    return this.#latest;
  }

  /** The state after the first `count` events. */
  stateAt(count: number): State {
    if (count >= this.events.length) return this.#latest;
    if (count <= 0) return this.#base;
    if (this.#cached.count === count) return this.#cached.state;
    const checkpoint = Math.floor(count / checkpointEvery);
    const near = this.#cached.count < count && this.#cached.count >= checkpoint * checkpointEvery;
    let state = near ? this.#cached.state : (this.#checkpoints[checkpoint] ?? this.#base);
    for (let i = near ? this.#cached.count : checkpoint * checkpointEvery; i < count; i++) {
      const event = this.events[i];
      if (event !== undefined) state = reduce(state, event);
    }
    this.#cached = { count, state };
    return state;
  }

  /** How many events had happened at `at`. */
  countAt(at: number): number {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.events[middle]?.at ?? Number.POSITIVE_INFINITY) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #foldOldest(): void {
    this.#base = this.#checkpoints[foldedAtOnce / checkpointEvery] ?? this.stateAt(foldedAtOnce);
    this.#checkpoints = this.#checkpoints.slice(foldedAtOnce / checkpointEvery);
    this.events.splice(0, foldedAtOnce);
    this.#cached = { count: 0, state: this.#base };
  }

  get firstAt(): number {
    return this.events[0]?.at ?? 0;
  }

  get lastAt(): number {
    return this.events.at(-1)?.at ?? this.firstAt;
  }
}
