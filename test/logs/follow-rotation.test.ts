/** Files that are rotated away, and logs of the next instance, are told from what is to be read. */
import { expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import type { LogLine } from '../../src/logs/follow.ts';
import { all, until } from '../kube/api-server.ts';
import { epoch, fastClock, queries, reading, second, startLogServer, texts } from './log-server.ts';

test('the log of an instance that was followed by another one is asked for as the previous one', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'), second(1, 'two'));
  server.next = [{ seconds: epoch + 9, bytes: Buffer.from(`${second(9, 'not mine')}\n`) }];
  server.which = 'previous';
  server.start();
  server.terminate();
  server.tellEnd();
  expect(texts(await all(server.follow(fastClock)))).toEqual(['one', 'two']);
  expect(queries(server).every((query) => query['previous'] === 'true' && query['follow'] === undefined)).toBe(true);
});

test('the next instance is not taken for this one when the status is late to tell', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(clock));
  await until(() => got.length === 1);
  server.terminate();
  server.append(second(1, 'two'));
  server.next = [{ seconds: epoch + 9, bytes: Buffer.from(`${second(9, 'not mine')}\n`) }];
  await until(() => clock.nextAt === 1_000);
  clock.advance(1_000);
  // The kubelet serves the next instance by now; the status says so a little later.
  await until(() => server.api.requests.length === 2 && clock.nextAt === 3_000);
  expect(got).toHaveLength(1);
  server.which = 'previous';
  clock.advance(2_000);
  server.tellEnd();
  while (!texts(got).includes('two')) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(100);
  }
  const drive = setInterval(() => clock.advance(500), 1);
  await done;
  clearInterval(drive);
  expect(texts(got)).toEqual(['one', 'two']);
  expect(queries(server).at(-1)).toMatchObject({ previous: 'true' });
});

test('lines that were rotated away while the connection was cut are a gap with its times', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.cuts.push({ afterBytes: 200, how: 'reset' });
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  server.rotate();
  server.append(second(50, 'x'.repeat(200)));
  server.rotate();
  server.append(second(60, 'last'));
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', '<gap rotated>', 'last']);
  expect(got[1]?.gap).toMatchObject({
    after: '2026-01-01T00:00:00.000000000Z',
    before: '2026-01-01T00:01:00.000000000Z',
  });
});

test('a log whose newest file is empty at its end says that lines may be missing, after a few seconds', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.start();
  const { got, done } = reading(server.follow(fastClock));
  await until(() => got.length === 1);
  server.rotate();
  server.terminate();
  server.tellEnd();
  await done;
  expect(texts(got)).toEqual(['one', '<gap rotated>']);
  expect(got[1]?.gap).toMatchObject({ after: '2026-01-01T00:00:00.000000000Z', before: null });
  expect(server.api.requests.length).toBeLessThan(12);
});

test('files that were rotated past a slow reader of one response are a gap, a silent container is none', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  server.start();
  const lines = server.follow(clock);
  const next = async (): Promise<string> => texts([(await lines.next()).value as LogLine])[0] ?? '';
  const first = next();
  await until(() => server.api.requests.length === 1);
  server.append(second(0, 'one'));
  expect(await first).toBe('one');
  // Silent, while nobody reads: the file that is read later still has the line before.
  clock.advance(10_000);
  server.append(second(10, 'two'));
  expect(await next()).toBe('two');
  expect(queries(server).at(-1)).toEqual({ sinceTime: '2026-01-01T00:00:00Z', limitBytes: '64' });
  // Two rotations, while nobody reads.
  clock.advance(20_000);
  server.rotate();
  server.append(second(30, 'three'), second(31, 'four'));
  expect(await next()).toBe('<gap rotated>');
  expect(await next()).toBe('three');
  expect(await next()).toBe('four');
  // Silent, while somebody waits: no question.
  const asked = server.api.requests.length;
  const last = next();
  await until(() => clock.nextAt !== undefined);
  clock.advance(20_000);
  server.append(second(51, 'five'));
  expect(await last).toBe('five');
  expect(server.api.requests).toHaveLength(asked);
  await lines.return();
});

test.each([
  ['the same process', false],
  ['another process', true],
])('a rotation within the second of the last lines is no gap for %s', async (_who, isOther) => {
  const server = await startLogServer();
  server.append(second(0, 'one'), second(0.5, 'two'));
  server.start();
  const leave = new AbortController();
  // Not the fast clock: a moment in which this process does not run would be a silence, and one request more.
  const { got, done } = reading(server.follow(systemClock, { signal: leave.signal }));
  await until(() => got.length === 2);
  server.rotate();
  server.append(second(0.6, 'three'), second(0.7, 'four'));
  await until(() => got.length === 4);
  if (isOther) {
    leave.abort();
    await done.catch(() => undefined);
  }
  server.terminate();
  server.tellEnd();
  if (isOther) got.push(...(await all(server.follow(systemClock, { from: got.at(-1)?.position ?? '' }))));
  else await done;
  expect(texts(got)).toEqual(['one', 'two', 'three', 'four']);
  expect(server.api.requests).toHaveLength(isOther ? 3 : 2);
});

test('a pause in the log of an instance before is no gap, however slowly it is read', async () => {
  const server = await startLogServer();
  const clock = new VirtualClock();
  // So long that the last line comes in another chunk than the first.
  const long = 'x'.repeat(1_000_000);
  server.append(second(0, 'one'), second(0, long), second(10, 'two'));
  server.next = [{ seconds: epoch + 20, bytes: Buffer.from(`${second(20, 'not mine')}\n`) }];
  server.which = 'previous';
  server.start();
  const lines = server.follow(clock);
  expect((await lines.next()).value).toMatchObject({ text: 'one' });
  clock.advance(60_000);
  expect((await lines.next()).value).toMatchObject({ text: long });
  expect((await lines.next()).value).toMatchObject({ text: 'two' });
  expect(queries(server)).toEqual([{ previous: 'true' }]);
  await lines.return();
});
