/**
 * The paths of Skaffold's API, v1 and v2: state, and the stream of events as newline-delimited JSON, the past and then
 * what comes. Commands to a development loop are answered as not implemented: a build is not one.
 */
import type { ServerResponse } from 'node:http';
import { type Clock, systemClock } from '../../clock.ts';
import type { EventHub, StoredEvent } from '../hub.ts';
import { v1State, v2State } from '../skaffold/state.ts';
import { v1Lines } from '../skaffold/v1.ts';
import { v2Lines, v2LogLine } from '../skaffold/v2.ts';
import type { PodwrightEvent } from '../types.ts';
import { type Route, sendError, sendJson } from './server.ts';
import { type StreamEnd, streamLog } from './stream.ts';

export interface StreamHooks {
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Called when a subscriber comes and when it goes, for the metrics. */
  readonly onSubscriber?: (api: string) => (end: StreamEnd) => void;
}

export function skaffoldRoutes(hub: EventHub, hooks: StreamHooks = {}): readonly Route[] {
  const v1 = eventStream(hub, hooks, 'v1', (event) => v1Lines(event));
  const v2 = eventStream(hub, hooks, 'v2', (event) => v2Lines(event, hub.epoch));
  return [
    { method: 'GET', path: '/v1/state', handle: (_, response) => sendJson(response, v1State(hub.state)) },
    { method: 'GET', path: '/v2/state', handle: (_, response) => sendJson(response, v2State(hub.state, hub.epoch)) },
    { method: 'GET', path: '/v1/events', handle: (_, response) => v1(response) },
    { method: 'GET', path: '/v1/event_log', handle: (_, response) => v1(response) },
    { method: 'GET', path: '/v2/events', handle: (_, response) => v2(response) },
    { method: 'GET', path: '/v2/applicationLogs', handle: (_, response) => applicationLogs(hub, hooks, response) },
    ...['v1', 'v2'].flatMap(commandRoutes),
  ];
}

type Lines = (event: PodwrightEvent) => string;

function eventStream(hub: EventHub, hooks: StreamHooks, api: string, lines: Lines) {
  return async (response: ServerResponse): Promise<void> => {
    openStream(response);
    const left = hooks.onSubscriber?.(api);
    const end = await streamLog(response, hub.events.cursor(), {
      clock: hooks.clock ?? systemClock,
      follow: true,
      encode: ({ value }) => encoded(value, api, lines),
      dropped: (missed) => errorFrame(`the reader was too slow: ${missed} events were dropped before it read them`),
    });
    left?.(end);
  };
}

/** The bytes of an event in one wire form, made once for all readers. */
function encoded(stored: StoredEvent, api: string, lines: Lines): Buffer {
  let bytes = stored.encoded.get(api);
  if (bytes === undefined) {
    bytes = Buffer.from(lines(stored.event));
    stored.encoded.set(api, bytes);
  }
  return bytes;
}

async function applicationLogs(hub: EventHub, hooks: StreamHooks, response: ServerResponse): Promise<void> {
  openStream(response);
  const left = hooks.onSubscriber?.('v2-logs');
  const end = await streamLog(response, hub.allLines.cursor(), {
    clock: hooks.clock ?? systemClock,
    follow: true,
    encode: ({ value: { build, container, line } }) =>
      v2LogLine(hub.state.builds[build]?.pod?.ref.name ?? build, container, line),
    dropped: (missed) => errorFrame(`the reader was too slow: ${missed} lines were dropped before it read them`),
  });
  left?.(end);
}

/** Headers go out at once: a client of a quiet build sees that it is connected. */
function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
}

/** gRPC's RESOURCE_EXHAUSTED, as the gateway writes an error in the middle of a stream. */
function errorFrame(message: string): string {
  return `${JSON.stringify({ error: { code: 8, message, details: [] } })}\n`;
}

const commands: readonly (readonly [Route['method'], string])[] = [
  ['POST', 'execute'],
  ['PUT', 'build/auto_execute'],
  ['PUT', 'sync/auto_execute'],
  ['PUT', 'deploy/auto_execute'],
  ['POST', 'events/handle'],
];

function commandRoutes(version: string): readonly Route[] {
  return commands.map(([method, path]) => ({
    method,
    path: `/${version}/${path}`,
    handle: (_, response) => sendError(response, 501, 12, 'podwright has no development loop to command'),
  }));
}
