// Pages of other sites, rebound names and strangers on the network get nothing; who may ask is answered.
import { describe, expect, test } from 'vitest';
import { startEventServer } from '../../../src/events/http/server.ts';
import { rawRequest } from '../raw-http.ts';
import { aServer } from './helpers.ts';

const token = 'a-token-of-some-length';

describe('on the loopback', () => {
  test.each([
    ['its own address', {}, 200],
    ['localhost on any port (a forwarded one)', { Host: 'localhost:9999' }, 200],
    ['a name that a foreign site made point here', { Host: 'evil.example:80' }, 403],
    ['an address of another machine', { Host: '10.0.0.7' }, 403],
    ['a page of its own', { Host: 'localhost:1', Origin: 'http://localhost:1' }, 200],
    ['a page of another site', { Origin: 'https://evil.example' }, 403],
    ['a page of another port', { Host: 'localhost:1', Origin: 'http://localhost:2' }, 403],
    ['a page from a file', { Origin: 'null' }, 403],
    ['a browser that says cross-site', { 'Sec-Fetch-Site': 'cross-site' }, 403],
    ['a browser that says same-origin', { 'Sec-Fetch-Site': 'same-origin' }, 200],
  ])('%s', async (_name, headers, status) => {
    const { server } = await aServer();
    const response = await rawRequest(server.url, '/v3/state', { headers });
    expect(response.status).toBe(status);
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    response.close();
  });

  test('it listens on the loopback alone', async () => {
    const { server } = await aServer();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  test('a request without a Host is refused', async () => {
    const { server } = await aServer();
    const response = await rawRequest(server.url, '/v3/state', { headers: { Host: '' } });
    expect([400, 403]).toContain(response.status);
    response.close();
  });
});

describe('with a token', () => {
  test.each([
    ['none', {}, 401],
    ['the right one', { Authorization: `Bearer ${token}` }, 200],
    ['a wrong one', { Authorization: 'Bearer a-token-of-other-length' }, 401],
    ['the right one as a cookie', { Cookie: `x=1; podwright-token=${token}` }, 200],
    ['a cookie that cannot be decoded', { Cookie: 'podwright-token=%' }, 401],
  ])('%s', async (_name, headers, status) => {
    const { server } = await aServer({ token });
    const response = await rawRequest(server.url, '/v1/events', { headers });
    expect(response.status).toBe(status);
    response.close();
  });

  test('a browser that brings it in the address gets a cookie, and an address without it', async () => {
    const { server } = await aServer({ token });
    const response = await rawRequest(server.url, `/v3/state?build=a&token=${token}`);
    expect(response.status).toBe(303);
    expect(response.headers).toMatchObject({
      location: '/v3/state?build=a',
      'set-cookie': `podwright-token=${token}; HttpOnly; SameSite=Strict; Path=/`,
    });
    const wrong = await rawRequest(server.url, '/v3/state?token=wrong');
    expect(wrong.status).toBe(401);
    const foreign = await rawRequest(server.url, `/v3/state?token=${token}`, { headers: { Host: 'evil.example' } });
    expect(foreign.status).toBe(403);
    for (const one of [response, wrong, foreign]) one.close();
  });

  test('it may listen on every address, and answers to addresses and allowed names', async () => {
    const { server } = await aServer({ token, host: '0.0.0.0', allowedHosts: ['ci.example'] });
    const url = `http://127.0.0.1:${server.port}`;
    const statusFor = async (host: string): Promise<number> => {
      const response = await rawRequest(url, '/v3/state', {
        headers: { Host: host, Authorization: `Bearer ${token}` },
      });
      response.close();
      return response.status;
    };
    expect(await Promise.all(['10.0.0.7:80', 'ci.example', 'evil.example'].map(statusFor))).toEqual([200, 200, 403]);
  });
});

test.each([
  ['no token', {}],
  ['a short token', { token: 'short' }],
])('off the loopback with %s it does not start', async (_name, options) => {
  await expect(startEventServer({ routes: [], host: '0.0.0.0', ...options })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_USAGE',
    remedy: expect.stringContaining('token'),
  });
});

test('a port that is taken is told with a remedy', async () => {
  const { server } = await aServer();
  await expect(startEventServer({ routes: [], port: server.port })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_USAGE',
    message: expect.stringContaining('EADDRINUSE'),
    remedy: expect.stringContaining('another port'),
  });
});

test.each([
  ['a path that is no URL', 'GET //:0 HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ['no HTTP at all', '\x16\x03\x01 hello\r\n\r\n'],
  ['a header without end', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`],
])('%s is answered with an error, and the server lives', async (_name, text) => {
  const { server } = await aServer();
  const { connect } = await import('node:net');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(text);
  const answer = await new Promise<string>((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    socket.once('error', () => resolve('HTTP/1.1 400 closed'));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  socket.destroy();
  const after = await rawRequest(server.url, '/v3/state');
  expect(after.status).toBe(200);
  after.close();
});

test('a route that fails answers 500 without its reasons, and the server lives', async () => {
  const fail = { method: 'GET', path: '/fail', handle: () => Promise.reject(new Error('secret')) } as const;
  const fine = {
    method: 'GET',
    path: '/fine',
    handle: (_: unknown, response: { end(): void }) => response.end(),
  } as const;
  const server = await startEventServer({ routes: [fail, fine] });
  const response = await rawRequest(server.url, '/fail');
  expect(response.status).toBe(500);
  expect(await response.ended()).not.toContain('secret');
  const after = await rawRequest(server.url, '/fine');
  expect(after.status).toBe(200);
  await server.close();
});
