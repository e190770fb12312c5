/**
 * The Kubernetes API as podwright uses it: a dozen verbs with timeouts, retries and errors that say what to do.
 *
 * Bodies are plain JSON: times stay the server's strings, unknown fields stay. Every failure of the API or of the
 * network is a `PodwrightError` whose details carry `status`, `reason` and `message` of the server's Status.
 */
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { ByteStream, KubeList, ResourcePath } from './resource.ts';

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
  get<T>(path: ResourcePath, options?: RequestOptions): Promise<T>;
  /** One page, or all when `limit` is not given. */
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

export interface ConnectOptions {
  /** Path of a kubeconfig file. Default: as kubectl does, `$KUBECONFIG`, then `~/.kube/config`, then in-cluster. */
  readonly kubeConfig?: string;
  /** A context of it, instead of its current one. */
  readonly context?: string;
  /** Use the pod's service account, and nothing else. */
  readonly inCluster?: boolean;
  /** Default `podwright/VERSION`. */
  readonly userAgent?: string;
  /** Milliseconds after which a request without a whole answer has failed. Default 30,000. */
  readonly requestTimeoutMs?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
}
