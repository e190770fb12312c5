/**
 * Writes recordings: one line for each list, frame and request about pods and Events that passes through a client.
 *
 * Promises: lines are whole and in the order in which things happened; a request's line is written when its answer
 * came; nothing secret is written (`redact.ts`). The client behaves as the one it wraps, also when writing fails.
 */
import type { Clock } from '../clock.ts';
import { isPodwrightError } from '../errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { FrameDecoder } from '../kube/frames.ts';
import { type ByteStream, type KubeList, type KubeObject, type ResourcePath, urlPath } from '../kube/resource.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import type { RecordingMeta } from './recording.ts';
import { recordedBody, recordedEvent, recordedPod } from './redact.ts';

export interface RecorderOptions {
  /** Takes one line, with its line feed. */
  readonly write: (line: string) => void;
  readonly clock: Clock;
  readonly meta: RecordingMeta;
  /** Which pods are recorded, with their Events; all by default. */
  readonly isWanted?: (pod: Pod) => boolean;
}

type Resource = 'pods' | 'events';

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #began: number;
  readonly #wanted = new Set<string>();
  /** Events of pods that were not seen yet: an Event may be faster than its pod. */
  #early: { readonly type: string; readonly event: KubeEvent }[] = [];

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#began = options.clock.now();
    this.#line('meta', options.meta);
  }

  list(resource: Resource, list: KubeList<KubeObject>): void {
    const { resourceVersion } = list.metadata;
    if (resource === 'pods') {
      const items = (list.items as readonly Pod[]).filter((pod) => this.#isWanted(pod)).map(recordedPod);
      this.#line('list', { resource, resourceVersion, items });
      this.#tellEarly();
    } else {
      const items = (list.items as readonly KubeEvent[]).filter((event) => this.#isOfWanted(event)).map(recordedEvent);
      this.#line('list', { resource, resourceVersion, items });
    }
  }

  frame(resource: Resource, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: KubeObject): void {
    if (resource === 'pods') {
      const pod = object as Pod;
      if (!this.#isWanted(pod)) return;
      this.#line('watch', { resource, type, object: recordedPod(pod) });
      this.#tellEarly();
      return;
    }
    const event = object as KubeEvent;
    if (this.#isOfWanted(event)) this.#line('watch', { resource, type, object: recordedEvent(event) });
    else if (this.#options.isWanted !== undefined) this.#early.push({ type, event });
    if (this.#early.length > earlyLimit) this.#early.shift();
  }

  watch(kind: 'watchOpened' | 'watchEnded' | 'watchFailed', resource: Resource, detail: object): void {
    this.#line(kind, { resource, ...detail });
  }

  action(method: string, path: string, body: object, status: number | null): void {
    const name = path.split('/').at(-1) ?? '';
    const what = `${method.toLowerCase()} ${method === 'POST' ? 'pod' : name}`;
    this.#line('action', { what, method, path, body: recordedBody(method, body), status });
  }

  #isWanted(pod: Pod): boolean {
    const { isWanted } = this.#options;
    if (isWanted === undefined || this.#wanted.has(pod.metadata.uid)) return true;
    if (!isWanted(pod)) return false;
    this.#wanted.add(pod.metadata.uid);
    return true;
  }

  #isOfWanted({ involvedObject }: KubeEvent): boolean {
    return this.#options.isWanted === undefined || this.#wanted.has(involvedObject.uid ?? '');
  }

  #tellEarly(): void {
    const known = this.#early.filter(({ event }) => this.#isOfWanted(event));
    this.#early = this.#early.filter(({ event }) => !this.#isOfWanted(event));
    for (const { type, event } of known)
      this.#line('watch', { resource: 'events', type, object: recordedEvent(event) });
  }

  #line(kind: string, data: object): void {
    const t = Math.round(this.#options.clock.now() - this.#began) / 1000;
    this.#options.write(`${JSON.stringify({ t, kind, data })}\n`);
  }
}

const earlyLimit = 1000;

/** A client that does what `client` does, and tells `recorder` what is about pods and Events. */
export function recordingClient(client: KubeClient, recorder: Recorder): KubeClient {
  const pages = new Map<string, KubeObject[]>();
  const changes: Pick<KubeClient, 'list' | 'create' | 'patch' | 'delete' | 'openWatch'> = {
    list: async <T>(path: ResourcePath, options?: Parameters<KubeClient['list']>[1]): Promise<KubeList<T>> => {
      const list = await client.list<T>(path, options);
      const resource = recordedResource(path);
      if (resource !== null) tellPage(recorder, pages, resource, list as KubeList<KubeObject>, options?.continue);
      return list;
    },
    create: (path, body, options) => told(recorder, 'POST', path, body, () => client.create(path, body, options)),
    patch: (path, body, options) => told(recorder, 'PATCH', path, body, () => client.patch(path, body, options)),
    delete: (path, options = {}) => {
      const { gracePeriodSeconds, propagationPolicy } = options;
      const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds, propagationPolicy };
      return told(recorder, 'DELETE', path, body, () => client.delete(path, options));
    },
    openWatch: async (path, query, signal) => {
      const resource = recordedResource(path);
      if (resource === null) return client.openWatch(path, query, signal);
      try {
        const stream = await client.openWatch(path, query, signal);
        recorder.watch('watchOpened', resource, { resourceVersion: query.resourceVersion });
        return through(stream, resource, recorder);
      } catch (error) {
        recorder.watch('watchFailed', resource, { error: String(error) });
        throw error;
      }
    },
  };
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function recordedResource({ resource, name }: ResourcePath): Resource | null {
  return name === undefined && (resource === 'pods' || resource === 'events') ? resource : null;
}

/** The pages of one list are one line: half a list would tell of deletions that never were. */
function tellPage(
  recorder: Recorder,
  pages: Map<string, KubeObject[]>,
  resource: Resource,
  page: KubeList<KubeObject>,
  token: string | undefined,
): void {
  const before = token === undefined ? [] : (pages.get(token) ?? []);
  if (token !== undefined) pages.delete(token);
  const items = [...before, ...page.items];
  const next = page.metadata.continue;
  if (next) pages.set(next, items);
  else recorder.list(resource, { ...page, items });
}

async function told<T>(
  recorder: Recorder,
  method: 'POST' | 'PATCH' | 'DELETE',
  path: ResourcePath,
  body: object,
  send: () => Promise<T>,
): Promise<T> {
  const tell = (status: number | null): void => {
    if (path.resource === 'pods') recorder.action(method, `/${urlPath(path)}`, body, status);
  };
  try {
    const answer = await send();
    tell(method === 'POST' ? 201 : 200);
    return answer;
  } catch (error) {
    const status = isPodwrightError(error) ? error.details['status'] : undefined;
    tell(typeof status === 'number' ? status : null);
    throw error;
  }
}

async function* through(stream: ByteStream, resource: Resource, recorder: Recorder): ByteStream {
  const decoder = new FrameDecoder<KubeObject>();
  let ending: object = {};
  try {
    for await (const chunk of stream) {
      for (const frame of decoder.push(chunk)) {
        if ('object' in frame) recorder.frame(resource, frame.type, frame.object);
      }
      yield chunk;
    }
  } catch (error) {
    ending = { error: String(error) };
    throw error;
  } finally {
    recorder.watch('watchEnded', resource, ending);
  }
}
