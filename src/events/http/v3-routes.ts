/**
 * Podwright's own API, `/v3`: the state with the sequence number it belongs to, the events as Server-Sent Events that
 * resume where a client left off, the lines of a container's log, and the OpenAPI document of all this.
 *
 * A stream of events begins with a `snapshot` (the state before the oldest event that is kept) unless it resumes. Its
 * ids are `EPOCH:SEQ`; a client that comes back with one goes on after it. An id of another epoch, or one whose
 * successor is no longer kept, begins anew with a `snapshot` that says why. What a client folds from snapshot and
 * events is the state, always.
 */
import type { ServerResponse } from 'node:http';
import { systemClock } from '../../clock.ts';
import type { EventHub, Snapshot, StoredEvent } from '../hub.ts';
import { openApi } from './openapi.ts';
import { type Route, type RouteRequest, sendError, sendJson } from './server.ts';
import type { StreamHooks } from './skaffold-routes.ts';
import { streamLog } from './stream.ts';

export function v3Routes(hub: EventHub, hooks: StreamHooks = {}): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/v3/state',
      handle: (_, response) => sendJson(response, { ...hub.snapshot(), first: hub.events.first }),
    },
    { method: 'GET', path: '/v3/events', handle: (request, response) => events(hub, hooks, request, response) },
    {
      method: 'GET',
      path: '/v3/builds/:build/containers/:container/log',
      handle: (request, response) => lines(hub, hooks, request, response),
    },
    { method: 'GET', path: '/v3/openapi.json', handle: (_, response) => sendJson(response, openApi) },
  ];
}

/** Where a stream begins, and why with a snapshot when it does. */
interface Begin {
  readonly after: number;
  readonly snapshot: (Snapshot & { readonly reason: 'start' | 'epoch' | 'dropped' }) | null;
}

async function events(
  hub: EventHub,
  hooks: StreamHooks,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const query = request.url.searchParams;
  const lastId = request.headers['last-event-id'] ?? query.get('after');
  const begin = beginOf(hub, typeof lastId === 'string' ? lastId : null, query.get('from'));
  if (typeof begin === 'string') return sendError(response, 400, 3, begin);
  const build = query.get('build');
  const form = query.get('format') === 'ndjson' ? ndjson : sse;
  response.writeHead(200, { 'content-type': form.contentType });
  response.flushHeaders();
  response.write(form.head);
  if (begin.snapshot !== null) response.write(form.snapshot(begin.snapshot));
  const left = hooks.onSubscriber?.('v3');
  const end = await streamLog(response, hub.events.cursor(begin.after), {
    clock: hooks.clock ?? systemClock,
    follow: query.get('follow') !== 'false',
    encode: ({ value }) => (build === null || isAbout(value, build) ? form.event(hub.epoch, value) : null),
    dropped: (missed) =>
      form.last('dropped', { missed, message: 'the reader was too slow; reconnect to go on with a snapshot' }),
    ended: () => form.last('ended', { message: 'nothing follows' }),
    ...(form === sse ? { heartbeat: ': still here\n\n' } : {}),
  });
  left?.(end);
}

const idPattern = /^(?<epoch>.+):(?<seq>\d+)$/;

/** A string tells what is wrong with the id. */
function beginOf(hub: EventHub, lastId: string | null, from: string | null): Begin | string {
  const start = (reason: 'start' | 'epoch' | 'dropped'): Begin => {
    const snapshot = from === 'now' ? hub.snapshot() : hub.baseSnapshot();
    return { after: snapshot.seq, snapshot: { ...snapshot, reason } };
  };
  if (lastId === null || lastId === '') return start('start');
  const { epoch, seq } = idPattern.exec(lastId)?.groups ?? {};
  if (epoch === undefined || seq === undefined) return 'an event id has the form EPOCH:SEQ';
  const after = Number(seq);
  if (epoch !== hub.epoch || after > hub.events.last) return start('epoch');
  return after + 1 < hub.events.first ? start('dropped') : { after, snapshot: null };
}

function isAbout({ event }: StoredEvent, build: string): boolean {
  return !('build' in event) || event.build === null || event.build === build;
}

interface Form {
  readonly contentType: string;
  readonly head: string;
  snapshot(snapshot: Snapshot): string;
  event(epoch: string, stored: StoredEvent): Buffer;
  last(type: 'dropped' | 'ended', body: object): string;
}

const sse: Form = {
  contentType: 'text/event-stream',
  head: 'retry: 1000\n\n',
  snapshot: (snapshot) =>
    `id: ${snapshot.epoch}:${snapshot.seq}\nevent: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`,
  event: (epoch, stored) =>
    cached(stored, 'sse', () => `id: ${epoch}:${stored.event.seq}\nevent: event\ndata: ${stored.json}\n\n`),
  last: (type, body) => `event: ${type}\ndata: ${JSON.stringify(body)}\n\n`,
};

/** One JSON object a line: what the inspector page opens as a file. */
const ndjson: Form = {
  contentType: 'application/x-ndjson',
  head: '',
  snapshot: (snapshot) => `${JSON.stringify({ type: 'snapshot', ...snapshot })}\n`,
  event: (_, stored) => cached(stored, 'ndjson', () => `${stored.json}\n`),
  last: (type, body) => `${JSON.stringify({ type, ...body })}\n`,
};

function cached(stored: StoredEvent, form: string, make: () => string): Buffer {
  let bytes = stored.encoded.get(form);
  if (bytes === undefined) {
    bytes = Buffer.from(make());
    stored.encoded.set(form, bytes);
  }
  return bytes;
}

async function lines(
  hub: EventHub,
  hooks: StreamHooks,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const { build = '', container = '' } = request.params;
  const log = hub.lines(build, container);
  if (log === undefined) return sendError(response, 404, 5, `there is no container ${container} of a build ${build}`);
  hub.wantLines(build, container);
  const query = request.url.searchParams;
  const { epoch, seq } = idPattern.exec(String(request.headers['last-event-id'] ?? ''))?.groups ?? {};
  // Lines of another epoch were counted apart: better told again than left out.
  const resumed = epoch === hub.epoch ? Number(seq) : 0;
  const after = Math.min(Math.max(resumed, log.first - 1), log.last);
  const isText = query.get('format') === 'text';
  response.writeHead(200, { 'content-type': isText ? 'text/plain; charset=utf-8' : 'text/event-stream' });
  response.flushHeaders();
  const left = hooks.onSubscriber?.('v3-log');
  const end = await streamLog(response, log.cursor(after), {
    clock: hooks.clock ?? systemClock,
    follow: query.get('follow') !== 'false',
    encode: ({ seq, value }) =>
      isText
        ? `${value.line.gap === null ? value.line.text : `[lines are missing here: ${value.line.gap}]`}\n`
        : `id: ${hub.epoch}:${seq}\nevent: line\ndata: ${value.json}\n\n`,
    dropped: (missed) =>
      isText ? `[${missed} lines were dropped: the reader was too slow]\n` : sse.last('dropped', { missed }),
    ended: () => (isText ? '' : sse.last('ended', {})),
    ...(isText ? {} : { heartbeat: ': still here\n\n' }),
  });
  left?.(end);
}
