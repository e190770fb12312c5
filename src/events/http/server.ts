/**
 * The HTTP server of the events, on Node's own `http` alone: listens, lets the guard decide, finds the route.
 *
 * It binds to the loopback unless told otherwise, and elsewhere only with a token. It never answers with a stack trace,
 * and a route that fails answers 500 and harms no other request. After `close` no socket is left.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import { PodwrightError } from '../../errors.ts';
import { type Logger, silentLogger } from '../../logger.ts';
import { type GuardOptions, isLoopback, isSame, refusalOf, tokenCookie } from './guard.ts';

export interface RouteRequest {
  readonly method: string;
  readonly url: URL;
  /** The parts of the path that the route's pattern names. */
  readonly params: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT';
  /** `/v3/builds/:build/log`: a part with a colon stands for any one part. */
  readonly path: string;
  handle(request: RouteRequest, response: ServerResponse): void | Promise<void>;
}

export interface EventServerOptions {
  readonly routes: readonly Route[];
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: one that is free. */
  readonly port?: number;
  /** Obligatory when `host` is not a loopback address. */
  readonly token?: string;
  /** Further names that clients may call this server by. */
  readonly allowedHosts?: readonly string[];
  readonly clock?: Clock;
  readonly logger?: Logger;
}

export interface EventServer {
  /** `http://127.0.0.1:50052` */
  readonly url: string;
  readonly port: number;
  /** Takes no new connection, gives running answers up to `drainMs` (default 1000) to end, then cuts them off. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** Throws `ERR_PODWRIGHT_USAGE` for an address it may not or cannot bind. */
export async function startEventServer(options: EventServerOptions): Promise<EventServer> {
  const { host = '127.0.0.1', port = 0, token, allowedHosts, clock = systemClock, logger = silentLogger } = options;
  if (!isLoopback(host) && (token === undefined || token.length < shortestToken)) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `the events may not be served on ${host} without a token`, {
      remedy: `Give a token of at least ${shortestToken} characters, or bind to 127.0.0.1.`,
    });
  }
  const guard: GuardOptions = {
    host,
    ...(token === undefined ? {} : { token }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
  };
  const routes = options.routes.map((route) => ({ route, parts: route.path.split('/') }));
  // A client that vanished without a word is noticed by the keep-alive of its connection.
  const limits = { maxHeaderSize: 16 * 1024, requestTimeout: 30_000, keepAlive: true, keepAliveInitialDelay: 30_000 };
  const server = createServer(limits, (request, response) => {
    answer(request, response, guard, routes).catch((error: unknown) => {
      logger.info('a request to the event server failed', { path: request.url, error });
      if (response.headersSent) response.destroy();
      else sendError(response, 500, 13, 'internal error');
    });
  });
  const address = await listen(server, host, port);
  const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${shown}:${address.port}`,
    port: address.port,
    close: ({ drainMs = 1000 } = {}) => close(server, clock, drainMs),
  };
}

/** An error in the form of Skaffold's gateway: `{ code, message, details }`, `code` as gRPC counts them. */
export function sendError(response: ServerResponse, status: number, code: number, message: string): void {
  sendJson(response, { code, message, details: [] }, status);
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

const shortestToken = 16;

interface CompiledRoute {
  readonly route: Route;
  readonly parts: readonly string[];
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  guard: GuardOptions,
  routes: readonly CompiledRoute[],
): Promise<void> {
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('cache-control', 'no-store');
  response.setHeader('referrer-policy', 'no-referrer');
  const url = URL.parse(request.url ?? '/', 'http://server');
  if (url === null) return sendError(response, 400, 3, 'the request has no valid path');
  if (welcome(url, response, guard, request)) return;
  const refusal = refusalOf(request, guard);
  if (refusal !== null) {
    if (refusal.status === 401) response.setHeader('www-authenticate', 'Bearer');
    return sendError(response, refusal.status, refusal.status === 401 ? 16 : 7, refusal.message);
  }
  const { method } = request;
  const found = routes.flatMap((one) => {
    const params = match(one.parts, url.pathname);
    return params === null ? [] : [{ route: one.route, params }];
  });
  const hit = found.find(({ route }) => route.method === method);
  if (hit !== undefined) {
    await hit.route.handle({ method: method ?? 'GET', url, params: hit.params, headers: request.headers }, response);
  } else if (found.length > 0) {
    response.setHeader('allow', found.map(({ route }) => route.method).join(', '));
    sendError(response, 405, 12, 'Method Not Allowed');
  } else sendError(response, 404, 5, 'Not Found');
}

/** A browser that brings the token in the address gets it as a cookie and is sent on to the address without it. */
function welcome(url: URL, response: ServerResponse, guard: GuardOptions, request: IncomingMessage): boolean {
  const given = url.searchParams.get('token');
  if (guard.token === undefined || given === null || request.method !== 'GET') return false;
  if (refusalOf(request, { host: guard.host, allowedHosts: guard.allowedHosts ?? [] }) !== null) return false;
  if (!isSame(given, guard.token)) return false;
  url.searchParams.delete('token');
  const cookie = `${tokenCookie}=${encodeURIComponent(given)}; HttpOnly; SameSite=Strict; Path=/`;
  response.writeHead(303, { 'set-cookie': cookie, location: `${url.pathname}${url.search}` });
  response.end();
  return true;
}

function match(parts: readonly string[], pathname: string): Readonly<Record<string, string>> | null {
  const given = pathname.split('/');
  if (given.length !== parts.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of parts.entries()) {
    const text = given[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== text) return null;
      continue;
    }
    try {
      params[part.slice(1)] = decodeURIComponent(text);
    } catch {
      return null;
    }
  }
  return params;
}

async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void =>
      reject(
        new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
          cause: error,
          remedy:
            error.code === 'EADDRINUSE' ? 'Choose another port, or 0 for one that is free.' : 'Choose another address.',
        }),
      );
    server.once('error', refuse);
    server.listen(port, host, () => {
      server.off('error', refuse);
      resolve();
    });
  });
  return server.address() as AddressInfo;
}

async function close(server: Server, clock: Clock, drainMs: number): Promise<void> {
  const cut = clock.schedule(drainMs, () => server.closeAllConnections());
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  cut.cancel();
}
