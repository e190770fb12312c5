/** The HTTP side stays up whatever it is sent, and leaves nothing when it stops. */
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { aPod } from '../memory-client.ts';

let cluster: EmbeddedCluster;
const pods = '/api/v1/namespaces/default/pods';

beforeAll(async () => {
  cluster = await startCluster({ backend: 'scripted' });
});

afterAll(() => cluster.stop());

async function raw(text: string): Promise<string> {
  const { hostname, port } = new URL(cluster.url);
  const socket: Socket = connect(Number(port), hostname);
  socket.end(text);
  let answer = '';
  socket.on('data', (bytes) => {
    answer += bytes.toString();
  });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.on('close', resolve));
  return answer;
}

async function isUp(): Promise<boolean> {
  const response = await fetch(`${cluster.url}/version`);
  return response.ok && ((await response.json()) as { gitVersion: string }).gitVersion === 'v1.36.3';
}

test.each([
  ['no HTTP at all', 'hello\r\n\r\n'],
  ['a request line without an end', 'GET '],
  ['a header without a colon', 'GET / HTTP/1.1\r\nnonsense\r\n\r\n'],
  ['headers without an end', `GET / HTTP/1.1\r\nx: ${'y'.repeat(100_000)}`],
  ['a wrong length', 'POST /api/v1/pods HTTP/1.1\r\nhost: x\r\ncontent-length: abc\r\n\r\n'],
  ['a chunk of a wrong size', 'POST /api/v1/pods HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  [
    'two lengths (smuggling)',
    'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
])('%s is refused', async (_what, text) => {
  const answer = await raw(text);
  expect(answer === '' || answer.startsWith('HTTP/1.1 4')).toBe(true);
  expect(await isUp()).toBe(true);
});

test('a body of 10 MiB is refused before it is read to its end', async () => {
  const response = await fetch(`${cluster.url}${pods}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `"${'x'.repeat(10 * 1024 * 1024)}"`,
  }).catch((error: unknown) => error);
  if (response instanceof Response) expect(response.status).toBe(413);
  else expect(response).toBeInstanceOf(TypeError);
  expect(await isUp()).toBe(true);
});

test.each([
  ['text', 'text/plain', 'hello'],
  ['a form', 'application/x-www-form-urlencoded', 'kind=Pod'],
  ['bytes', 'application/octet-stream', '\u0000\u0001'],
])('%s is refused as a media type', async (_what, type, body) => {
  const response = await fetch(`${cluster.url}${pods}`, { method: 'POST', headers: { 'content-type': type }, body });
  expect(response.status).toBe(415);
  expect(await response.json()).toMatchObject({ kind: 'Status', reason: 'UnsupportedMediaType' });
});

test.each([
  ['deep nesting', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  ['a prototype', '{"__proto__":{"polluted":true},"metadata":{"name":"p"},"spec":{"containers":[]}}'],
  ['numbers beyond all bounds', '{"metadata":{"name":"p","generation":1e400},"spec":{"containers":[]}}'],
  ['a list for a map', '{"metadata":{"name":"p","labels":[]},"spec":{"containers":[]}}'],
])('%s gets a Status, and the server stays up', async (_what, body) => {
  const response = await fetch(`${cluster.url}${pods}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  expect(await response.json()).toMatchObject({ kind: 'Status', status: 'Failure' });
  expect(response.status).toBeGreaterThanOrEqual(400);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(await isUp()).toBe(true);
});

test('a watch sends its headers at once, and a client that leaves ends it', async () => {
  const leave = new AbortController();
  const response = await fetch(`${cluster.url}${pods}?watch=1&labelSelector=none`, {
    signal: leave.signal,
    headers: { 'user-agent': 'leaver' },
  });
  expect(response.status).toBe(200);
  expect(cluster.requests.count({ userAgent: 'leaver', open: true })).toBe(1);
  leave.abort();
  await expect.poll(() => cluster.requests.count({ userAgent: 'leaver', open: true })).toBe(0);
});

test('a followed log of a pod that runs is given line by line', async () => {
  const life = { runs: 'forever' as const, output: [{ at: 1, text: 'first\n' }] };
  const own = await startCluster({ backend: 'scripted', images: [{ image: 'x:1', present: true, life }] });
  try {
    await fetch(`${own.url}${pods}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(aPod('p', { image: 'x:1' })),
    });
    const phase = async (): Promise<string> => {
      const response = await fetch(`${own.url}${pods}/p`);
      return ((await response.json()) as { status: { phase: string } }).status.phase;
    };
    await expect.poll(phase).toBe('Running');
    const response = await fetch(`${own.url}${pods}/p/log?follow=true&timestamps=true`);
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z first\n$/);
    await reader?.cancel();
  } finally {
    await own.stop();
  }
});

test('stop ends open watches, frees the port and removes the kubeconfig', async () => {
  const own = await startCluster({ backend: 'scripted' });
  expect(JSON.parse(readFileSync(own.kubeConfig, 'utf8')).clusters[0].cluster.server).toBe(own.url);
  const watching = await fetch(`${own.url}${pods}?watch=1`);
  const read = watching.text().catch(() => 'broken');
  await Promise.all([own.stop(), own.stop()]);
  expect(await read).toBeTypeOf('string');
  expect(existsSync(own.kubeConfig)).toBe(false);
  await expect(fetch(`${own.url}/version`)).rejects.toThrow('fetch failed');
  const again = await startCluster({ backend: 'scripted', port: Number(new URL(own.url).port) });
  await again.stop();
});

test('a port that is taken is told with the remedy', async () => {
  const port = Number(new URL(cluster.url).port);
  await expect(startCluster({ port })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    message: `the embedded cluster cannot listen on 127.0.0.1:${port}`,
    remedy: 'Choose another port, or 0 for a free one.',
  });
});

test('an unknown version or back-end is told with those that are known', async () => {
  await expect(startCluster({ profile: '1.2' as '1.36' })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_CONFIG',
    remedy: 'Choose one of 1.31, 1.34, 1.35, 1.36, 1.37.',
  });
  await expect(startCluster({ backend: 'docker' as 'process' })).rejects.toMatchObject({
    remedy: 'Choose process or scripted.',
  });
});
