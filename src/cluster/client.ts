/**
 * The API client of the cluster's own parts: their requests, and a list-watch.
 *
 * Deliberately not the product's: what is to be tested must not be tested with itself.
 */
import { Agent, request as httpRequest } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { type Clock, sleep } from '../clock.ts';
import type { Status } from './api/status.ts';
import type { TlsFiles } from './tls.ts';
import { type ApiResponse, ConnectionLost, type Transport } from './transport.ts';
import type { ApiObject } from './types.ts';

/** The server's refusal. */
export class ApiFailure extends Error {
  readonly status: Status;

  constructor(status: Status) {
    super(status.message ?? `status ${status.code}`);
    this.name = 'ApiFailure';
    this.status = status;
  }

  get code(): number {
    return this.status.code;
  }
}

export interface ClientOptions {
  readonly transport: Transport;
  readonly userAgent: string;
  readonly token: string;
  readonly clock: Clock;
}

export interface WatchFrame {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: ApiObject;
}

export class ApiClient {
  readonly clock: Clock;
  readonly #transport: Transport;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ transport, userAgent, token, clock }: ClientOptions) {
    this.clock = clock;
    this.#transport = transport;
    this.#headers = { 'user-agent': userAgent, authorization: `Bearer ${token}`, accept: 'application/json' };
  }

  /** Rejects with ApiFailure, or ConnectionLost when nobody knows whether it took effect. */
  async send<T = ApiObject>(method: string, path: string, body?: object, contentType = 'application/json'): Promise<T> {
    const response = await this.#request(method, path, new URLSearchParams(), body, contentType);
    const text = await textOf(response);
    if (response.status >= 300) throw new ApiFailure(statusOf(response.status, text));
    return JSON.parse(text) as T;
  }

  get<T = ApiObject>(path: string): Promise<T> {
    return this.send('GET', path);
  }

  /** RFC 7396: null removes. */
  merge<T = ApiObject>(path: string, patch: object): Promise<T> {
    return this.send('PATCH', path, patch, 'application/merge-patch+json');
  }

  async list(path: string, query: URLSearchParams): Promise<{ items: ApiObject[]; resourceVersion: string }> {
    const response = await this.#request('GET', path, query);
    const text = await textOf(response);
    if (response.status >= 300) throw new ApiFailure(statusOf(response.status, text));
    const { items, metadata } = JSON.parse(text) as { items: ApiObject[]; metadata: { resourceVersion: string } };
    return { items, resourceVersion: metadata.resourceVersion };
  }

  /** Frames until the server ends the stream, it breaks, or the signal aborts. */
  async *watch(path: string, query: URLSearchParams, signal: AbortSignal): AsyncGenerator<WatchFrame> {
    const response = await this.#request('GET', path, query, undefined, undefined, signal);
    if (response.status >= 300) throw new ApiFailure(statusOf(response.status, await textOf(response)));
    if (typeof response.body === 'string') return;
    let rest = '';
    const decoder = new TextDecoder();
    for await (const piece of response.body) {
      const lines = (rest + (typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }))).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as WatchFrame;
    }
  }

  #request(
    method: string,
    path: string,
    query: URLSearchParams,
    body?: object,
    contentType?: string,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ApiResponse> {
    return this.#transport({
      method,
      path,
      query,
      headers: body === undefined ? this.#headers : { ...this.#headers, 'content-type': contentType },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      signal,
    });
  }
}

async function textOf({ body }: ApiResponse): Promise<string> {
  if (typeof body === 'string') return body;
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(typeof piece === 'string' ? Buffer.from(piece) : piece);
  return Buffer.concat(pieces).toString();
}

function statusOf(code: number, text: string): Status {
  const fallback: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: text, code };
  try {
    const parsed = JSON.parse(text) as Partial<Status>;
    return parsed.kind === 'Status' ? { ...fallback, ...parsed } : fallback;
  } catch {
    // Some refusals are plain text.
    return fallback;
  }
}

export interface ListWatchOptions {
  readonly client: ApiClient;
  readonly path: string;
  readonly fieldSelector?: string;
  /** `old` is the state told before; absent with the first. A relist tells what it found, then what is gone. */
  readonly onChange: (object: ApiObject, change: 'added' | 'updated' | 'deleted', old?: ApiObject) => void;
}

const firstPauseMs = 100;
const longestPauseMs = 2_000;

/** Keeps telling the state of a resource until stopped. */
export class ListWatch {
  readonly #options: ListWatchOptions;
  readonly #objects = new Map<string, ApiObject>();
  readonly #stop = new AbortController();
  #done: Promise<void> = Promise.resolve();
  #pauseMs = firstPauseMs;
  /** Up to where the state was told, also by a watch that broke: a watch from before would tell the past again. */
  #version: string | undefined;
  #markSynced: () => void = () => undefined;
  /** Resolves when the first list was told. */
  readonly synced = new Promise<void>((resolve) => {
    this.#markSynced = resolve;
  });

  constructor(options: ListWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  get(uid: string): ApiObject | undefined {
    return this.#objects.get(uid);
  }

  objects(): ApiObject[] {
    return [...this.#objects.values()];
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (error instanceof ApiFailure && error.code === 410) this.#version = undefined;
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    const { client } = this.#options;
    // Aborted only by stop, after which the loop ends.
    await sleep(client.clock, this.#pauseMs, this.#stop.signal).catch(() => undefined);
    this.#pauseMs = Math.min(this.#pauseMs * 2, longestPauseMs);
  }

  async #list(): Promise<string> {
    const { client, path } = this.#options;
    const { items, resourceVersion } = await client.list(path, this.#query({}));
    const found = new Set(items.map(({ metadata }) => metadata.uid));
    for (const object of [...this.#objects.values()]) {
      if (!found.has(object.metadata.uid)) this.#tell('DELETED', object);
    }
    for (const object of items) this.#tell('MODIFIED', object);
    this.#pauseMs = firstPauseMs;
    this.#markSynced();
    return resourceVersion;
  }

  async #watch(from: string): Promise<void> {
    const { client, path } = this.#options;
    const query = this.#query({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion: from });
    for await (const { type, object } of client.watch(path, query, this.#stop.signal)) {
      if (this.#stop.signal.aborted) break;
      if (type === 'ERROR') throw new ApiFailure(object as unknown as Status);
      this.#version = object.metadata.resourceVersion;
      if (type !== 'BOOKMARK') this.#tell(type, object);
    }
    // An end without an error: go on from where it ended, but not at once when it ended at once.
    if (this.#version === from && !this.#stop.signal.aborted) await this.#pause();
    else this.#pauseMs = firstPauseMs;
  }

  #tell(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject): void {
    const { uid } = object.metadata;
    const old = this.#objects.get(uid);
    if (type === 'DELETED') {
      this.#objects.delete(uid);
      this.#options.onChange(object, 'deleted', old);
      return;
    }
    this.#objects.set(uid, object);
    if (old === undefined) this.#options.onChange(object, 'added');
    else if (old.metadata.resourceVersion !== object.metadata.resourceVersion) {
      this.#options.onChange(object, 'updated', old);
    }
  }

  #query(more: Readonly<Record<string, string>>): URLSearchParams {
    const { fieldSelector } = this.#options;
    return new URLSearchParams({ ...(fieldSelector !== undefined && { fieldSelector }), ...more });
  }
}

export interface HttpTransport {
  readonly transport: Transport;
  close(): void;
}

/** Sends requests over real HTTP, with connections kept open between them. `tls` is what the server has. */
export function httpTransport(url: string, tls?: TlsFiles): HttpTransport {
  const limits = { keepAlive: true, maxSockets: 64 };
  const agent =
    tls === undefined ? new Agent(limits) : new TlsAgent({ ...limits, ca: tls.authority ?? tls.certificate });
  const open = tls === undefined ? httpRequest : tlsRequest;
  const transport: Transport = ({ method, path, query, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const search = query.toString();
      const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const request = open(`${url}${path}${search === '' ? '' : `?${search}`}`, {
        method,
        agent,
        signal,
        headers: { ...sent, 'content-length': body?.length ?? 0 } as Record<string, string | number>,
      });
      request.on('response', (response) => {
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          body: response,
        });
      });
      request.on('error', (error) => reject(new ConnectionLost(error.message, { cause: error })));
      request.end(body);
    });
  return { transport, close: () => agent.destroy() };
}
