/** Every failure says what was asked, what the server said, and what to do about it. */
import { expect, test } from 'vitest';
import { connectTo, failureOf, startApiServer, status } from './api-server.ts';

const pods = { resource: 'pods', namespace: 'builds' };
const pod = { ...pods, name: 'x' };

test.each([
  [401, 'Unauthorized', 'Unauthorized', 'ERR_PODWRIGHT_UNAUTHORIZED'],
  [404, 'NotFound', 'pods "x" not found', 'ERR_PODWRIGHT_NOT_FOUND'],
  [409, 'Conflict', 'the object has been modified', 'ERR_PODWRIGHT_CONFLICT'],
  [422, 'Invalid', 'Pod "x" is invalid', 'ERR_PODWRIGHT_POD_INVALID'],
  [400, 'BadRequest', 'no', 'ERR_PODWRIGHT_API'],
])('HTTP %i %s becomes an error with the words of the server', async (code, reason, message, expected) => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(code, status(code, reason, message));
  const error = await failureOf(client.get(pod));
  expect(error.code).toBe(expected);
  expect(error.message).toBe(`GET pods "x" in namespace "builds": HTTP ${code}: ${message}`);
  expect(error.details).toMatchObject({ status: code, reason, message });
});

test('a refusal by RBAC names the missing right and who misses it', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  const message =
    'pods is forbidden: User "system:serviceaccount:ci:worker" cannot list resource "pods" in API group "" in the namespace "builds"';
  api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', message));
  const error = await failureOf(client.list(pods));
  expect(error.code).toBe('ERR_PODWRIGHT_FORBIDDEN');
  expect(error.details['missingRight']).toEqual({ verb: 'list', resource: 'pods', group: '' });
  expect(error.remedy).toContain('list pods in builds');
  expect(error.remedy).toContain('system:serviceaccount:ci:worker');
});

test('a namespace that is not there is told as what is missing', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(404, status(404, 'NotFound', 'namespaces "builds" not found'));
  const error = await failureOf(client.create(pods, {}));
  expect(error.code).toBe('ERR_PODWRIGHT_NOT_FOUND');
  expect(error.remedy).toBe('Create the namespace "builds", or name one that exists.');
});

test('a refusal by a quota is forbidden, but no right is said to be missing', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', 'pods "x" is forbidden: exceeded quota: q'));
  const error = await failureOf(client.create(pods, {}));
  expect(error.code).toBe('ERR_PODWRIGHT_FORBIDDEN');
  expect(error.details['missingRight']).toBeUndefined();
  expect(error.remedy).toBeUndefined();
});

test('an unreachable server is told with the address that was tried, at once when no retry is wanted', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  await api.stop();
  const error = await failureOf(client.version({ retryForMs: 0 }));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(error.message).toBe(`${api.url}: connection refused (tried 127.0.0.1:${api.port})`);
  expect(error.cause).toBeInstanceOf(Error);
});

test('the status of a refused stream is told although its body was cut', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => {
    exchange.response.writeHead(503, { 'retry-after': '3' });
    exchange.write('{"kind":"Sta');
    setImmediate(() => exchange.reset());
  };
  const error = await failureOf(client.openWatch(pods, {}, new AbortController().signal));
  expect(error.details).toMatchObject({ status: 503, retryAfterMs: 3_000 });
});
