/** Stands in front of the API server and lets requests, watches and logs go wrong as the rules say. */
import { type Clock, sleep } from '../../clock.ts';
import type { RequestInfo } from '../api/request-info.ts';
import { requestInfo } from '../api/request-info.ts';
import { failure, StatusError } from '../api/status.ts';
import type { Random } from '../random.ts';
import { type ApiRequest, type ApiResponse, ConnectionLost, type Transport } from '../transport.ts';
import type { RuleBook } from './rule-book.ts';
import type { EventFault, FaultMatch, LogFault, RequestFault, WatchFault } from './rules.ts';
import { watchFaultKinds } from './rules.ts';
import { disturbedLog, disturbedWatch } from './streams.ts';

export interface InjectorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly rules: RuleBook;
  /** The number of the last write. */
  readonly revision: () => number;
}

const requestFaultKinds = ['delay', 'refuse', 'throttle', 'resetBefore', 'resetAfter', 'staleList'];
const logFaultKinds = ['logCut', 'logHang'];

/** A watch without a number of its own goes wrong after at most so many frames. */
const framesMax = 12;

export class FaultInjector {
  readonly #options: InjectorOptions;
  readonly #inner: Transport;

  constructor(inner: Transport, options: InjectorOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  readonly transport: Transport = async (request) => {
    const { rules } = this.#options;
    if (rules.isEmpty) return this.#inner(request);
    const info = requestInfo(request);
    const takes = (match: FaultMatch | undefined): boolean => matches(match, request, info);
    const fault = rules.draw((one) => requestFaultKinds.includes(one.fault.kind) && takes(one.match)) as
      | RequestFault
      | undefined;
    const response = await this.#answer(request, info, fault);
    if (typeof response.body === 'string') return response;
    return info.verb === 'watch' ? this.#watch(response, takes) : this.#log(response, info, takes);
  };

  async #answer(request: ApiRequest, info: RequestInfo, fault: RequestFault | undefined): Promise<ApiResponse> {
    const { clock, random } = this.#options;
    switch (fault?.kind) {
      case undefined:
        return this.#inner(request);
      case 'delay':
        await sleep(clock, random.duration(fault.ms), request.signal);
        return this.#inner(request);
      case 'refuse':
        return refusal(fault.code, fault.retryAfterSeconds);
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
        return this.#inner(info.verb === 'list' ? this.#older(request, fault.revisions) : request);
    }
  }

  /** A list that may be of any age gets one that is too old. */
  #older(request: ApiRequest, revisions: number): ApiRequest {
    if (request.query.get('resourceVersion') !== '0') return request;
    const query = new URLSearchParams(request.query);
    query.set('resourceVersion', String(this.#options.revision() - revisions));
    query.set('resourceVersionMatch', 'Exact');
    return { ...request, query };
  }

  #watch(response: ApiResponse, takes: (match: FaultMatch | undefined) => boolean): ApiResponse {
    const { rules, random } = this.#options;
    const kinds: readonly string[] = watchFaultKinds;
    const fault = rules.draw((one) => kinds.includes(one.fault.kind) && takes(one.match)) as WatchFault | undefined;
    if (fault === undefined || typeof response.body === 'string') return response;
    const after = fault.afterFrames ?? random.integer(0, framesMax);
    return { ...response, body: disturbedWatch(response.body, fault.kind, after, this.#options.revision()) };
  }

  #log(response: ApiResponse, info: RequestInfo, takes: (match: FaultMatch | undefined) => boolean): ApiResponse {
    if (info.subresource !== 'log' || typeof response.body === 'string') return response;
    const { rules, random } = this.#options;
    const fault = rules.draw((one) => logFaultKinds.includes(one.fault.kind) && takes(one.match)) as
      | LogFault
      | undefined;
    if (fault === undefined) return response;
    return { ...response, body: disturbedLog(response.body, fault.kind, fault.afterPieces ?? random.integer(0, 3)) };
  }
}

/** What becomes of one Event of the kubelet. */
export function drawEventFault(rules: RuleBook, random: Random): { drop: boolean; delayMs: number } {
  const kinds = ['eventDrop', 'eventDelay'];
  const fault = rules.draw((one) => kinds.includes(one.fault.kind)) as EventFault | undefined;
  if (fault === undefined) return { drop: false, delayMs: 0 };
  return fault.kind === 'eventDrop' ? { drop: true, delayMs: 0 } : { drop: false, delayMs: random.duration(fault.ms) };
}

export const ownAgent = 'podwright-cluster/';

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

const reasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden: by a fault of the embedded cluster'],
  409: [
    'Conflict',
    'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again',
  ],
  410: ['Expired', 'The resourceVersion for the provided list is too old.'],
  429: ['TooManyRequests', 'storage is (re)initializing'],
  500: ['InternalError', 'Internal error occurred: by a fault of the embedded cluster'],
  503: ['ServiceUnavailable', 'apiserver is shutting down'],
  504: ['Timeout', 'Timeout: request did not complete within requested timeout - context deadline exceeded'],
};

function refusal(code: number, retryAfterSeconds: number | undefined): ApiResponse {
  const [reason, message] = reasons[code] ?? ['Unknown', `status ${code}`];
  const { status, headers } = failure(code, reason, message, {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
  const error = new StatusError(status, headers);
  return {
    status: code,
    headers: { 'content-type': 'application/json', ...error.headers },
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
