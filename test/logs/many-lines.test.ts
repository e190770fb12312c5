/** The short form of `npm run test:logs`. */
import { expect, test } from 'vitest';
import { readManyLines } from './many-lines.ts';

test('60,000 lines come all, once and in order, over many cuts and a rotation', async () => {
  const { cuts, requests } = await readManyLines(60_000, 40);
  expect(cuts).toBeGreaterThan(0);
  expect(requests).toBeGreaterThan(cuts);
});
