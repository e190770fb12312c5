/**
 * HTTP to one API server: shared connections, authentication, time limits, retries.
 *
 * Three pools, because their needs differ: unary requests share a few connections, a watch and a log each hold one for
 * as long as they live. HTTP/1.1 throughout: one reset must not take every watch and log with it, and a stream limit of
 * the server must not refuse the next log.
 */
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { type Clock, sleep } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { CredentialSource, Credentials, TlsMaterial } from './kube-config.ts';
import type { ByteStream, ResourcePath } from './resource.ts';
import {
  isNeverSent,
  isPassing,
  networkError,
  type RequestFacts,
  responseError,
  retryAfterOf,
  statusOf,
} from './status.ts';

export interface TransportOptions {
  readonly source: CredentialSource;
  readonly userAgent: string;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Takes all requests, instead of connections of our own: for a server in this process. */
  readonly dispatcher?: Dispatcher;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the server's base path, without a leading slash. */
  readonly url: string;
  readonly path: ResourcePath | null;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: object;
  readonly contentType?: string;
  /** Whether a second copy of the request does no harm after the first one's answer was lost. */
  readonly repeatable: boolean;
}

type Pool = 'unary' | 'watch' | 'log';

/** How long credentials are used before files are read again. Refused ones are renewed at once. */
const credentialsLifeMs = 10_000;
/** Below the 90 s after which an API server closes an idle connection. */
const idleConnectionMs = 30_000;
/** Opening a stream: the server answers at once, even for a log or watch that stays silent; a refusal comes whole. */
const streamAnswerMs = 30_000;
/** As client-go: half of the usual load balancer's patience. */
const tcpKeepAliveMs = 30_000;
const unaryConnections = 16;
const firstRetryMs = 200;
const longestRetryMs = 5_000;
/** An error body is at most a Status with a few causes. */
const longestErrorBody = 256 * 1024;

export class Transport {
  readonly #options: TransportOptions;
  readonly #closing = new AbortController();
  #credentials: { readonly value: Credentials; readonly readAt: number } | undefined;
  /** Counts renewals, so that of many requests refused together only the first renews. */
  #renewals = 0;
  #renewing: Promise<void> | undefined;
  #pools: { readonly key: string; readonly dispatchers: Record<Pool, Dispatcher> } | undefined;
  /** Pools of earlier certificates, which still carry streams. */
  readonly #retired = new Set<Dispatcher>();

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  get server(): string {
    return this.#options.source.server.href.replace(/\/$/, '');
  }

  /** The whole body of a request that ended well. Tries again within `retryForMs` where that is safe. */
  async request(request: ApiRequest, retryForMs: number, signal?: AbortSignal): Promise<string> {
    const { clock, random, logger } = this.#options;
    const giveUpAt = clock.now() + retryForMs;
    let mayHaveWorked = false;
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#attempt(request, signal);
      } catch (error) {
        // What an earlier try of this delete may have done, whose answer was lost.
        if (mayHaveWorked && request.method === 'DELETE' && statusOf(error) === 404) return '';
        const delayMs = Math.max(retryDelayMs(attempt, random()), retryAfterOf(error) ?? 0);
        if (!canRepeat(request, error) || clock.now() + delayMs > giveUpAt) throw error;
        mayHaveWorked ||= !isNeverSent(error) && statusOf(error) === undefined;
        logger.debug('A request is tried again', { method: request.method, url: request.url, attempt, delayMs, error });
        await this.#sleep(delayMs, signal);
      }
    }
  }

  /** Opens a response of unlimited length. One try. Reading fails with an error when the connection breaks. */
  async open(
    pool: 'watch' | 'log',
    request: ApiRequest,
    signal: AbortSignal,
  ): Promise<{ status: number; body: ByteStream }> {
    return await this.#limited(request, streamAnswerMs, signal, async (limited) => {
      const response = await this.#send(pool, request, limited);
      return { status: response.statusCode, body: readStream(response.body, this.#facts(request), limited) };
    });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new PodwrightError('ERR_PODWRIGHT_STOPPED', 'the Kubernetes client was closed'));
    const dispatchers = [...Object.values(this.#pools?.dispatchers ?? {}), ...this.#retired];
    this.#pools = undefined;
    this.#retired.clear();
    await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()));
  }

  async #attempt(request: ApiRequest, signal: AbortSignal | undefined): Promise<string> {
    return await this.#limited(request, this.#options.requestTimeoutMs, signal, async (limited) => {
      const response = await this.#send('unary', request, limited);
      return await response.body.text();
    });
  }

  /** Gives `work` a signal that aborts with the caller's, with the client, and when `work` is not done in time. */
  async #limited<T>(
    request: ApiRequest,
    limitMs: number,
    signal: AbortSignal | undefined,
    work: (limited: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const ended = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    // Before the time counts: a plugin may ask somebody to log in.
    await orAborted(this.#currentCredentials(), ended);
    const timeout = new AbortController();
    const timer = this.#options.clock.schedule(limitMs, () =>
      timeout.abort(Object.assign(new Error(`no whole answer within ${limitMs / 1000} s`), { code: 'ETIMEDOUT' })),
    );
    try {
      return await work(AbortSignal.any([ended, timeout.signal]));
    } catch (cause) {
      if (ended.aborted) throw ended.reason;
      if (cause instanceof PodwrightError) throw cause;
      throw this.#networkError(request, timeout.signal.aborted ? timeout.signal.reason : cause);
    } finally {
      timer.cancel();
    }
  }

  /** One exchange up to the headers, twice when the first was answered with 401. Throws for everything but success. */
  async #send(pool: Pool, request: ApiRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const renewals = this.#renewals;
    const first = await this.#exchange(pool, request, signal);
    if (first.statusCode !== 401) return await this.#expectSuccess(request, first);
    await readShort(first.body);
    await orAborted(this.#renew(renewals), signal);
    return await this.#expectSuccess(request, await this.#exchange(pool, request, signal));
  }

  async #exchange(pool: Pool, request: ApiRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { source, userAgent } = this.#options;
    const credentials = await orAborted(this.#currentCredentials(), signal);
    const dispatcher = this.#options.dispatcher ?? this.#dispatcher(pool, credentials.tls);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    try {
      return await dispatcher.request({
        origin: source.server.origin,
        path: this.#path(request),
        method: request.method,
        headers: {
          ...credentials.headers,
          accept: pool === 'log' ? 'text/plain, application/json' : 'application/json',
          'user-agent': userAgent,
          ...(body === undefined ? {} : { 'content-type': request.contentType ?? 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal,
      });
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw this.#networkError(request, cause);
    }
  }

  async #expectSuccess(request: ApiRequest, response: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData> {
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const header = response.headers['retry-after'];
    throw responseError(this.#facts(request), {
      status: response.statusCode,
      retryAfter: Array.isArray(header) ? header[0] : header,
      body: await readShort(response.body),
    });
  }

  async #currentCredentials(): Promise<Credentials> {
    const { clock, source, logger } = this.#options;
    const now = clock.now();
    const last = this.#credentials;
    if (last !== undefined && now - last.readAt < credentialsLifeMs) return last.value;
    let value: Credentials;
    try {
      value = await source.credentials();
    } catch (error) {
      // Files are being replaced, or a plugin's service is away: the server says whether the last ones are still good.
      if (last === undefined) throw error;
      logger.info('The credentials cannot be read, and the last ones are used', { error });
      value = last.value;
    }
    this.#credentials = { value, readAt: now };
    return value;
  }

  async #renew(seenRenewals: number): Promise<void> {
    if (this.#renewals === seenRenewals) {
      this.#renewing ??= this.#options.source.renew().finally(() => {
        this.#renewals++;
        this.#credentials = undefined;
        this.#renewing = undefined;
      });
    }
    await this.#renewing;
  }

  #dispatcher(pool: Pool, tls: TlsMaterial): Dispatcher {
    const key = JSON.stringify(tls);
    if (this.#pools?.key !== key) {
      if (this.#pools !== undefined) this.#retire(Object.values(this.#pools.dispatchers));
      const { proxyUrl } = this.#options.source;
      const { requestTimeoutMs } = this.#options;
      const stream = { headersTimeout: streamAnswerMs, bodyTimeout: 0 };
      const unary = { headersTimeout: requestTimeoutMs, bodyTimeout: requestTimeoutMs, connections: unaryConnections };
      this.#pools = {
        key,
        dispatchers: {
          unary: makeDispatcher(tls, proxyUrl, unary),
          watch: makeDispatcher(tls, proxyUrl, stream),
          log: makeDispatcher(tls, proxyUrl, stream),
        },
      };
    }
    return this.#pools.dispatchers[pool];
  }

  /** Lets running requests end on their connection. */
  #retire(dispatchers: readonly Dispatcher[]): void {
    for (const dispatcher of dispatchers) {
      this.#retired.add(dispatcher);
      dispatcher.close(() => this.#retired.delete(dispatcher));
    }
  }

  #path(request: ApiRequest): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const base = this.#options.source.server.pathname.replace(/\/$/, '');
    return `${base}/${request.url}${query.size === 0 ? '' : `?${query}`}`;
  }

  #facts(request: ApiRequest): RequestFacts {
    const { source } = this.#options;
    const url = `${source.server.origin}${this.#path(request)}`;
    return { method: request.method, url, path: request.path, credentials: source.description };
  }

  #networkError(request: ApiRequest, cause: unknown): PodwrightError {
    return networkError(this.#facts(request), cause, this.#options.source.server.host);
  }

  #sleep(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
    const ends = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    return sleep(this.#options.clock, delayMs, AbortSignal.any(ends));
  }
}

function makeDispatcher(tls: TlsMaterial, proxyUrl: string | null, options: Agent.Options): Dispatcher {
  const common = { ...options, allowH2: false, keepAliveTimeout: idleConnectionMs };
  const connect = { ...tls, keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs };
  if (proxyUrl === null) return new Agent({ ...common, connect });
  return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect });
}

/** Half of it is fixed and half is drawn, so that many workers do not come back together. */
function retryDelayMs(attempt: number, random: number): number {
  const delayMs = Math.min(longestRetryMs, firstRetryMs * 2 ** attempt);
  return (delayMs * (1 + random)) / 2;
}

/** A create whose answer was lost, or that failed inside the server, may have worked. */
function canRepeat(request: ApiRequest, error: unknown): boolean {
  if (statusOf(error) === 410) return isListOfNow(request);
  if (!isPassing(error) || (statusOf(error) === 409 && request.method !== 'PATCH')) return false;
  if (request.repeatable || isNeverSent(error)) return true;
  const status = statusOf(error);
  return status === 429 || status === 503 || status === 403;
}

/** Such a list asks for no version that could be too old: the next server behind a balancer may well answer it. */
function isListOfNow({ method, path, query }: ApiRequest): boolean {
  const isList = method === 'GET' && path !== null && path.name === undefined;
  return isList && query?.['continue'] === undefined && query?.['resourceVersion'] === undefined;
}

async function* readStream(
  body: AsyncIterable<Uint8Array>,
  facts: RequestFacts,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw networkError(facts, cause, new URL(facts.url).host);
  }
}

/** An error's body, or what came of it before the connection broke: the status says enough. */
async function readShort(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > longestErrorBody) break;
    }
  } catch {
    chunks.push(Buffer.from('…'));
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Rejects with the signal's reason as soon as it aborts; what was waited for goes on for others. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
