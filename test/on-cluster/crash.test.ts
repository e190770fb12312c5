// kill -9 at ten moments (KILLS) on a real cluster: nothing is lost and nothing repeated.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chance, crash, expectedCodes, expectedLines, fiveSteps } from '../helpers/crash.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

const wanted = Number(process.env['KILLS'] ?? 10);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);

describe.skipIf(kubeConfig === undefined)('a worker that is killed', () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab('crash');
  });
  afterAll(() => lab?.end());

  test(`${wanted} times (seed ${seed})`, { timeout: wanted * 60_000 }, async () => {
    const random = chance(seed);
    let kills = 0;
    for (let number = 1; kills < wanted; number++) {
      const id = `crash-${seed}-${number}`;
      const delays = Array.from({ length: 5 }, () => 500 + random() * 3_000);
      const work = {
        kubeConfig: kubeConfig ?? '',
        namespace: lab.namespace,
        owner: id,
        placeholder: images.placeholder213,
        spec: fiveSteps(id, images.base),
      };
      const result = await crash(work, delays, 120_000);
      kills += result.kills;
      expect({ id, lines: result.lines, codes: result.codes }).toEqual({
        id,
        lines: expectedLines,
        codes: expectedCodes,
      });
    }
    console.log(`${kills} kills on a real cluster, seed ${seed}`);
  });
});
