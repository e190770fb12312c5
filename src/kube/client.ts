/**
 * The Kubernetes API as podwright uses it: a dozen verbs with timeouts, retries and errors that say what to do.
 *
 * Bodies are plain JSON: times stay the server's strings, unknown fields stay. Every failure of the API or of the
 * network is a `PodwrightError` whose details carry `status`, `reason` and `message` of the server's Status.
 */
import { assert } from '../assert.ts';
import { type Clock, systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { version as packageVersion } from '../version.ts';
import { type ConfigSource, loadCredentialSource } from './kube-config.ts';
import { apiGroup, type ByteStream, type KubeList, type ResourcePath, urlPath } from './resource.ts';
import { type ApiRequest, Transport } from './transport.ts';

export interface RequestOptions {
  /** Ends the request; the promise then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Milliseconds for which a request that failed in passing is tried again. Default 30,000; 0 tries once. */
  readonly retryForMs?: number;
}

export interface ListOptions extends RequestOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface PatchOptions extends RequestOptions {
  readonly type: 'strategic' | 'merge' | 'json';
}

export interface DeleteOptions extends RequestOptions {
  readonly gracePeriodSeconds?: number;
  /** Precondition: the delete fails with ERR_PODWRIGHT_CONFLICT when the name belongs to another object by now. */
  readonly uid?: string;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground';
}

export interface WatchQuery {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}

export interface LogQuery {
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly timestamps?: boolean;
  /** RFC 3339. The kubelet gets it in whole seconds. */
  readonly sinceTime?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

/** `status` is 200, or 204 (empty body) while the pod is not scheduled; every other answer is an error. */
export interface LogResponse {
  readonly status: number;
  readonly body: ByteStream;
}

export interface ServerVersion {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
}

/** One right, as RBAC counts it. */
export interface Right {
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
}

export interface KubeClient {
  /** URL of the API server, for messages. */
  readonly server: string;
  /** The context's namespace, null when it names none. */
  readonly namespace: string | null;
  get<T>(path: ResourcePath, options?: RequestOptions): Promise<T>;
  /** One request: with a `limit` the answer may have a `continue` token for the next. */
  list<T>(path: ResourcePath, options?: ListOptions): Promise<KubeList<T>>;
  /**
   * A create whose answer was lost may have worked: it is not sent again then, and rejects with
   * ERR_PODWRIGHT_CLUSTER_UNREACHABLE. Use a name of your own choice and look.
   */
  create<T>(path: ResourcePath, body: object, options?: RequestOptions): Promise<T>;
  patch<T>(path: ResourcePath, body: object, options: PatchOptions): Promise<T>;
  delete(path: ResourcePath, options?: DeleteOptions): Promise<void>;
  /** Resolves with the open stream of frames; one try. The stream ends with an error when the connection breaks. */
  openWatch(path: ResourcePath, query: WatchQuery, signal: AbortSignal): Promise<ByteStream>;
  /** Resolves with the open log; one try. */
  openLog(
    namespace: string,
    pod: string,
    container: string,
    query: LogQuery,
    signal: AbortSignal,
  ): Promise<LogResponse>;
  version(options?: RequestOptions): Promise<ServerVersion>;
  /** Whether the server would allow it (SelfSubjectAccessReview, which itself needs no right). */
  canI(namespace: string, right: Right, options?: RequestOptions): Promise<boolean>;
  /** Ends all requests and streams. No socket or timer is left once it resolves. Idempotent. */
  close(): Promise<void>;
}

export interface ConnectOptions extends ConfigSource {
  /** Default `podwright/VERSION`. */
  readonly userAgent?: string;
  /** Milliseconds after which a request without a whole answer has failed. Default 30,000. */
  readonly requestTimeoutMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}

const defaultTimeoutMs = 30_000;
const defaultRetryForMs = 30_000;

const patchContentTypes = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

/**
 * Reads the configuration; sends nothing yet, so an unreachable server shows with the first request.
 * Throws ERR_PODWRIGHT_CONFIG when there is no usable configuration.
 */
export async function connect(options: ConnectOptions = {}): Promise<KubeClient> {
  const source = await loadCredentialSource(options);
  const transport = new Transport({
    source,
    userAgent: options.userAgent ?? `podwright/${packageVersion}`,
    requestTimeoutMs: options.requestTimeoutMs ?? defaultTimeoutMs,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    logger: options.logger ?? silentLogger,
  });
  return new HttpKubeClient(transport, source.namespace);
}

/** A client over a transport of the caller's own making. */
export class HttpKubeClient implements KubeClient {
  readonly server: string;
  readonly namespace: string | null;
  readonly #transport: Transport;

  constructor(transport: Transport, namespace: string | null) {
    this.#transport = transport;
    this.server = transport.server;
    this.namespace = namespace;
  }

  async get<T>(path: ResourcePath, options: RequestOptions = {}): Promise<T> {
    assert(path.name !== undefined, 'get needs a name');
    return await this.#json<T>({ method: 'GET', url: urlPath(path), path, repeatable: true }, options);
  }

  async list<T>(path: ResourcePath, options: ListOptions = {}): Promise<KubeList<T>> {
    assert(path.name === undefined, 'list takes no name');
    const { signal: _signal, retryForMs: _retryForMs, ...query } = options;
    const request: ApiRequest = { method: 'GET', url: urlPath(path), path, query, repeatable: true };
    const list = await this.#json<{ metadata?: KubeList<T>['metadata']; items?: readonly T[] | null }>(
      request,
      options,
    );
    return { metadata: list.metadata ?? {}, items: list.items ?? [] };
  }

  async create<T>(path: ResourcePath, body: object, options: RequestOptions = {}): Promise<T> {
    return await this.#json<T>({ method: 'POST', url: urlPath(path), path, body, repeatable: false }, options);
  }

  async patch<T>(path: ResourcePath, body: object, options: PatchOptions): Promise<T> {
    assert(path.name !== undefined, 'patch needs a name');
    const contentType = patchContentTypes[options.type];
    // A JSON patch may add to a list or test a value that it changes itself; merges say the same thing twice.
    const repeatable = options.type !== 'json';
    return await this.#json<T>({ method: 'PATCH', url: urlPath(path), path, body, contentType, repeatable }, options);
  }

  async delete(path: ResourcePath, options: DeleteOptions = {}): Promise<void> {
    assert(path.name !== undefined, 'delete needs a name');
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      gracePeriodSeconds: options.gracePeriodSeconds,
      propagationPolicy: options.propagationPolicy,
      preconditions: options.uid === undefined ? undefined : { uid: options.uid },
    };
    await this.#request({ method: 'DELETE', url: urlPath(path), path, body, repeatable: true }, options);
  }

  async openWatch(path: ResourcePath, query: WatchQuery, signal: AbortSignal): Promise<ByteStream> {
    const request: ApiRequest = {
      method: 'GET',
      url: urlPath(path),
      path,
      query: { watch: true, ...query },
      repeatable: true,
    };
    return (await this.#transport.open('watch', request, signal)).body;
  }

  async openLog(
    namespace: string,
    pod: string,
    container: string,
    query: LogQuery,
    signal: AbortSignal,
  ): Promise<LogResponse> {
    const path = { resource: 'pods', namespace, name: pod, subresource: 'log' };
    const request: ApiRequest = {
      method: 'GET',
      url: urlPath(path),
      path,
      query: { container, ...query },
      repeatable: true,
    };
    return await this.#transport.open('log', request, signal);
  }

  async version(options: RequestOptions = {}): Promise<ServerVersion> {
    return await this.#json<ServerVersion>({ method: 'GET', url: 'version', path: null, repeatable: true }, options);
  }

  async canI(namespace: string, right: Right, options: RequestOptions = {}): Promise<boolean> {
    const path = { resource: 'selfsubjectaccessreviews' };
    const { resource, subresource, verb } = right;
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { namespace, verb, group: apiGroup(resource), resource, subresource } },
    };
    const request: ApiRequest = { method: 'POST', url: urlPath(path), path, body, repeatable: true };
    const review = await this.#json<{ status?: { allowed?: boolean } }>(request, options);
    return review.status?.allowed === true;
  }

  async close(): Promise<void> {
    await this.#transport.close();
  }

  async #json<T>(request: ApiRequest, options: RequestOptions): Promise<T> {
    const text = await this.#request(request, options);
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new PodwrightError('ERR_PODWRIGHT_API', `${request.method} ${request.url}: the answer is not JSON`, {
        cause,
        remedy: `Check that ${this.server} is a Kubernetes API server and not a proxy's login page.`,
        details: { body: text.slice(0, 500) },
      });
    }
  }

  async #request(request: ApiRequest, options: RequestOptions): Promise<string> {
    const retryForMs = options.retryForMs ?? defaultRetryForMs;
    return await this.#transport.request(request, retryForMs, options.signal);
  }
}
