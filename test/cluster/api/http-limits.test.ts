/** Who sends too slowly, or too much, is cut off; the others are served meanwhile. */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type HttpServer, serveHttp } from '../../../src/cluster/api/http.ts';

let server: HttpServer;

/** The refusal may be lost with the connection that is cut. */
const refused = /^(HTTP\/1\.1 4\d\d |$)/;

afterEach(() => server.close());

async function slow(first: string, piece: string): Promise<string> {
  const limits = { headersMs: 1_000, requestMs: 2_000, headerBytes: 4_096 };
  server = await serveHttp(async () => ({ status: 200, headers: {}, body: 'ok' }), {
    host: '127.0.0.1',
    port: 0,
    limits,
  });
  const socket: Socket = connect(server.port, '127.0.0.1');
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes.toString();
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(first);
  const dribble = setInterval(() => socket.write(piece), 40);
  const served = await fetch(`http://127.0.0.1:${server.port}/`);
  expect(await served.text()).toBe('ok');
  await closed;
  clearInterval(dribble);
  return answer;
}

test('headers that never end', async () => {
  expect(await slow('GET / HTTP/1.1\r\nhost: x\r\n', 'a: b\r\n')).toMatch(refused);
});

test('a body that never ends', async () => {
  const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n';
  expect(await slow(head, ' ')).toMatch(refused);
});

test('nothing at all', async () => {
  expect(await slow('', '')).toMatch(refused);
});

test('headers that are too long', async () => {
  expect(await slow(`GET / HTTP/1.1\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`, '')).toMatch(refused);
});
