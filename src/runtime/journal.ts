/**
 * What happened to one build, in order: the source of `streamBuild` and of the story that a time-out tells.
 *
 * Bounded: the oldest items are dropped, and a reader who had not seen them is told how many. A reader who comes late
 * begins with the oldest item that is kept; a slow one delays nobody.
 */
import type { BuildStreamItem, RuntimeHealth } from './contract.ts';
import { Waiters } from './waiters.ts';

/** Enough for a pod of a hundred containers from create to removal. */
const keptItems = 4096;
const storyLines = 20;

type Kept = Exclude<BuildStreamItem, { kind: 'lost' }>;
type Unnumbered<T> = T extends unknown ? Omit<T, 'sequence'> : never;

export class Journal {
  readonly #kept: Kept[] = [];
  readonly #waiters = new Waiters();
  readonly #limit: number;
  #last = 0;
  #ended = false;

  constructor(limit: number = keptItems) {
    this.#limit = limit;
  }

  add(item: Unnumbered<Kept>): void {
    if (this.#ended) return;
    this.#kept.push({ ...item, sequence: ++this.#last } as Kept);
    if (this.#kept.length > this.#limit) this.#kept.shift();
    this.#waiters.check();
  }

  /** Readers get what is kept and then end. */
  end(): void {
    this.#ended = true;
    this.#waiters.check();
  }

  /** Items with a sequence number above `after`. Ends after the last one, or quietly when the signal aborts. */
  async *read(after: number, signal?: AbortSignal): AsyncGenerator<BuildStreamItem, void, undefined> {
    let seen = after;
    while (signal?.aborted !== true) {
      const oldest = this.#last - this.#kept.length + 1;
      if (seen + 1 < oldest) {
        yield { kind: 'lost', sequence: oldest - 1, count: oldest - 1 - seen };
        seen = oldest - 1;
        continue;
      }
      const item = this.#kept[seen + 1 - oldest];
      if (item !== undefined) {
        seen = item.sequence;
        yield item;
      } else if (this.#ended) return;
      else if (!(await this.#more(seen, signal))) return;
    }
  }

  /** The last of it for a person, oldest first. */
  story(): readonly string[] {
    return this.#kept.slice(-storyLines).map(tell);
  }

  async #more(seen: number, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      await this.#waiters.until(() => (this.#ended || this.#last > seen ? true : undefined), signal);
      return true;
    } catch (error) {
      if (signal?.aborted === true) return false;
      throw error;
    }
  }
}

function tell(item: Kept): string {
  const time = new Date(item.at).toISOString().slice(11, 23);
  if (item.kind === 'health') return `${time} ${tellHealth(item.health)}`;
  if (item.kind === 'kubeEvent') {
    const about = item.container === null ? 'pod' : item.container;
    return `${time} Event ${item.reason} (${about}): ${item.message.trim()}`;
  }
  const { change } = item;
  const who = change.actor === 'container' ? `container ${change.container}` : change.actor;
  return `${time} ${who}: ${change.previous} → ${change.state}`;
}

function tellHealth({ pods, events }: RuntimeHealth): string {
  const error = pods.lastError ?? events.lastError;
  return `watches: pods ${pods.state}, events ${events.state}${error === null ? '' : ` (${error.message})`}`;
}
