/** What the Kubernetes API is addressed and answered with: resource paths, objects, lists and Status bodies. */

/** Resources outside the core group, with the API that serves them. Everything else is `api/v1`. */
const apiOfResource: Readonly<Record<string, string>> = {
  leases: 'apis/coordination.k8s.io/v1',
  roles: 'apis/rbac.authorization.k8s.io/v1',
  rolebindings: 'apis/rbac.authorization.k8s.io/v1',
  selfsubjectaccessreviews: 'apis/authorization.k8s.io/v1',
};

/** A collection (no `name`), an object, or a subresource of one. `namespace` is left out for cluster-wide resources. */
export interface ResourcePath {
  /** The plural, lower-case resource name: `pods`, `events`, `secrets`, … */
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  /** `log`, `status`, `eviction`, … */
  readonly subresource?: string;
}

/** The least that every stored object has. */
export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Items of a list carry neither `kind` nor `apiVersion` (kubernetes.md §6.2). */
export interface KubeList<T> {
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** The body of a failed request and of an ERROR frame (kubernetes.md §6.4). */
export interface KubeStatus {
  readonly kind?: string;
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
  readonly metadata?: { readonly continue?: string };
}

/** A chunked response body. Leaving the loop early closes the connection. */
export type ByteStream = AsyncIterable<Uint8Array>;

/** The URL path of `path`, without a leading slash. */
export function urlPath(path: ResourcePath): string {
  const parts = [apiOfResource[path.resource] ?? 'api/v1'];
  if (path.namespace !== undefined) parts.push('namespaces', encodeURIComponent(path.namespace));
  parts.push(encodeURIComponent(path.resource));
  if (path.name !== undefined) parts.push(encodeURIComponent(path.name));
  if (path.subresource !== undefined) parts.push(encodeURIComponent(path.subresource));
  return parts.join('/');
}

/** The API group of a resource, as access reviews want it: empty for the core group. */
export function apiGroup(resource: string): string {
  return apiOfResource[resource]?.split('/')[1] ?? '';
}

/** How people write it: `pods/log "x" in namespace "ns"`. */
export function describePath(path: ResourcePath): string {
  const resource = path.subresource === undefined ? path.resource : `${path.resource}/${path.subresource}`;
  const name = path.name === undefined ? '' : ` "${path.name}"`;
  const namespace = path.namespace === undefined ? '' : ` in namespace "${path.namespace}"`;
  return `${resource}${name}${namespace}`;
}
