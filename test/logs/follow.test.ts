/** The log of an instance arrives whole, in order and once, through every fault on the way to the kubelet. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import type { LogLine, LogSource } from '../../src/logs/follow.ts';
import { all, status, until } from '../kube/api-server.ts';
import { epoch, fastClock, type LogServer, second, startLogServer } from './log-server.ts';

const texts = (lines: readonly LogLine[]): string[] =>
  lines.map(({ text, gap }) => (gap === undefined ? text : `<gap ${gap.reason}>`));

const queries = ({ api }: LogServer): Record<string, string>[] =>
  api.requests.map(({ query }) => {
    const { container: _container, timestamps: _timestamps, ...rest } = Object.fromEntries(query);
    return rest;
  });

/** Reads on its own, so that a test can act meanwhile. */
function reading(lines: AsyncIterable<LogLine>): { readonly got: LogLine[]; readonly done: Promise<void> } {
  const got: LogLine[] = [];
  const done = (async () => {
    for await (const line of lines) got.push(line);
  })();
  return { got, done };
}

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
  expect(texts(await all(server.follow(fastClock)))).toEqual(['one']);
  expect(server.api.requests).toHaveLength(2);
});

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

test('a container that may have run unseen has one gap for a log, and nothing is asked for', async () => {
  const server = await startLogServer();
  const source: LogSource = {
    started: async () => 'unseen',
    ended: async () => undefined,
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

test('a last line without an end is given out once it stays the same', async () => {
  const server = await startLogServer();
  server.append(second(0, 'one'));
  server.appendAt(epoch + 1, Buffer.from(second(1, 'prompt> ')));
  server.start();
  server.terminate();
  server.tellEnd();
  expect(texts(await all(server.follow(fastClock)))).toEqual(['one', 'prompt> ']);
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

/** What happens on the server, one after the other. */
const actions = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('write' as const),
        lines: fc.integer({ min: 1, max: 30 }),
        stepMs: fc.constantFrom(0, 1, 400),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('cut' as const),
        afterBytes: fc.nat(1_500),
        how: fc.constantFrom('reset' as const, 'reset' as const, 'end' as const, 'hang' as const),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'refuse' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'breathe' as const }) },
  ),
  { maxLength: 25 },
);

test('each line exactly once and in order against a server that cuts, hangs, refuses and ends early', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (steps) => {
      const server = await startLogServer();
      const { api } = server;
      let written = 0;
      let ms = 0;
      server.start();
      const { got, done } = reading(server.follow(fastClock));
      for (const step of steps) {
        if (step.do === 'cut') server.cuts.push(step);
        else if (step.do === 'refuse') api.next((exchange) => exchange.text(503, 'no'));
        else if (step.do === 'breathe') await new Promise((resolve) => setTimeout(resolve, 2));
        else {
          server.append(
            ...Array.from({ length: step.lines }, () => {
              ms += step.stepMs;
              return second(ms / 1000, `line ${written++} ${'é'.repeat(written % 20)}`);
            }),
          );
        }
      }
      // A server that ended every last reading early could not be told from a file that was rotated.
      server.cuts.splice(3);
      server.terminate();
      server.tellEnd();
      await done;
      await server.client.close();
      await api.stop();
      expect(got.map(({ text }) => Number(text.split(' ')[1]))).toEqual(
        Array.from({ length: written }, (_, index) => index),
      );
    }),
    { numRuns: 60 },
  );
});
