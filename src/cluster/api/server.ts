/**
 * The API server without its transport: one request in, one answer out.
 *
 * Whatever a request holds, it is answered: with what it asked for, or with a Status that says why not. A fault of our
 * own is logged and answered with 500, and the server goes on.
 */
import { isObject, type Json } from '../json.ts';
import type { Writer } from '../self-check.ts';
import type { ApiRequest, ApiResponse } from '../transport.ts';
import { ConnectionLost } from '../transport.ts';
import type { ApiObject } from '../types.ts';
import type { Access } from './access.ts';
import { objectBody, optionsBody, patchBody } from './body.ts';
import type { Call, ServerContext } from './context.ts';
import { deleteCollection, deleteObject } from './delete.ts';
import { discovery, isGroup } from './discovery.ts';
import { openApi } from './openapi.ts';
import { openApiV2 } from './openapi-v2.ts';
import { checkWriteOptions, deleteOptions } from './options.ts';
import { bindPod } from './pods/binding.ts';
import { evictPod } from './pods/eviction.ts';
import { podLog } from './pods/log.ts';
import { getObject, listObjects, objectText } from './read.ts';
import { type RequestInfo, requestInfo } from './request-info.ts';
import type { RequestLog } from './request-log.ts';
import { apiVersionOf, findDefinition } from './resources.ts';
import { reviews } from './reviews.ts';
import {
  internalError,
  methodNotAllowed,
  noSuchPath,
  notAcceptable,
  pageNotFound,
  StatusError,
  tooLarge,
} from './status.ts';
import { watchObjects } from './watch.ts';
import { createObject, patchObject, updateObject } from './write.ts';

/** The body limit of the API server: 3 MiB. */
export const bodyBytesMax = 3 * 1024 * 1024;

export interface ServerOptions {
  readonly context: ServerContext;
  readonly requests: RequestLog;
  readonly access: Access;
  /** With which the cluster's own parts come in. */
  readonly ownToken: string;
  readonly tokensRequired: boolean;
}

export class ApiServer {
  readonly #options: ServerOptions;
  #writer: Writer = 'own';

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** Whose request is carried out; to be asked within a write. */
  get writer(): Writer {
    return this.#writer;
  }

  /** Rejects only with ConnectionLost. */
  async handle(request: ApiRequest): Promise<ApiResponse> {
    const info = requestInfo(request);
    const record = this.#options.requests.begin({
      method: request.method,
      path: request.path,
      query: Object.fromEntries(request.query),
      userAgent: request.headers['user-agent'] ?? '',
      verb: info.subresource === 'log' ? 'connect' : info.verb,
      resource: info.resource,
      subresource: info.subresource,
      namespace: info.namespace,
      name: info.name,
      startedAt: this.#options.context.clock.now(),
    });
    const end = (): void => {
      record.endedAt ??= this.#options.context.clock.now();
    };
    try {
      const response = await this.#answer(request, info);
      record.status = response.status;
      if (typeof response.body !== 'string') return { ...response, body: tracked(response.body, end) };
      end();
      return response;
    } catch (error) {
      end();
      throw error;
    }
  }

  async #answer(request: ApiRequest, info: RequestInfo): Promise<ApiResponse> {
    try {
      return await this.#dispatch(request, info);
    } catch (error) {
      if (error instanceof ConnectionLost) throw error;
      if (error instanceof StatusError) return statusResponse(error);
      this.#options.context.logger.info('the API server failed on a request', { path: request.path, error });
      return statusResponse(internalError(error instanceof Error ? error.message : String(error)));
    }
  }

  async #dispatch(request: ApiRequest, info: RequestInfo): Promise<ApiResponse> {
    const { context, access, ownToken, tokensRequired } = this.#options;
    const user = access.authenticate(request.headers['authorization'], ownToken, tokensRequired);
    if (request.body !== undefined && request.body.length > bodyBytesMax) throw tooLarge(bodyBytesMax);
    if (health.has(request.path)) return { status: 200, headers: plainText, body: 'ok' };
    const schemas = openApiV2(request, context.profile);
    if (schemas !== undefined) return schemas;
    if (!acceptsJson(request)) throw notAcceptable(info.verb === 'watch');
    const found = discovery(request.path, context.profile) ?? openApi(request.path, context.profile);
    if (found !== undefined) {
      if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed();
      // This one is always written for readers.
      return json(200, JSON.stringify(found, undefined, request.path === '/version' ? 2 : undefined));
    }
    const review = info.version === 'v1' ? reviews[`${info.group}/${info.resource}`] : undefined;
    if (review !== undefined) {
      if (info.verb !== 'create') throw methodNotAllowed();
      return json(201, JSON.stringify(review.answer(access, user, objectBody(request, review.kind))));
    }
    if (!isServed(info, request.path)) return { status: 404, headers: plainText, body: pageNotFound };
    const definition = findDefinition(info.group, info.version, info.resource);
    if (definition === undefined || (!definition.namespaced && info.namespace !== undefined)) throw noSuchPath();
    if (!access.allows(user, info)) throw access.refusal(user, info);
    const call: Call = { context, request, info, definition, user, warnings: [] };
    // What writes does so at once, in this turn.
    this.#writer = access.isOwn(request.headers['authorization'], ownToken) ? 'own' : 'client';
    const response = await (info.subresource === '' ? this.#object(call) : this.#subresource(call));
    return withWarnings(response, call.warnings);
  }

  #object(call: Call): ApiResponse {
    const { info, request, definition } = call;
    checkTarget(call);
    checkWriteOptions(call);
    switch (info.verb) {
      case 'get':
        return json(200, getObject(call));
      case 'list':
        return json(200, listObjects(call));
      case 'watch':
        return { status: 200, headers: { 'content-type': 'application/json' }, body: watchObjects(call) };
      case 'create':
        return json(201, objectText(call, createObject(call, objectBody(request, definition.kind))));
      case 'update':
        return json(200, objectText(call, updateObject(call, objectBody(request, definition.kind))));
      case 'patch':
        return json(200, objectText(call, patchObject(call, patchBody(request))));
      case 'delete':
        return json(200, deletedText(call, deleteObject(call, deleteOptions(request.query, optionsBody(request)))));
      case 'deletecollection':
        return json(200, deletedList(call, deleteCollection(call, deleteOptions(request.query, optionsBody(request)))));
      default:
        throw methodNotAllowed();
    }
  }

  async #subresource(call: Call): Promise<ApiResponse> {
    const { definition, info, request } = call;
    if (!definition.subresources?.includes(info.subresource)) throw noSuchPath();
    checkWriteOptions(call);
    const created = (result: object): ApiResponse => json(201, JSON.stringify(result));
    switch (`${info.verb} ${info.subresource}`) {
      case 'get log':
        return podLog(call);
      case 'create binding':
        return created(bindPod(call, objectBody(request, 'Binding')));
      case 'create eviction':
        return created(evictPod(call, objectBody(request, 'Eviction')));
      case 'get status':
        return json(200, getObject(call));
      case 'update status':
        return json(200, objectText(call, updateObject(call, objectBody(request, definition.kind))));
      case 'patch status':
        return json(200, objectText(call, patchObject(call, patchBody(request))));
      case 'update finalize':
        return json(200, objectText(call, finalizeNamespace(call, objectBody(request, definition.kind))));
      default:
        throw methodNotAllowed();
    }
  }
}

/** Below these paths a refusal is a Status; elsewhere it is a web server's. */
function isServed({ group }: RequestInfo, path: string): boolean {
  const [root] = path.split('/').filter((part) => part !== '');
  return root === 'api' || (root === 'apis' && isGroup(group));
}

/** Creates go to a collection, changes to an object, and no one deletes in all namespaces at once. */
function checkTarget({ info, definition }: Call): void {
  const { verb, name, namespace } = info;
  const isCollection = name === undefined;
  const isSpread = definition.namespaced && namespace === undefined;
  if (!definition.verbs.includes(verb)) throw methodNotAllowed();
  if (verb === 'create' && (!isCollection || isSpread)) throw methodNotAllowed();
  if ((verb === 'update' || verb === 'patch') && (isCollection || isSpread)) throw methodNotAllowed();
  if (verb === 'deletecollection' && isSpread) throw methodNotAllowed();
}

const plainText = { 'content-type': 'text/plain' };

const health = new Set(['/healthz', '/livez', '/readyz']);

/** Answers are JSON: whoever takes nothing else is told so. */
function acceptsJson({ headers }: ApiRequest): boolean {
  const { accept = '' } = headers;
  return accept === '' || /\bjson\b|\*\/\*|application\/\*|text\/plain/.test(accept);
}

/** A pod's delete answers with the pod, other deletes with a Status. */
function deletedText(call: Call, object: ApiObject): string {
  const { definition } = call;
  if (definition.kind === 'Pod' || definition.kind === 'Namespace') return objectText(call, object);
  const { name, uid } = object.metadata;
  const { group, resource } = definition;
  const details = { name, ...(group !== '' && { group }), kind: resource, uid };
  return JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

function deletedList({ definition, context }: Call, items: readonly ApiObject[]): string {
  return JSON.stringify({
    kind: `${definition.kind}List`,
    apiVersion: apiVersionOf(definition),
    metadata: { resourceVersion: String(context.store.current) },
    items,
  });
}

/** The namespace controller's last word: without finalizers the namespace goes. */
function finalizeNamespace({ context, info }: Call, body: Json): ApiObject {
  const name = info.name ?? '';
  const old = context.store.get('namespaces', name);
  if (old === undefined) throw noSuchPath();
  const spec = isObject(body) && isObject(body['spec']) ? body['spec'] : {};
  const next = context.store.put('namespaces', name, { ...old, spec });
  const left = Array.isArray(spec['finalizers']) ? spec['finalizers'].length : 0;
  return left === 0 && next.metadata.deletionTimestamp !== undefined ? context.store.remove('namespaces', name) : next;
}

function json(status: number, body: string): ApiResponse {
  return { status, headers: { 'content-type': 'application/json' }, body };
}

function statusResponse({ status, headers }: StatusError): ApiResponse {
  const response = json(status.code, `${JSON.stringify(status)}\n`);
  return { ...response, headers: { ...response.headers, ...headers } };
}

function withWarnings(response: ApiResponse, warnings: readonly string[]): ApiResponse {
  if (warnings.length === 0) return response;
  const values = warnings.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`);
  return { ...response, headers: { ...response.headers, warning: values.join(', ') } };
}

/** Also ends when the reader leaves before it has read anything. */
function tracked<T>(body: AsyncIterable<T>, end: () => void): AsyncIterableIterator<T> {
  const pieces = body[Symbol.asyncIterator]();
  return {
    async next() {
      const piece = await pieces.next();
      if (piece.done === true) end();
      return piece;
    },
    async return() {
      end();
      await pieces.return?.();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
