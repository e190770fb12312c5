/** A raw HTTP(S) server that answers as each test says, faults included. It knows nothing of Kubernetes. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { isPodwrightError, type PodwrightError } from '../../src/errors.ts';
import { type ConnectOptions, connect, type KubeClient } from '../../src/kube/client.ts';

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly response: ServerResponse;
  /** Set once the client has hung up or the answer was sent. */
  closed: boolean;
  json(status: number, body: object, headers?: Record<string, string>): void;
  text(status: number, body: string, headers?: Record<string, string>): void;
  /** Sends the headers of an endless answer. */
  open(): void;
  /** One frame of a watch. */
  frame(type: string, object: object): void;
  write(bytes: string | Uint8Array): void;
  end(): void;
  /** Cuts the connection in the middle of the answer. */
  reset(): void;
}

export type Answer = (exchange: Exchange) => void;

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** In the order of arrival. */
  readonly requests: Exchange[];
  /** How every request is answered that `next` does not answer. */
  answer: Answer;
  /** Answers one request after the other; the queue comes before `answer`. */
  next(...answers: Answer[]): void;
  /** Open connections. */
  readonly sockets: ReadonlySet<Socket>;
  /** Refuses new connections and cuts the present ones. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  restart(): Promise<void>;
}

export const fixtures = new URL('../fixtures/tls/', import.meta.url).pathname;

export async function startApiServer(options: { readonly tls?: boolean } = {}): Promise<ApiServer> {
  const queue: Answer[] = [];
  const requests: Exchange[] = [];
  const sockets = new Set<Socket>();
  const listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const exchange = makeExchange(request, Buffer.concat(chunks).toString(), response);
    requests.push(exchange);
    (queue.shift() ?? api.answer)(exchange);
  };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // A client that hangs up while it sends is one of the faults.
    listener(request, response).catch(() => response.destroy());
  };
  const server = options.tls
    ? createTlsServer(
        {
          key: await readFile(join(fixtures, 'server.key')),
          cert: await readFile(join(fixtures, 'server.crt')),
          ca: await readFile(join(fixtures, 'ca.crt')),
          requestCert: true,
          rejectUnauthorized: false,
        },
        onRequest,
      )
    : createServer(onRequest);
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const api: ApiServer = {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    requests,
    sockets,
    answer: (exchange) => exchange.json(404, status(404, 'NotFound', 'nothing here')),
    next: (...answers) => void queue.push(...answers),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
    restart: () => listen(port),
  };
  onTestFinished(() => (server.listening ? api.stop() : undefined));
  return api;
}

function makeExchange(request: IncomingMessage, body: string, response: ServerResponse): Exchange {
  const url = new URL(request.url ?? '', 'http://server');
  const exchange: Exchange = {
    method: request.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
    response,
    closed: false,
    json: (code, object, headers = {}) => {
      response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(object));
    },
    text: (code, text, headers = {}) =>
      void response.writeHead(code, { 'content-type': 'text/plain', ...headers }).end(text),
    open: () => void response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders(),
    frame: (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`),
    write: (bytes) => void response.write(bytes),
    end: () => void response.end(),
    reset: () => void request.socket.destroy(),
  };
  response.on('close', () => {
    exchange.closed = true;
  });
  return exchange;
}

export function status(code: number, reason: string, message: string, more: object = {}): object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code, ...more };
}

/** Writes a kubeconfig for `server`; `user` and `cluster` are its entries' contents. */
export async function writeKubeConfig(
  server: string,
  user: object = { token: 'good' },
  cluster: object = {},
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'podwright-kube-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'config');
  await writeFile(
    path,
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'here', cluster: { server, ...cluster } }],
      users: [{ name: 'me', user }],
      contexts: [{ name: 'work', context: { cluster: 'here', user: 'me', namespace: 'builds' } }],
      'current-context': 'work',
    }),
  );
  return path;
}

/** Waits for something that the other side of a connection does. The test's own time limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const item of items) read.push(item);
  return read;
}

/** A client of this server, closed at the end of the test. */
export async function connectTo(
  api: ApiServer,
  options: ConnectOptions & { readonly user?: object; readonly cluster?: object } = {},
): Promise<KubeClient> {
  const { user, cluster, ...rest } = options;
  const client = await connect({ kubeConfig: await writeKubeConfig(api.url, user, cluster), ...rest });
  onTestFinished(() => client.close());
  return client;
}

export async function failureOf(promise: Promise<unknown>): Promise<PodwrightError> {
  const error = await promise.then(
    () => new Error('it worked'),
    (reason: unknown) => reason,
  );
  if (!isPodwrightError(error)) throw error;
  return error;
}
