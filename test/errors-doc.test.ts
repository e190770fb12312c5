// Every error code is told in docs/errors.md, and none that does not exist.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCodes } from '../src/errors.ts';

test('the table of docs/errors.md has every code, once', () => {
  const text = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8');
  const told = [...text.matchAll(/^\| `(ERR_PODWRIGHT_\w+)` +\|/gm)].map(([, code]) => code);
  expect([...told].sort()).toEqual([...errorCodes].sort());
});
