// 1,000 subscribers, 100 of which do not read. The figures are printed.
import { expect, test } from 'vitest';
import { measureSubscribers } from '../events/http/subscribers.ts';

test('900 readers get every event in order, 100 that do not read are dropped, memory stays bounded', async () => {
  const measured = await measureSubscribers({ readers: 900, stalled: 100, events: 4000, eventBytes: 2000 });
  const { late, ...figures } = measured;
  console.log(figures, `${late.filter((word) => word === 'dropped').length} told that they were dropped`);
  expect(measured.lasts).toEqual([measured.last]);
  expect(measured.faults).toBe(0);
  expect(measured.ends).toEqual({ ended: 900, dropped: 100 });
  expect(late).toEqual(Array.from({ length: 100 }, () => 'dropped'));
  expect(measured.grownBytes).toBeLessThan(128 * 2 ** 20);
});
