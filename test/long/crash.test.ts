/**
 * kill -9 of the worker at two hundred moments of chance (KILLS) in five-step builds, then adoption: each step ran
 * exactly once, each line was read exactly once, each verdict is right. SEED repeats a run.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterProcess, startClusterProcess } from '../helpers/cluster-process.ts';
import { chance, crash, expectedCodes, expectedLines, fiveSteps } from '../helpers/crash.ts';
import { namespace, placeholder213 } from '../runtime/embedded.ts';

const wanted = Number(process.env['KILLS'] ?? 200);
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** Builds at a time, and kills in each before it may come to its end. */
const atATime = 3;
const killsPerBuild = 5;

let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await startClusterProcess({ namespaces: [namespace], path: process.env['PATH'] ?? '' });
});
afterAll(() => cluster?.stop());

it(`${wanted} kills lose and repeat nothing (seed ${seed})`, { timeout: wanted * 20_000 }, async () => {
  const random = chance(seed);
  let kills = 0;
  let builds = 0;
  const lane = async (): Promise<void> => {
    while (kills < wanted) {
      const id = `crash-${seed}-${++builds}`;
      const delays = Array.from({ length: killsPerBuild }, () => 200 + random() * 1_500);
      const work = { kubeConfig: cluster.kubeConfig, namespace, owner: id, placeholder: placeholder213 };
      const result = await crash({ ...work, spec: fiveSteps(id, 'registry.example.com/tools:1') }, delays, 60_000);
      kills += result.kills;
      expect({ id, lines: result.lines, codes: result.codes }).toEqual({
        id,
        lines: expectedLines,
        codes: expectedCodes,
      });
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  console.log(`${kills} kills in ${builds} builds, seed ${seed}`);
});
