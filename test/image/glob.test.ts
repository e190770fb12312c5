import { expect, test } from 'vitest';
import { matchesGlob } from '../../src/image/glob.ts';

test.each([
  ['main', 'main', true],
  ['main', 'maintenance', false],
  ['release/*', 'release/1.0', true],
  ['release/*', 'release/1/0', false],
  ['src/**', 'src/a', true],
  ['src/**', 'src/a/b', false],
  ['v?.[0-9]', 'v1.2', true],
  ['v?.[0-9]', 'v1.x', false],
  ['[^a-c]at', 'dat', true],
  ['[^a-c]at', 'bat', false],
  ['[!a-c]at', 'bat', false],
  ['\\*', '*', true],
  ['\\*', 'x', false],
  ['[open', '[open', false],
  ['a\\', 'a', false],
  ['[z-a]', 'b', false],
  ['a.b', 'axb', false],
  ['*', '', true],
  ['*', 'two\nlines', true],
  ['a-b', 'a-b', true],
  ['[[]', '[', true],
  ['', '', true],
])('%s against %j: %s', (pattern, text, expected) => {
  expect(matchesGlob(pattern, text)).toBe(expected);
});
