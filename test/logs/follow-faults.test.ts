/** Whatever stands in the way to a log is waited out, got around, or told; it never ends the log. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { all, status, until } from '../kube/api-server.ts';
import { fastClock, type LogServer, reading, second, startLogServer, texts } from './log-server.ts';

test.each<[string, (server: LogServer) => void]>([
  [
    'a container that is waiting to start',
    ({ api }) => {
      const message = 'container "step" in pod "x" is waiting to start: ContainerCreating';
      const refuse = (exchange: Parameters<typeof api.answer>[0]): void =>
        exchange.json(400, status(400, 'BadRequest', message));
      api.next(refuse, refuse);
    },
  ],
  ['a pod without a node', ({ api }) => api.next((exchange) => void exchange.response.writeHead(204).end())],
  [
    'a kubelet that does not know the pod',
    ({ api }) =>
      api.next((exchange) =>
        exchange.json(404, status(404, 'NotFound', 'the server could not find the requested resource ( pods/log x)')),
      ),
  ],
  [
    'a kubelet that cannot be reached',
    ({ api }) =>
      api.next((exchange) => exchange.json(500, status(500, 'InternalError', 'dial tcp: connection refused'))),
  ],
  [
    'a server that is overloaded',
    ({ api }) => api.next((exchange) => exchange.text(429, 'Too many requests', { 'retry-after': '1' })),
  ],
  ['a connection that breaks at once', ({ api }) => api.next((exchange) => exchange.reset())],
  [
    'words of the kubelet in a 200',
    ({ api }) =>
      api.next((exchange) => {
        exchange.open();
        exchange.write('unable to retrieve container logs for containerd://1');
        exchange.end();
      }),
  ],
  [
    'an end before the log has begun',
    ({ api }) =>
      api.next((exchange) => {
        exchange.open();
        exchange.end();
      }),
  ],
])('%s is waited out', async (_what, prepare) => {
  const server = await startLogServer();
  prepare(server);
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  server.append(second(1, 'two'));
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', 'two']);
});

test('a stream that ends while the instance runs is opened again after a second, and goes on', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.cuts.push({ afterBytes: 0, how: 'end' });
  server.start();
  const { got, done } = reading(server.follow(clock));
  server.append(second(0, 'one'));
  await until(() => clock.nextAt === 1_000);
  clock.advance(1_000);
  await until(() => got.length === 1);
  server.terminate();
  server.tellEnd();
  await done;
  expect(server.api.requests).toHaveLength(3);
});

test('a stream on which nothing comes for two minutes is opened again', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.cuts.push({ afterBytes: 40, how: 'hang' });
  server.append(second(0, 'one'), second(1, 'two'));
  server.start();
  const { got, done } = reading(server.follow(clock));
  await until(() => got.length === 1 && clock.nextAt === 120_000);
  clock.advance(120_000);
  await until(() => got.length === 2);
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', 'two']);
  await until(() => server.api.requests[0]?.closed === true);
});

test('a stream that hangs does not hide the end: two seconds after it the rest is read', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.cuts.push({ afterBytes: 0, how: 'hang' });
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(clock));
  await until(() => server.api.requests.length === 1 && clock.nextAt === 120_000);
  server.terminate();
  server.tellEnd();
  await until(() => clock.nextAt === 2_000);
  clock.advance(2_000);
  await until(() => got.length === 1 && clock.nextAt !== undefined);
  clock.advance(1_000);
  await done;
  expect(texts(got)).toEqual(['one']);
});

test('a response that was left because of words of the kubelet is closed', async () => {
  const server = await startLogServer();
  server.api.next((exchange) => {
    exchange.open();
    exchange.write('unable to retrieve container logs for containerd://1\n');
  });
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1 && server.api.requests[0]?.closed === true);
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one']);
});

test('a last reading that ends early, cleanly, is not taken for the end', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'), second(0.5, 'two'), second(0.6, 'three'));
  for (const afterBytes of [0, 10, 45, 70, 80]) server.cuts.push({ afterBytes, how: 'end' });
  server.start();
  server.terminate();
  server.tellEnd();
  expect(texts(await all(server.follow(fastClock)))).toEqual(['one', 'two', 'three']);
});

test.each<[string, (server: LogServer) => void, string]>([
  [
    'its pod is deleted',
    (server) => {
      server.which = 'gone';
    },
    'the log is gone with its pod',
  ],
  [
    'it is refused for too long',
    ({ api }) => {
      api.answer = (exchange) =>
        exchange.json(400, status(400, 'BadRequest', 'container "step" in pod "x" is not available'));
    },
    'is not available',
  ],
  [
    'its file is gone',
    ({ api }) => {
      api.answer = (exchange) => {
        exchange.open();
        exchange.write('failed to try resolving symlinks in path "/var/log/pods/x/0.log"\n');
        exchange.end();
      };
    },
    'failed to try resolving symlinks',
  ],
])('a log that cannot be read to its end because %s says so', async (_why, act, words) => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  act(server);
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', '<gap unavailable>']);
  expect(got[1]?.gap).toMatchObject({
    after: '2026-01-01T00:00:00.000000000Z',
    before: null,
    message: expect.stringContaining(words),
  });
});

test('a refusal in the middle passes, as while an API server starts; one that lasts for a minute is an error', async () => {
  const server = await startLogServer();
  const { api } = server;
  const forbid: typeof api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', 'RBAC: not yet'));
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  api.next(forbid, (exchange) => exchange.json(401, status(401, 'Unauthorized', 'Unauthorized')), forbid);
  server.cutAll();
  server.append(second(1, 'two'));
  await until(() => got.length === 2);
  api.answer = forbid;
  server.cutAll();
  await expect(done).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_FORBIDDEN' });
});

test('a question that is never answered to its end does not stop the log', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.start();
  const lines = server.follow(clock);
  const first = lines.next();
  await until(() => server.api.requests.length === 1);
  server.append(second(0, 'one'));
  await first;
  // Nobody reads for a while; where the time leaps then, the newest file is asked for.
  clock.advance(10_000);
  server.cuts.push({ afterBytes: 10, how: 'hang' });
  server.append(second(10, 'two'));
  const next = lines.next();
  await until(() => server.api.requests.length === 2 && clock.nextAt === 130_000);
  clock.advance(120_000);
  await until(() => clock.nextAt !== undefined && clock.nextAt < 131_000);
  clock.advance(1_000);
  expect((await next).value).toMatchObject({ text: 'two' });
  await lines.return();
});
