/** What a request is about, read from its method, path and query (as apiserver `RequestInfo`). */
import type { ApiRequest } from '../transport.ts';

export interface RequestInfo {
  /** get, list, watch, create, update, patch, delete, deletecollection; empty outside the API groups. */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const none: RequestInfo = {
  verb: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: undefined,
  name: undefined,
};

/** Paths that are no resource's give an info without a resource. */
export function requestInfo(request: Pick<ApiRequest, 'method' | 'path' | 'query'>): RequestInfo {
  const parts = decodedParts(request.path);
  if (parts === undefined) return none;
  const [root, ...rest] = parts;
  if (root === 'api') return resourceInfo(request, '', rest);
  if (root === 'apis') return resourceInfo(request, rest[0] ?? '', rest.slice(1));
  return none;
}

function resourceInfo(
  request: Pick<ApiRequest, 'method' | 'query'>,
  group: string,
  [version = '', ...path]: readonly string[],
): RequestInfo {
  const namespaced = path[0] === 'namespaces' && path.length > 2 && !namespaceSubresources.has(path[2] ?? '');
  const namespace = namespaced ? path[1] : undefined;
  const [resource = '', name, subresource = '', ...more] = namespaced ? path.slice(2) : path;
  if (more.length > 0) return { ...none, group, version };
  const info = { group, version, resource, subresource, namespace, name };
  return resource === '' ? { ...info, verb: '' } : { ...info, verb: verbOf(request, name !== undefined) };
}

const namespaceSubresources = new Set(['status', 'finalize']);

function verbOf({ method, query }: Pick<ApiRequest, 'method' | 'query'>, named: boolean): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isTrue(query.get('watch'))) return 'watch';
      return named ? 'get' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return named ? 'delete' : 'deletecollection';
    default:
      return '';
  }
}

/** As the API server reads its query: everything but `0` and `false` is true, also nothing (`?watch`). */
export function isTrue(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== '0' && value.toLowerCase() !== 'false';
}

function decodedParts(path: string): string[] | undefined {
  try {
    return path
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
  } catch {
    // A malformed escape: no path of ours.
    return undefined;
  }
}
