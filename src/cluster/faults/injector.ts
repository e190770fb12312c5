/** Stands in front of the API server and lets requests, watches and logs go wrong as the rules say. */
import { type Clock, sleep } from '../../clock.ts';
import type { Logger } from '../../logger.ts';
import { administrator, mayNot } from '../api/access.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { requestInfo } from '../api/request-info.ts';
import { findDefinition } from '../api/resources.ts';
import {
  conflict,
  expired,
  failure,
  internalError,
  modifiedMeanwhile,
  noSuchPath,
  notFound,
  type Status,
  StatusError,
  unauthorized,
} from '../api/status.ts';
import type { Random } from '../random.ts';
import type { RevisionStore } from '../store/revisions.ts';
import { type ApiRequest, type ApiResponse, ConnectionLost, type Transport } from '../transport.ts';
import type { RuleBook } from './rule-book.ts';
import type {
  EventFault,
  Fault,
  FaultMatch,
  FaultScope,
  LogFault,
  PodFault,
  RequestFault,
  WatchFault,
} from './rules.ts';
import { faultMessage, scopeOf } from './rules.ts';
import { disturbedLog, disturbedWatch } from './streams.ts';

export interface InjectorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rules: RuleBook;
  readonly store: RevisionStore;
}

/** A watch without a number of its own goes wrong after at most so many frames. */
const framesMax = 12;
/** As with frames, of a log. */
const piecesMax = 3;

export class FaultInjector {
  readonly #options: InjectorOptions;
  readonly #inner: Transport;

  constructor(inner: Transport, options: InjectorOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  readonly transport: Transport = async (request) => {
    if (this.#options.rules.isEmpty) return this.#inner(request);
    const info = requestInfo(request);
    const fault = this.#draw<RequestFault>('request', request, info);
    const response = await this.#answer(request, info, fault);
    if (typeof response.body === 'string') return response;
    return info.verb === 'watch' ? this.#watch(request, info, response) : this.#log(request, info, response);
  };

  #draw<T extends Fault>(scope: FaultScope, request: ApiRequest, info: RequestInfo): T | undefined {
    return this.#options.rules.draw(
      ({ fault, match }) =>
        scopeOf(fault) === scope &&
        matches(match, request, info) &&
        // The fault of a list that may be of any age finds none elsewhere.
        (fault.kind !== 'staleList' || mayBeStale(request, info)),
    ) as T | undefined;
  }

  async #answer(request: ApiRequest, info: RequestInfo, fault: RequestFault | undefined): Promise<ApiResponse> {
    const { clock, random } = this.#options;
    if (fault === undefined) return this.#inner(request);
    this.#struck(fault, request);
    switch (fault.kind) {
      case 'delay':
        await sleep(clock, random.duration(fault.ms), request.signal);
        return this.#inner(request);
      case 'refuse':
        return refusal(fault.code, fault.retryAfterSeconds, info);
      case 'throttle':
        return throttled(fault.retryAfterSeconds ?? 1);
      case 'resetBefore':
        throw new ConnectionLost('read ECONNRESET');
      case 'resetAfter': {
        const { body } = await this.#inner(request);
        if (typeof body !== 'string') await body[Symbol.asyncIterator]().return?.();
        throw new ConnectionLost('read ECONNRESET');
      }
      case 'staleList':
        return this.#inner(this.#older(request, info, fault.revisions));
    }
  }

  /** The same list as of so many revisions ago, or of the oldest state that is still known. */
  #older(request: ApiRequest, { group, version, resource }: RequestInfo, revisions: number): ApiRequest {
    const { store } = this.#options;
    const definition = findDefinition(group, version, resource);
    if (definition === undefined) return request;
    const query = new URLSearchParams(request.query);
    query.set('resourceVersion', String(Math.max(store.oldest(definition.storage), store.current - revisions)));
    query.set('resourceVersionMatch', 'Exact');
    // A watch cache does not page.
    query.delete('limit');
    return { ...request, query };
  }

  #watch(request: ApiRequest, info: RequestInfo, response: ApiResponse): ApiResponse {
    const { random, store } = this.#options;
    const fault = this.#draw<WatchFault>('watch', request, info);
    if (fault === undefined || typeof response.body === 'string') return response;
    const after = fault.afterFrames ?? random.integer(0, framesMax);
    const struck = (): void => this.#struck(fault, request);
    return { ...response, body: disturbedWatch(response.body, fault.kind, { after, revision: store.current, struck }) };
  }

  #log(request: ApiRequest, info: RequestInfo, response: ApiResponse): ApiResponse {
    if (info.subresource !== 'log' || typeof response.body === 'string') return response;
    const fault = this.#draw<LogFault>('log', request, info);
    if (fault === undefined) return response;
    const after = fault.afterPieces ?? this.#options.random.integer(0, piecesMax);
    const struck = (): void => this.#struck(fault, request);
    return { ...response, body: disturbedLog(response.body, fault.kind, { after, struck }) };
  }

  #struck({ kind }: Fault, { method, path }: ApiRequest): void {
    this.#options.logger.debug(faultMessage, { fault: kind, method, path });
  }
}

function mayBeStale({ query }: ApiRequest, { verb }: RequestInfo): boolean {
  return verb === 'list' && query.get('resourceVersion') === '0';
}

/** What becomes of one Event of the kubelet. */
export function drawEventFault(
  rules: RuleBook,
  random: Random,
  logger: Logger,
): { readonly drop: boolean; readonly delayMs: number } {
  const fault = rules.draw((one) => scopeOf(one.fault) === 'event') as EventFault | undefined;
  if (fault === undefined) return { drop: false, delayMs: 0 };
  logger.debug(faultMessage, { fault: fault.kind });
  return fault.kind === 'eventDrop' ? { drop: true, delayMs: 0 } : { drop: false, delayMs: random.duration(fault.ms) };
}

/** What goes wrong with one pod at this point of its way; undefined when nothing does. */
export function drawPodFault(
  rules: RuleBook,
  kind: PodFault['kind'],
  logger: Logger,
): { readonly reason?: string; readonly message?: string } | undefined {
  const fault = rules.draw((one) => one.fault.kind === kind) as PodFault | undefined;
  if (fault !== undefined) logger.debug(faultMessage, { fault: kind });
  return fault;
}

const ownAgent = 'podwright-cluster/';

function matches(match: FaultMatch = {}, { method, headers }: ApiRequest, info: RequestInfo): boolean {
  const agent = headers['user-agent'] ?? '';
  if (agent.startsWith(ownAgent) && match.own !== true) return false;
  if (match.userAgent !== undefined && !agent.includes(match.userAgent)) return false;
  const wanted = [
    [match.method, method],
    [match.verb, info.verb],
    [match.resource, info.resource],
    [match.subresource, info.subresource],
    [match.namespace, info.namespace],
  ];
  return wanted.every(([value, found]) => value === undefined || value === found);
}

/** As the API server refuses with this code, where it has one way to. */
function statusOf(code: number, info: RequestInfo): Status {
  const { group, resource, name = '' } = info;
  switch (code) {
    case 401:
      return unauthorized().status;
    case 403:
      return mayNot(administrator, info).status;
    case 404:
      return (name === '' ? noSuchPath() : notFound({ group, resource }, name)).status;
    case 409:
      return conflict({ group, resource }, name, modifiedMeanwhile).status;
    case 410:
      return expired('The resourceVersion for the provided list is too old.').status;
    case 429:
      return failure(429, 'TooManyRequests', 'storage is (re)initializing', {}).status;
    case 500:
      return internalError('by a fault of the embedded cluster').status;
    case 503:
      return failure(503, 'ServiceUnavailable', 'apiserver is shutting down', {}).status;
    case 504:
      return failure(504, 'Timeout', timedOut, {}).status;
    default:
      return failure(code, 'Unknown', `status ${code}`, {}).status;
  }
}

const timedOut = 'Timeout: request did not complete within requested timeout - context deadline exceeded';

function refusal(code: number, retryAfterSeconds: number | undefined, info: RequestInfo): ApiResponse {
  const plain = statusOf(code, info);
  const status =
    retryAfterSeconds === undefined ? plain : { ...plain, details: { ...plain.details, retryAfterSeconds } };
  const { headers } = new StatusError(status);
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...headers },
    body: `${JSON.stringify(status)}\n`,
  };
}

function throttled(seconds: number): ApiResponse {
  return {
    status: 429,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': String(seconds) },
    body: 'Too many requests, please try again later.\n',
  };
}
