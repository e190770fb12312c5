// The committed binaries are what the source compiles to, byte for byte.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const check = new URL('../../entry/check', import.meta.url).pathname;

test('entry compiles to the committed binaries', (context) => {
  const { status, stdout, stderr, error } = spawnSync(check, { encoding: 'utf8' });
  if (status === 77 || error !== undefined) {
    const reason = error?.message ?? stdout.trim();
    console.log(`entry is not compiled again: ${reason}`);
    context.skip(reason);
  }
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
