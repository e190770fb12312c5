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
