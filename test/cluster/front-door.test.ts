/** Streams of clients that have gone away end, whenever they went. */
import { expect, test } from 'vitest';
import { FrontDoor } from '../../src/cluster/front-door.ts';

test('a stream whose client went away before it was answered ends at once', async () => {
  const client = new AbortController();
  let left = 0;
  const silent: AsyncIterableIterator<string> = {
    next: () => new Promise(() => undefined),
    return: async () => {
      left++;
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  const door = new FrontDoor(async () => {
    client.abort();
    return { status: 200, headers: {}, body: silent };
  });
  const request = { method: 'GET', path: '/', query: new URLSearchParams(), headers: {}, body: undefined };
  const { body } = await door.transport({ ...request, signal: client.signal });
  if (typeof body === 'string') throw new Error('it is a stream');
  const pieces: unknown[] = [];
  for await (const piece of body) pieces.push(piece);
  expect(pieces).toEqual([]);
  expect(left).toBeGreaterThan(0);
});

test('a reader that waits is let go when the door is shut, and reads nothing after', async () => {
  let give: (piece: IteratorResult<string>) => void = () => undefined;
  const slow: AsyncIterableIterator<string> = {
    next: () =>
      new Promise((resolve) => {
        give = resolve;
      }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  const door = new FrontDoor(async () => ({ status: 200, headers: {}, body: slow }));
  const request = { method: 'GET', path: '/', query: new URLSearchParams(), headers: {}, body: undefined };
  const { body } = await door.transport({ ...request, signal: new AbortController().signal });
  if (typeof body === 'string') throw new Error('it is a stream');
  const pieces = body[Symbol.asyncIterator]();
  const first = pieces.next();
  give({ value: 'one', done: false });
  expect(await first).toEqual({ value: 'one', done: false });
  const second = pieces.next();
  door.shut();
  expect(await second).toEqual({ value: undefined, done: true });
  give({ value: 'late', done: false });
  expect(await pieces.next()).toEqual({ value: undefined, done: true });
});
