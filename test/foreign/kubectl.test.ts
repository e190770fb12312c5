/** Stock kubectl at the embedded cluster prints what it printed at a real one, and exits as it did. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scenarios } from './kubectl/scenarios.ts';
import { embeddedStand, goldenPath, kubectls, playAt, type Stand } from './kubectl/stand.ts';

const known = await readdir(join(import.meta.dirname, 'golden'));
const found = await kubectls();
const recorded = found.filter(({ minor }) => known.includes(`kubectl-${minor}`));
for (const { path, minor } of found) {
  if (!known.includes(`kubectl-${minor}`)) console.log(`left out: ${path}, because kubectl ${minor} was not recorded`);
}
let stand: Stand;

beforeAll(async () => {
  stand = await embeddedStand();
});

afterAll(() => stand.end());

test('there is a kubectl to test with', () => {
  expect(recorded, `put one of ${known.join(', ')} in PATH, or name some in KUBECTLS`).not.toHaveLength(0);
});

describe.each(recorded)('kubectl $minor', ({ path, minor }) => {
  test.each(scenarios)('$name', async (scenario) => {
    const golden = await readFile(goldenPath(minor, scenario), 'utf8');
    expect(await playAt(stand, path, scenario)).toBe(golden);
  });
});
