/**
 * What hostile or broken clients do to the HTTP side: it answers as the real one where there is an answer, cuts off who
 * is too slow or too big, and goes on serving the others.
 */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type HttpLimits, type HttpServer, serveHttp } from '../../src/cluster/api/http.ts';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';

const host = '127.0.0.1';
const pods = '/api/v1/namespaces/default/pods';
let cluster: EmbeddedCluster | undefined;
let server: HttpServer | undefined;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  await cluster?.stop();
  server = undefined;
  cluster = undefined;
});

/** The API server of a cluster in memory, behind limits that a test can wait for. */
async function serve(given: Partial<HttpLimits> = {}): Promise<number> {
  const limits = { headersMs: 10_000, requestMs: 30_000, headerBytes: 64 * 1024, ...given };
  cluster = await startCluster({ backend: 'scripted', transport: 'memory' });
  server = await serveHttp(cluster.transport, { host, port: 0, limits });
  return server.port;
}

function open(port: number): Socket {
  const socket = connect(port, host);
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** All that is answered until the server closes. */
async function answer(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (bytes) => {
    text += bytes.toString();
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}

async function isServed(port: number): Promise<boolean> {
  const response = await fetch(`http://${host}:${port}${pods}`);
  return response.status === 200 && ((await response.json()) as { kind: string }).kind === 'PodList';
}

const plain = (status: string): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`;

test.each([
  ['no HTTP', 'hello\r\n\r\n', '400 Bad Request'],
  ['a header without a colon', 'GET / HTTP/1.1\r\nnonsense\r\n\r\n', '400 Bad Request'],
  ['a length that is no number', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n', '400 Bad Request'],
  ['headers of 2 MB', `GET / HTTP/1.1\r\nx: ${'y'.repeat(2_000_000)}\r\n\r\n`, '431 Request Header Fields Too Large'],
])('%s is answered as by the real server', async (_what, text, status) => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  socket.write(text);
  expect(await answered).toBe(plain(status));
  expect(await isServed(port)).toBe(true);
});

test('a request without a host is refused in the words of the real server, one of HTTP/1.0 needs none', async () => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  socket.write('GET /version HTTP/1.1\r\n\r\n');
  expect(await answered).toMatch(/^HTTP\/1.1 400 Bad Request\r\n[\s\S]*400 Bad Request: missing required Host header/);
  const old = open(port);
  const oldAnswer = answer(old);
  old.write('GET /healthz HTTP/1.0\r\n\r\n');
  expect(await oldAnswer).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*ok$/);
});

test('a whole address, as a proxy is sent it, is read for its path', async () => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  socket.write('GET http://x/healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect(await answered).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*ok$/);
});

test.each([
  ['with a length', 'content-length: 10485760\r\n\r\n', ''],
  ['in chunks', 'transfer-encoding: chunked\r\n\r\nA00000\r\n', '\r\n0\r\n\r\n'],
])('a body of 10 MiB %s gets a 413 that the client can read', async (_how, head, tail) => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  socket.write(`POST ${pods} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${head}`);
  socket.write('x'.repeat(10 * 1024 * 1024));
  socket.write(tail);
  const [headers = '', body = ''] = (await answered).split('\r\n\r\n');
  expect(headers).toMatch(/^HTTP\/1.1 413 /);
  expect(JSON.parse(body)).toStrictEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Request entity too large: limit is 3145728',
    reason: 'RequestEntityTooLarge',
    code: 413,
  });
  expect(await isServed(port)).toBe(true);
});

test('a body of exactly 3 MiB is read', async () => {
  const port = await serve();
  const head = '{"metadata":{"name":"big"},"data":{"a":"';
  const body = `${head}${'x'.repeat(3 * 1024 * 1024 - head.length - 3)}"}}`;
  expect(body).toHaveLength(3 * 1024 * 1024);
  const response = await fetch(`http://${host}:${port}/api/v1/namespaces/default/configmaps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  // Not for its size on the wire, but for that of its data.
  expect(await response.json()).toMatchObject({ code: 422, reason: 'Invalid' });
});

test('headers that come byte by byte are cut off without an answer, and nobody else waits', async () => {
  const port = await serve({ headersMs: 1_000 });
  const slow = Array.from({ length: 50 }, () => open(port));
  const answers = slow.map(answer);
  for (const socket of slow) socket.write('GET / HTTP/1.1\r\nx: ');
  const drip = setInterval(() => {
    for (const socket of slow) if (socket.writable) socket.write('y');
  }, 50);
  expect(await isServed(port)).toBe(true);
  expect(await Promise.all(answers)).toStrictEqual(slow.map(() => ''));
  clearInterval(drip);
  expect(await isServed(port)).toBe(true);
});

test('a body that comes byte by byte is cut off', async () => {
  const port = await serve({ headersMs: 1_000, requestMs: 2_000 });
  const socket = open(port);
  const answered = answer(socket);
  socket.write(`POST ${pods} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n`);
  const drip = setInterval(() => socket.writable && socket.write(' '), 50);
  expect(await answered).toBe('');
  clearInterval(drip);
  expect(await isServed(port)).toBe(true);
});

test('a client that stops sending but reads gets its answer', async () => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  socket.end('GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  expect(await answered).toContain('"gitVersion": "v1.36.3"');
});

test('watches whose clients vanish or never read are forgotten', async () => {
  const port = await serve();
  const watch = `GET ${pods}?watch=1 HTTP/1.1\r\nhost: x\r\nuser-agent: gone\r\n\r\n`;
  for (let client = 0; client < 20; client += 1) {
    const socket = open(port);
    socket.pause();
    socket.write(watch);
  }
  await expect.poll(() => cluster?.requests.count({ userAgent: 'gone', open: true })).toBe(20);
  for (const socket of sockets) socket.resetAndDestroy();
  await expect.poll(() => cluster?.requests.count({ userAgent: 'gone', open: true })).toBe(0);
  expect(await isServed(port)).toBe(true);
});

test('requests in one packet are answered one after the other', async () => {
  const port = await serve();
  const socket = open(port);
  const answered = answer(socket);
  const one = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
  socket.write(`${one}${one}GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect((await answered).match(/HTTP\/1\.1 \d+/g)).toStrictEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 404']);
});
