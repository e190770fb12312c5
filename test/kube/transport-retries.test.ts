/** What fails in passing is tried again where that does no harm, for as long as its caller wants. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { connectTo, failureOf, startApiServer, status, until } from './api-server.ts';

const pods = { resource: 'pods', namespace: 'builds' };
const pod = { ...pods, name: 'x' };

test('a request outlives a restart of the API server', async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock, random: () => 0 });
  api.answer = (exchange) => exchange.json(200, { found: true });
  await api.stop();
  const found = client.get(pod);
  await until(() => clock.nextAt !== undefined && clock.nextAt < 30_000);
  await api.restart();
  clock.advanceTo(clock.nextAt ?? 0);
  await expect(found).resolves.toEqual({ found: true });
});

test('429 in plain text is repeated after the time in Retry-After, and not before', async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock, random: () => 0 });
  api.next((exchange) => exchange.text(429, 'Too many requests, please try again later.', { 'retry-after': '7' }));
  api.answer = (exchange) => exchange.json(201, {});
  const created = client.create(pods, {});
  await until(() => clock.nextAt === 7_000);
  expect(api.requests).toHaveLength(1);
  clock.advance(7_000);
  await created;
  expect(api.requests).toHaveLength(2);
});

test('retries end with the last error when the time for them is over', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.text(503, 'shutting down', { 'retry-after': '60' });
  const error = await failureOf(client.get(pod, { retryForMs: 1_000 }));
  expect(error.details).toMatchObject({ status: 503, retryAfterMs: 60_000 });
  expect(api.requests).toHaveLength(1);
});

test('a create whose answer is lost is not sent twice; a get is', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.answer = (exchange) => exchange.reset();
  const error = await failureOf(client.create(pods, {}));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(api.requests).toHaveLength(1);
  api.next((exchange) => exchange.reset());
  api.answer = (exchange) => exchange.json(200, { ok: 1 });
  await expect(client.get(pod)).resolves.toEqual({ ok: 1 });
});

test('a 500 is passing for what may be sent twice, and final for a create', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  const leaderChanged = status(500, 'InternalError', 'etcdserver: leader changed');
  api.next((exchange) => exchange.json(500, leaderChanged));
  api.answer = (exchange) => exchange.json(200, { ok: 1 });
  await expect(client.patch(pod, {}, { type: 'strategic' })).resolves.toEqual({ ok: 1 });
  api.next((exchange) => exchange.json(500, leaderChanged));
  expect((await failureOf(client.create(pods, {}))).details['status']).toBe(500);
});

test('a patch that met a write of the same moment is sent again, but not where it says what it expects', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  const conflict = status(409, 'Conflict', 'Operation cannot be fulfilled on pods "x": the object has been modified');
  api.next((exchange) => exchange.json(409, conflict));
  api.answer = (exchange) => exchange.json(200, { ok: 1 });
  await expect(client.patch(pod, {}, { type: 'strategic' })).resolves.toEqual({ ok: 1 });
  api.next((exchange) => exchange.json(409, conflict));
  expect((await failureOf(client.patch(pod, [], { type: 'json' }))).code).toBe('ERR_PODWRIGHT_CONFLICT');
  api.next((exchange) => exchange.json(409, status(409, 'Conflict', 'the UID in the precondition does not match')));
  expect((await failureOf(client.patch(pod, {}, { type: 'merge' }))).code).toBe('ERR_PODWRIGHT_CONFLICT');
});

test('410 is passing for a list of now, and final for one of a version that is gone', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.next((exchange) => exchange.json(410, status(410, 'Expired', 'too old')));
  api.answer = (exchange) => exchange.json(200, { metadata: { resourceVersion: '7' }, items: [] });
  expect(await client.list(pods)).toEqual({ metadata: { resourceVersion: '7' }, items: [] });
  expect(api.requests).toHaveLength(2);
  api.answer = (exchange) => exchange.json(410, status(410, 'Expired', 'too old'));
  expect((await failureOf(client.list(pods, { continue: 'x' }))).details).toMatchObject({ status: 410 });
  expect((await failureOf(client.list(pods, { resourceVersion: '5' }))).details).toMatchObject({ status: 410 });
  expect(api.requests).toHaveLength(4);
});

test('a delete that is repeated after a lost answer takes "not found" for done', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.next((exchange) => exchange.reset());
  api.answer = (exchange) => exchange.json(404, status(404, 'NotFound', 'pods "x" not found'));
  await expect(client.delete(pod)).resolves.toBeUndefined();
  expect((await failureOf(client.delete(pod))).code).toBe('ERR_PODWRIGHT_NOT_FOUND');
});

test('a namespace too new for its service account is waited for', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  const message =
    'pods "x" is forbidden: error looking up service account builds/default: serviceaccount "default" not found';
  api.next((exchange) => exchange.json(403, status(403, 'Forbidden', message)));
  api.answer = (exchange) => exchange.json(201, { made: true });
  await expect(client.create(pods, {})).resolves.toEqual({ made: true });
});
