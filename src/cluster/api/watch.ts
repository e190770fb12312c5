/**
 * WATCH: the body of one watch, a JSON line a frame.
 *
 * Frames come in the order of revisions, each once. A reader that does not keep up is cut off without a word, as the
 * real server does.
 */
import type { Timer } from '../../clock.ts';
import { Channel } from '../channel.ts';
import { encode } from '../json.ts';
import type { Revision } from '../store/revisions.ts';
import type { ApiObject } from '../types.ts';
import { type Call, prefixOf } from './context.ts';
import { type ListOptions, listOptions } from './options.ts';
import { served } from './read.ts';
import { apiVersionOf } from './resources.ts';
import { expired, futureVersion, StatusError } from './status.ts';
import { tableRequested, WatchTables } from './table.ts';

/** Frames that wait for a slow reader before it is cut off. */
const bufferedFrames = 10_000;
const bookmarkPeriodMs = 60_000;
/** A last bookmark comes this long before the timeout. */
const lastBookmarkMs = 2_000;
/** Without timeoutSeconds a watch lasts between one and two times this. */
const minimumTimeoutMs = 1_800_000;

const initialEventsEnd = { 'k8s.io/initial-events-end': 'true' };

export function watchObjects(call: Call): AsyncIterable<string> {
  return new WatchStream(call, listOptions(call)).body;
}

class WatchStream {
  readonly body: Channel<string>;
  readonly #call: Call;
  readonly #options: ListOptions;
  readonly #prefix: string;
  readonly #timers = new Set<Timer>();
  /** Undefined when objects are asked for. */
  readonly #tables: WatchTables | undefined;
  #unsubscribe: () => void = () => undefined;
  /** Revisions up to it are not sent: the watch begins after them. */
  #after = 0;

  constructor(call: Call, options: ListOptions) {
    this.#call = call;
    this.#options = options;
    this.#prefix = prefixOf(call);
    this.#tables = tableRequested(call.request) ? new WatchTables(call) : undefined;
    this.body = new Channel(() => this.#close());
    try {
      this.#begin();
    } catch (error) {
      // The answer is 200 by then: a watch tells its errors in the stream.
      if (!(error instanceof StatusError)) throw error;
      this.body.push(frame('ERROR', JSON.stringify(error.status)));
      this.body.end();
    }
  }

  #begin(): void {
    const { context, definition } = this.#call;
    const { resourceVersion, sendInitialEvents, timeoutSeconds } = this.#options;
    const fromState = sendInitialEvents ?? (resourceVersion === '' || resourceVersion === '0');
    if (fromState) this.#sendState(resourceVersion);
    else this.#sendHistory(Number(resourceVersion));
    this.#unsubscribe = context.store.subscribe(definition.storage, (revision) => this.#offer(revision));
    const timeoutMs =
      timeoutSeconds === undefined || timeoutSeconds <= 0
        ? context.random.between(minimumTimeoutMs, 2 * minimumTimeoutMs)
        : timeoutSeconds * 1000;
    this.#later(timeoutMs, () => this.body.end());
    if (!this.#options.bookmarks || !definition.cached) return;
    this.#every(bookmarkPeriodMs, () => this.#bookmark());
    if (timeoutMs > lastBookmarkMs) this.#later(timeoutMs - lastBookmarkMs, () => this.#bookmark());
  }

  /** The present objects as ADDED, in the order of their keys, not of their revisions. */
  #sendState(resourceVersion: string): void {
    const { context, definition } = this.#call;
    const { store } = context;
    const least = resourceVersion === '' ? 0 : Number(resourceVersion);
    if (least > store.current) throw futureVersion(least, store.current);
    for (const object of store.list(definition.storage, this.#prefix)) {
      if (this.#options.matches(object)) this.#send('ADDED', object);
    }
    if (this.#options.sendInitialEvents === true && this.#options.bookmarks) this.#bookmark(initialEventsEnd);
  }

  #sendHistory(after: number): void {
    const { context, definition } = this.#call;
    const { store } = context;
    const revisions = store.since(definition.storage, after);
    if (revisions === undefined) {
      throw expired(
        definition.cached
          ? `too old resource version: ${after} (${store.oldest(definition.storage)})`
          : 'The resourceVersion for the provided watch is too old.',
      );
    }
    this.#after = after;
    for (const revision of revisions) this.#offer(revision);
  }

  /** Sends what the change means to this selector. */
  #offer(revision: Revision): void {
    if (revision.number <= this.#after || !revision.key.startsWith(this.#prefix)) return;
    const { matches } = this.#options;
    const { type, object, previous } = revision;
    const before = previous !== undefined && matches(previous);
    const after = type !== 'DELETED' && matches(object);
    if (after) this.#send(before ? 'MODIFIED' : 'ADDED', object);
    else if (before) this.#send('DELETED', type === 'DELETED' ? object : withVersionOf(previous, object));
  }

  #send(type: string, object: ApiObject): void {
    const shown = served(this.#call, object);
    this.body.push(frame(type, this.#tables?.text(shown) ?? encode(shown)));
    if (this.body.size > bufferedFrames) void this.body.return();
  }

  #bookmark(annotations?: Readonly<Record<string, string>>): void {
    const { context, definition } = this.#call;
    const object = {
      kind: definition.kind,
      apiVersion: apiVersionOf(definition),
      metadata: { resourceVersion: String(context.store.current), ...(annotations && { annotations }) },
      ...(definition.kind === 'Pod' && { spec: { containers: null }, status: {} }),
    };
    const text = this.#tables?.text(object as unknown as ApiObject) ?? JSON.stringify(object);
    this.body.push(frame('BOOKMARK', text));
  }

  #later(delayMs: number, run: () => void): void {
    const timer = this.#call.context.clock.schedule(delayMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  #every(periodMs: number, run: () => void): void {
    this.#later(periodMs, () => {
      run();
      this.#every(periodMs, run);
    });
  }

  #close(): void {
    this.#unsubscribe();
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }
}

function frame(type: string, object: string): string {
  return `{"type":"${type}","object":${object}}\n`;
}

/** What fell out of the selector is told as it was, at the revision at which it fell out. */
function withVersionOf(object: ApiObject, { metadata }: ApiObject): ApiObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion: metadata.resourceVersion } };
}
