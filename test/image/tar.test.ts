// Tar archives are as POSIX has them, and what does not fit is refused.
import { expect, test } from 'vitest';
import { tar } from '../../src/image/tar.ts';
import { readTar } from '../helpers/tar.ts';

test('names, modes and data of every length come back', () => {
  const entries = [0, 1, 511, 512, 513, 70_000].map((size) => ({
    name: `f${size}`,
    mode: 0o640,
    data: Buffer.alloc(size, 'x'),
  }));
  const files = readTar(tar([{ name: 'd/', mode: 0o755 }, ...entries]));
  expect(files.map(({ name, mode }) => [name, mode])).toEqual([
    ['d/', 0o755],
    ...entries.map(({ name }) => [name, 0o640]),
  ]);
  expect(files.slice(1).map(({ data }) => data.length)).toEqual([0, 1, 511, 512, 513, 70_000]);
  expect(files.every(({ data }) => data.every((byte) => byte === 0x78))).toBe(true);
});

test('an empty archive is its end', () => {
  expect(tar([])).toEqual(Buffer.alloc(1024));
});

test('a name that does not fit the header is refused', () => {
  for (const name of ['', 'x'.repeat(101), 'ü', 'a b']) {
    expect(() => tar([{ name, mode: 0o644 }])).toThrow(expect.objectContaining({ code: 'ERR_PODWRIGHT_ASSERTION' }));
  }
});
