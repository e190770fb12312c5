/** The log of an instance arrives whole, in order and once, through every fault on the way to the kubelet. */
import { expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import type { LogLine, LogSource } from '../../src/logs/follow.ts';
import { all, status, until } from '../kube/api-server.ts';
import { epoch, fastClock, queries, reading, second, startLogServer, texts } from './log-server.ts';

test('an undisturbed log takes two requests: follow, and a last reading that brings nothing', async () => {
  const server = await startLogServer();
  server.start();
  const { got, done } = reading(server.follow(systemClock));
  await until(() => server.api.requests.length === 1);
  server.append(second(0, 'one'), second(1, 'two'));
  await until(() => got.length === 2);
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', 'two']);
  expect(queries(server)).toEqual([{ follow: 'true' }, { sinceTime: '2026-01-01T00:00:00Z' }]);
});

test('nothing is asked before the status shows the instance, and nothing at all when it never runs', async () => {
  const server = await startLogServer();
  const lines = all(server.follow(systemClock));
  server.neverStart();
  expect(await lines).toEqual([]);
  expect(server.api.requests).toEqual([]);
});

test('a log that is asked for after the end is read whole and read again', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.terminate();
  server.start();
  server.tellEnd();
  expect(texts(await all(server.follow(systemClock)))).toEqual(['one']);
  expect(server.api.requests).toHaveLength(2);
});

test('a slow reader is not silence, and what it has not asked for is not read', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.start();
  const lines = server.follow(clock);
  const first = lines.next();
  await until(() => server.api.requests.length === 1);
  const text = 'x'.repeat(10_000);
  for (let index = 0; index < 3_000; index++) server.append(second(index, text));
  expect((await first).value).toMatchObject({ text });
  const { response } = server.api.requests[0] ?? {};
  const unsent = (): number => response?.writableLength ?? 0;
  await until(() => unsent() > 20_000_000);
  clock.advance(600_000);
  expect(server.api.requests).toHaveLength(1);
  expect(unsent()).toBeGreaterThan(20_000_000);
  server.terminate();
  server.tellEnd();
  expect(await all(lines)).toHaveLength(2_999);
  expect(server.api.requests).toHaveLength(2);
});

test('a last line without an end is given out once it stays the same', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.appendAt(epoch + 1, Buffer.from(second(1, 'prompt> ')));
  server.start();
  server.terminate();
  server.tellEnd();
  expect(texts(await all(server.follow(fastClock)))).toEqual(['one', 'prompt> ']);
});

test('a reader that comes back with a position is given what comes after it, in another process too', async () => {
  const server = await startLogServer();
  server.append(...Array.from({ length: 20 }, (_, index) => second(Math.floor(index / 7), `line ${index}`)));
  server.start();
  server.terminate();
  server.tellEnd();
  const lines = await all(server.follow(fastClock));
  expect(lines).toHaveLength(20);
  for (const [index, { position }] of lines.entries()) {
    const rest = await all(server.follow(fastClock, { from: position }));
    expect(texts(rest)).toEqual(texts(lines.slice(index + 1)));
  }
});

test('a position that is none is refused', async () => {
  const server = await startLogServer();
  server.start();
  await expect(all(server.follow(systemClock, { from: 'yesterday' }))).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_USAGE',
  });
});

test('a refusal by the server is an error, with the right that is missing', async () => {
  const server = await startLogServer();
  const message =
    'pods "x" is forbidden: User "u" cannot get resource "pods/log" in API group "" in the namespace "builds"';
  server.api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', message));
  server.start();
  await expect(all(server.follow(systemClock))).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_FORBIDDEN',
    details: { missingRight: { verb: 'get', resource: 'pods/log', group: '' } },
  });
});

test('a container that may have run unseen has one gap for a log, and nothing is asked for', async () => {
  const server = await startLogServer();
  const source: LogSource = {
    started: async () => 'unseen',
    ended: async () => 'terminated',
    which: () => 'gone',
  };
  const lines = await all(server.follow(systemClock, { source }));
  expect(lines).toMatchObject([{ text: '', gap: { reason: 'unavailable', after: null, before: null } }]);
  expect(server.api.requests).toEqual([]);
});

test('a source that fails to tell the end fails the follower', async () => {
  const server = await startLogServer();
  const failure = new Error('no idea');
  const lines = server.follow(systemClock, {
    source: {
      started: async () => ({ containerID: 'containerd://1' }),
      ended: () => Promise.reject(failure),
      which: () => 'current',
    },
  });
  await expect(all(lines)).rejects.toBe(failure);
});

test.each([
  ['while it reads', 0],
  ['while it pauses', 1],
])('the signal ends it %s, with its reason, and closes the connection', async (_when, isPause) => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  if (isPause === 1) server.api.answer = (exchange) => exchange.text(503, 'later');
  server.start();
  const reason = new Error('enough');
  const giveUp = new AbortController();
  const lines = all(server.follow(clock, { signal: giveUp.signal }));
  await until(
    () => server.api.requests.length === 1 && clock.nextAt !== undefined && (isPause === 0 || clock.nextAt < 60_000),
  );
  giveUp.abort(reason);
  await expect(lines).rejects.toBe(reason);
  await until(() => server.api.requests.every(({ closed }) => closed));
  expect(clock.nextAt).toBeUndefined();
});

test('leaving the loop closes the connection, leaves no timer, and waits for the end no more', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.append(second(0, 'one'), second(1, 'two'));
  let waiting: AbortSignal | undefined;
  const lines = server.follow(clock, {
    source: {
      started: async () => ({ containerID: 'containerd://1' }),
      ended: (signal) => {
        waiting = signal;
        return new Promise(() => undefined);
      },
      which: () => 'current',
    },
  });
  for await (const { text } of lines) {
    expect(text).toBe('one');
    expect(waiting?.aborted).toBe(false);
    break;
  }
  expect(waiting?.aborted).toBe(true);
  await until(() => server.api.requests[0]?.closed === true);
  expect(clock.nextAt).toBeUndefined();
});

test('of an instance that was canceled the log is what it had printed by then, at once, however much is to come', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(clock));
  await until(() => got.length === 1);
  server.append(second(1, 'two'));
  // It runs on and is never silent; a last reading that waited for nothing new would not end.
  server.api.answer = ((serve) => (exchange) => {
    server.append(second(server.api.requests.length + 1, 'more'));
    serve(exchange);
  })(server.api.answer);
  server.tellEnd('canceled');
  await done;
  expect(texts(got).slice(0, 2)).toEqual(['one', 'two']);
  expect(texts(got).slice(2)).toEqual(['more']);
  expect(queries(server)).toEqual([{ follow: 'true' }, { sinceTime: '2026-01-01T00:00:00Z' }]);
  expect(clock.now()).toBe(0);
  expect(clock.nextAt).toBeUndefined();
});

test('a stream that never pauses is left when the instance is canceled', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.append(second(0, 'one'));
  server.start();
  const got: LogLine[] = [];
  for await (const line of server.follow(clock)) {
    got.push(line);
    if (got.length === 100) server.tellEnd('canceled');
    // Each line that is read is followed by another one.
    if (got.length < 5_000) server.append(second(got.length / 1_000, 'more'));
  }
  expect(got.length).toBeGreaterThanOrEqual(100);
  expect(got.length).toBeLessThan(5_000);
  expect(server.api.requests).toHaveLength(2);
  expect(clock.nextAt).toBeUndefined();
});

test('the last reading of an instance that was canceled is given up when the server is away for too long', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  server.api.answer = (exchange) => exchange.reset();
  server.tellEnd('canceled');
  await done;
  expect(texts(got)).toEqual(['one', '<gap unavailable>']);
});
