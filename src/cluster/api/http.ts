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
import { PodwrightError } from '../../errors.ts';
import type { TlsFiles } from '../tls.ts';
import { type ApiResponse, ConnectionLost, type Transport } from '../transport.ts';
import { bodyBytesMax } from './server.ts';
import { tooLarge } from './status.ts';

/** A request's headers, and its whole, must have come within these. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const headerBytesMax = 64 * 1024;

export interface HttpServer {
  readonly port: number;
  /** Breaks every open connection; new ones are still taken. */
  dropConnections(): void;
  close(): Promise<void>;
}

/** Rejects with ERR_PODWRIGHT_CONFIG when the port cannot be had. */
export async function serveHttp(transport: Transport, host: string, port: number, tls?: TlsFiles): Promise<HttpServer> {
  const limits = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: 60_000,
    connectionsCheckingInterval: 1_000,
  };
  const listener: RequestListener = (request, response) => void answer(transport, request, response);
  const server =
    tls === undefined
      ? createServer(limits, listener)
      : createTlsServer({ ...limits, key: tls.key, cert: tls.certificate }, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
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
    const body = await readBody(request);
    const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
    const result =
      body === 'tooLarge'
        ? refusal()
        : await transport({
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

function refusal(): ApiResponse {
  const { status } = tooLarge(bodyBytesMax);
  const headers = { 'content-type': 'application/json', connection: 'close' };
  return { status: status.code, headers, body: JSON.stringify(status) };
}

async function readBody(request: IncomingMessage): Promise<Uint8Array | undefined | 'tooLarge'> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
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
