/** kill -9 at moments of chance: each step runs once, each line is read once. `npm run test:crash` has the long form. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterProcess, startClusterProcess } from '../helpers/cluster-process.ts';
import { chance, crash, expectedCodes, expectedLines, fiveSteps } from '../helpers/crash.ts';
import { namespace, placeholder213 } from './embedded.ts';

let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await startClusterProcess({ namespaces: [namespace], path: process.env['PATH'] ?? '' });
});
afterAll(() => cluster?.stop());

it('a worker killed three times loses and repeats nothing', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  const random = chance(seed);
  const delays = [0, 1, 2].map(() => 300 + random() * 1_200);
  const work = { kubeConfig: cluster.kubeConfig, namespace, owner: `worker-${seed}`, placeholder: placeholder213 };
  const spec = fiveSteps(`crash-${seed}`, 'registry.example.com/tools:1');
  const result = await crash({ ...work, spec }, delays, 25_000);
  expect({ seed, lines: result.lines, codes: result.codes }).toEqual({
    seed,
    lines: expectedLines,
    codes: expectedCodes,
  });
});
