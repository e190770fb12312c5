/** Faults as data: what goes wrong, for which requests, how often. Read from files and from the admin endpoint. */
import { PodwrightError } from '../../errors.ts';
import { isObject, type Json } from '../json.ts';
import type { Duration } from '../timings.ts';

/** Of one request, before or instead of its answer. */
export type RequestFault =
  | { readonly kind: 'delay'; readonly ms: Duration }
  /** A Status with this code. 401 stands for an expired token, 410 for a version that is too old. */
  | { readonly kind: 'refuse'; readonly code: number; readonly retryAfterSeconds?: number }
  /** 429 as priority and fairness gives it: plain text and Retry-After. */
  | { readonly kind: 'throttle'; readonly retryAfterSeconds?: number }
  | { readonly kind: 'resetBefore' }
  /** The request takes effect, and nobody is told. */
  | { readonly kind: 'resetAfter' }
  /** A list is answered from a cache that is `revisions` behind. */
  | { readonly kind: 'staleList'; readonly revisions: number };

/** Of one watch, after so many of its frames (default: a few, by chance). */
export interface WatchFault {
  readonly kind:
    | 'watchEnd'
    | 'watchHang'
    | 'watchCut'
    | 'watchExpired'
    | 'watchInternalError'
    | 'watchMalformed'
    | 'watchWrongKind';
  readonly afterFrames?: number;
}

/** Of one log, after so many of its pieces. */
export interface LogFault {
  readonly kind: 'logCut' | 'logHang';
  readonly afterPieces?: number;
}

/** Of one Event of the kubelet on its way. */
export type EventFault = { readonly kind: 'eventDrop' } | { readonly kind: 'eventDelay'; readonly ms: Duration };

/** Of one pod on its node. */
export type PodFault =
  /** The node does not take it: it is Failed at once, for this reason (default: UnexpectedAdmissionError). */
  | { readonly kind: 'rejectPod'; readonly reason?: string; readonly message?: string }
  /** Its sandbox cannot be made; that is tried again after 10 to 15 s. */
  | { readonly kind: 'failSandbox'; readonly message?: string };

/** Of the cluster as a whole. */
export type ClusterFault =
  | { readonly kind: 'compact' | 'dropConnections' | 'shutDownNode' | 'rebootNode' | 'removeImages' }
  | { readonly kind: 'restartApiServer' | 'restartKubelet' | 'silenceNode'; readonly downMs?: Duration }
  /** Pods chosen by chance, each with this probability. Default 1. */
  | { readonly kind: 'evictPods' | 'killContainers' | 'killSandboxes'; readonly share?: number }
  /** The node's clock goes wrong by so much. */
  | { readonly kind: 'skewNodeClock'; readonly ms: number };

export type Fault = RequestFault | WatchFault | LogFault | EventFault | PodFault | ClusterFault;

export interface FaultRule {
  /** By which it is removed. Default: one of its own. */
  readonly name?: string;
  readonly fault: Fault;
  /** Default: all requests of clients that are not the cluster's own parts. */
  readonly match?: FaultMatch;
  /** Of those that match, by chance. With it the rule has no end unless `times` says so. */
  readonly rate?: number;
  /** Then the rule is used up. Default 1 without `rate`. */
  readonly times?: number;
  /** Sleeps until so long after it was added. For faults of the cluster: when it happens. */
  readonly afterMs?: Duration;
  /** For faults of the cluster: happens again after so long. */
  readonly everyMs?: Duration;
}

export interface FaultMatch {
  /** Contained in the user agent. */
  readonly userAgent?: string;
  /** Also (true), or only with `userAgent`, requests of the cluster's scheduler, kubelet and controllers. */
  readonly own?: boolean;
  readonly verb?: string;
  readonly method?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

type FieldKind = 'number' | 'count' | 'duration' | 'probability' | 'code' | 'text';

const none: Readonly<Record<string, FieldKind>> = {};
const down: Readonly<Record<string, FieldKind>> = { downMs: 'duration' };
const share: Readonly<Record<string, FieldKind>> = { share: 'probability' };
const frames: Readonly<Record<string, FieldKind>> = { afterFrames: 'count' };
const pieces: Readonly<Record<string, FieldKind>> = { afterPieces: 'count' };

/** What a fault is a fault of: by it a rule is looked for at the right place. */
export type FaultScope = 'request' | 'watch' | 'log' | 'event' | 'pod' | 'cluster';

interface FaultForm {
  readonly of: FaultScope;
  readonly required?: readonly string[];
  readonly fields: Readonly<Record<string, FieldKind>>;
}

const forms: Readonly<Record<Fault['kind'], FaultForm>> = {
  delay: { of: 'request', required: ['ms'], fields: { ms: 'duration' } },
  refuse: { of: 'request', required: ['code'], fields: { code: 'code', retryAfterSeconds: 'count' } },
  throttle: { of: 'request', fields: { retryAfterSeconds: 'count' } },
  resetBefore: { of: 'request', fields: none },
  resetAfter: { of: 'request', fields: none },
  staleList: { of: 'request', required: ['revisions'], fields: { revisions: 'count' } },
  watchEnd: { of: 'watch', fields: frames },
  watchHang: { of: 'watch', fields: frames },
  watchCut: { of: 'watch', fields: frames },
  watchExpired: { of: 'watch', fields: frames },
  watchInternalError: { of: 'watch', fields: frames },
  watchMalformed: { of: 'watch', fields: frames },
  watchWrongKind: { of: 'watch', fields: frames },
  logCut: { of: 'log', fields: pieces },
  logHang: { of: 'log', fields: pieces },
  eventDrop: { of: 'event', fields: none },
  eventDelay: { of: 'event', required: ['ms'], fields: { ms: 'duration' } },
  rejectPod: { of: 'pod', fields: { reason: 'text', message: 'text' } },
  failSandbox: { of: 'pod', fields: { message: 'text' } },
  compact: { of: 'cluster', fields: none },
  dropConnections: { of: 'cluster', fields: none },
  shutDownNode: { of: 'cluster', fields: none },
  rebootNode: { of: 'cluster', fields: none },
  removeImages: { of: 'cluster', fields: none },
  restartApiServer: { of: 'cluster', fields: down },
  restartKubelet: { of: 'cluster', fields: down },
  silenceNode: { of: 'cluster', fields: down },
  evictPods: { of: 'cluster', fields: share },
  killContainers: { of: 'cluster', fields: share },
  killSandboxes: { of: 'cluster', fields: share },
  skewNodeClock: { of: 'cluster', required: ['ms'], fields: { ms: 'number' } },
};

/** With it a cluster's logger is told of each fault that strikes, and its kind as `fault`. */
export const faultMessage = 'a fault strikes';

export const faultKinds = Object.keys(forms) as readonly Fault['kind'][];

export function scopeOf({ kind }: Fault): FaultScope {
  return forms[kind].of;
}

const ruleFields = ['name', 'fault', 'match', 'rate', 'times', 'afterMs', 'everyMs'];
const matchFields = ['userAgent', 'own', 'verb', 'method', 'resource', 'subresource', 'namespace'];

/** Checks what came from outside. Throws ERR_PODWRIGHT_CONFIG that names the place. */
export function parseFaultRules(value: Json): FaultRule[] {
  const list = Array.isArray(value) ? value : [value];
  return list.map((entry, at) => parseRule(entry, Array.isArray(value) ? `[${at}]` : 'the rule'));
}

function parseRule(value: Json, place: string): FaultRule {
  if (!isObject(value)) throw wrong(place, 'is no object', 'Write {"fault": {"kind": …}}.');
  for (const key of Object.keys(value)) if (!ruleFields.includes(key)) throw unknown(`${place}.${key}`, ruleFields);
  const { fault, match, name } = value;
  if (!isObject(fault)) throw wrong(`${place}.fault`, 'is missing', 'Write {"fault": {"kind": …}}.');
  const kind = fault['kind'];
  const form = typeof kind === 'string' && Object.hasOwn(forms, kind) ? forms[kind as Fault['kind']] : undefined;
  if (form === undefined) throw unknown(`${place}.fault.kind`, Object.keys(forms));
  for (const [key, entry] of Object.entries(fault)) {
    if (key === 'kind') continue;
    const field = form.fields[key];
    if (field === undefined) throw unknown(`${place}.fault.${key}`, Object.keys(form.fields));
    checkField(field, entry, `${place}.fault.${key}`);
  }
  for (const key of form.required ?? []) {
    if (!(key in fault)) throw wrong(`${place}.fault.${key}`, 'is missing', `A fault "${String(kind)}" needs it.`);
  }
  if (name !== undefined && typeof name !== 'string') throw wrong(`${place}.name`, 'is no text', 'Write a name.');
  const { of } = form;
  if (match !== undefined && of !== 'request' && of !== 'watch' && of !== 'log') {
    throw wrong(`${place}.match`, 'has no meaning', `A fault "${String(kind)}" is not one of requests: leave it out.`);
  }
  checkMatch(match, place);
  for (const [key, field] of [
    ['rate', 'probability'],
    ['times', 'count'],
    ['afterMs', 'duration'],
    ['everyMs', 'duration'],
  ] as const) {
    const entry = value[key];
    if (entry !== undefined) checkField(field, entry, `${place}.${key}`);
  }
  return value as unknown as FaultRule;
}

function checkMatch(match: Json | undefined, place: string): void {
  if (match === undefined) return;
  if (!isObject(match)) throw wrong(`${place}.match`, 'is no object', 'Write {"verb": "watch", "resource": "pods"}.');
  for (const [key, entry] of Object.entries(match)) {
    if (!matchFields.includes(key)) throw unknown(`${place}.match.${key}`, matchFields);
    const wanted = key === 'own' ? 'boolean' : 'string';
    if (typeof entry !== wanted) throw wrong(`${place}.match.${key}`, `is no ${wanted}`, 'Correct its value.');
  }
}

function checkField(kind: FieldKind, value: Json, place: string): void {
  const isNumber = (entry: unknown): entry is number => typeof entry === 'number' && Number.isFinite(entry);
  const fits: Readonly<Record<FieldKind, () => boolean>> = {
    number: () => isNumber(value),
    text: () => typeof value === 'string' && value !== '',
    count: () => isNumber(value) && Number.isInteger(value) && value >= 0,
    probability: () => isNumber(value) && value >= 0 && value <= 1,
    code: () => isNumber(value) && Number.isInteger(value) && value >= 400 && value <= 599,
    duration: () =>
      (isNumber(value) && value >= 0) ||
      (Array.isArray(value) && value.length === 2 && value.every((entry) => isNumber(entry) && entry >= 0)),
  };
  if (fits[kind]()) return;
  const texts: Readonly<Record<FieldKind, string>> = {
    number: 'a number',
    text: 'a text',
    count: 'a whole number of 0 or more',
    probability: 'a number from 0 to 1',
    code: 'an HTTP status from 400 to 599',
    duration: 'milliseconds, or a range [from, to] of them',
  };
  throw wrong(place, `is ${JSON.stringify(value)}`, `Write ${texts[kind]}.`);
}

function unknown(place: string, known: readonly string[]): PodwrightError {
  return wrong(place, 'is not known', known.length === 0 ? 'Remove it.' : `Choose one of ${known.join(', ')}.`);
}

function wrong(place: string, what: string, remedy: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `in the faults, ${place} ${what}`, { remedy, details: { place } });
}
