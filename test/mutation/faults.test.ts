/** The faults of `npm run test:mutation` must fit the source as it is now: one that cannot be planted tests nothing. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { faults } from './faults.ts';

test.each(faults)('"$name" has one place in $file', ({ file, find, replace }) => {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(find)).toHaveLength(2);
  expect(replace).not.toBe(find);
});
