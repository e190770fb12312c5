/** Stock kubectl at the embedded cluster prints what it printed at a real one, and exits as it did. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scenarios } from './kubectl/scenarios.ts';
import { embeddedStand, goldenPath, kubectls, playAt, type Stand } from './kubectl/stand.ts';

const found = await kubectls();
let stand: Stand;

beforeAll(async () => {
  stand = await embeddedStand();
});

afterAll(() => stand.end());

test('there is a kubectl to test with', () => {
  expect(found, 'put one in PATH, or name some in KUBECTLS').not.toHaveLength(0);
});

describe.each(found)('kubectl $minor', ({ path, minor }) => {
  test.each(scenarios)('$name', async (scenario) => {
    const recorded = await readFile(goldenPath(minor, scenario), 'utf8');
    expect(await playAt(stand, path, scenario)).toBe(recorded);
  });
});
