/**
 * The API server's HTTP side.
 *
 * Bodies above the limit, malformed requests and slow senders are refused or cut off; the server stays up. Closing ends
 * every connection.
 */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { PodwrightError } from '../../errors.ts';
import type { TlsFiles } from '../tls.ts';
import { type ApiResponse, ConnectionLost, type Transport } from '../transport.ts';
import { bodyBytesMax } from './server.ts';
import { tooLarge } from './status.ts';

export interface HttpLimits {
  /** A request's headers, and its whole, must have come within these. */
  readonly headersMs: number;
  readonly requestMs: number;
  readonly headerBytes: number;
}

const defaultLimits: HttpLimits = { headersMs: 10_000, requestMs: 30_000, headerBytes: 64 * 1024 };

/** A client that is refused while it still sends is listened to for so long, that it may read why. */
const lingerMs = 500;

export interface HttpOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls?: TlsFiles | undefined;
  readonly limits?: HttpLimits;
}

export interface HttpServer {
  readonly port: number;
  /** Breaks every open connection; new ones are still taken. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Rejects with ERR_PODWRIGHT_CONFIG when the port cannot be had. */
export async function serveHttp(
  transport: Transport,
  { host, port, tls, limits = defaultLimits }: HttpOptions,
): Promise<HttpServer> {
  const options = {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    maxHeaderSize: limits.headerBytes,
    keepAliveTimeout: 60_000,
    // Answered here, in the words of Go's server.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
  };
  const listener: RequestListener = (request, response) => void answer(transport, request, response);
  const server =
    tls === undefined
      ? createServer(options, listener)
      : createTlsServer({ ...options, key: tls.key, cert: tls.certificate }, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', refuseConnection);
  await listen(server, host, port);
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    dropConnections,
    async close() {
      const closed = once(server, 'close');
      server.close();
      dropConnections();
      await closed;
    },
  };
}

/** The parser tells of the same fault again with each further piece. */
const refused = new WeakSet<Duplex>();

/** In the words of Go's server; who was too slow is not answered at all. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (refused.has(socket)) return;
  refused.add(socket);
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const head = `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n`;
  socket.write(`${head}${status}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `the embedded cluster cannot listen on ${host}:${port}`, {
      cause: error,
      remedy: 'Choose another port, or 0 for a free one.',
    });
  }
}

async function answer(transport: Transport, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    if (request.httpVersion === '1.1' && request.headers.host === undefined) {
      refuseHostless(response);
      return;
    }
    const body = await readBody(request);
    if (body === 'tooLarge') {
      await refuseBody(request, response);
      return;
    }
    const [path = '/', query = ''] = withoutOrigin(request.url ?? '/').split('?', 2);
    const result = await transport({
      method: request.method ?? 'GET',
      path,
      query: new URLSearchParams(query),
      headers: flatHeaders(request),
      body,
      signal: gone.signal,
    });
    await send(response, result, request.method === 'HEAD');
  } catch (error) {
    // The client is gone, or the server plays a broken connection: either way there is nobody to tell.
    request.socket.destroy(error instanceof ConnectionLost ? undefined : (error as Error));
  }
}

function refuseHostless(response: ServerResponse): void {
  response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
  response.end('400 Bad Request: missing required Host header');
}

/** A client that takes the server for a proxy sends the whole address. */
function withoutOrigin(url: string): string {
  return url.replace(/^https?:\/\/[^/?]*/i, '') || '/';
}

/** Whoever is cut off while sending may never read the answer: the rest is taken in for a while, and thrown away. */
async function refuseBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = Buffer.from(`${JSON.stringify(tooLarge(bodyBytesMax).status)}\n`);
  response.writeHead(413, {
    'content-type': 'application/json',
    'content-length': String(text.length),
    connection: 'close',
  });
  response.write(text);
  request.resume();
  const ended = new AbortController();
  await Promise.race([
    once(request, 'end', { signal: ended.signal }).catch(() => undefined),
    once(request, 'close', { signal: ended.signal }).catch(() => undefined),
    sleep(lingerMs, undefined, { signal: ended.signal }).catch(() => undefined),
  ]);
  ended.abort();
  response.end();
  request.socket.destroySoon();
}

async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined | 'tooLarge'> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bodyBytesMax) return 'tooLarge';
    pieces.push(piece);
  }
  return bytes === 0 ? undefined : Buffer.concat(pieces);
}

function flatHeaders({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

async function send(response: ServerResponse, result: ApiResponse, headOnly: boolean): Promise<void> {
  if (typeof result.body === 'string') {
    const bytes = Buffer.from(result.body);
    const length = result.status === 204 ? {} : { 'content-length': String(bytes.length) };
    response.writeHead(result.status, { ...result.headers, ...length });
    response.end(headOnly ? undefined : bytes);
    return;
  }
  response.writeHead(result.status, result.headers);
  response.flushHeaders();
  const pieces = result.body[Symbol.asyncIterator]();
  const leave = (): void => void pieces.return?.();
  if (response.destroyed) leave();
  else response.once('close', leave);
  for (let piece = await pieces.next(); piece.done !== true; piece = await pieces.next()) {
    if (response.destroyed) break;
    if (!response.write(piece.value)) await drained(response);
  }
  response.end();
}

/** Resolves when the client has taken what was written, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.on('drain', settle);
    response.on('close', settle);
  });
}
