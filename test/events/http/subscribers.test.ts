// Readers who do not read harm nobody: the others get every event in order, and the server's memory stays bounded.
import { expect, test } from 'vitest';
import { measureSubscribers } from './subscribers.ts';

test('of 60 subscribers 10 do not read: 50 get everything, 10 are dropped with a last message', async () => {
  const measured = await measureSubscribers({ readers: 50, stalled: 10, events: 2000, eventBytes: 4000 });
  expect(measured.lasts).toEqual([measured.last]);
  expect(measured.faults).toBe(0);
  expect(measured.late).toEqual(Array.from({ length: 10 }, () => 'dropped'));
  expect(measured.ends).toEqual({ ended: 50, dropped: 10 });
  expect(measured.grownBytes).toBeLessThan(64 * 2 ** 20);
});
