/** No listener, timer, socket or actor is left after a thousand builds (BUILDS): figures before and after. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterProcess, startClusterProcess } from '../helpers/cluster-process.ts';
import { measureLeaks } from '../helpers/leaks.ts';
import { namespace } from '../runtime/embedded.ts';

const builds = Number(process.env['BUILDS'] ?? 1_000);
let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await startClusterProcess({ namespaces: [namespace], path: process.env['PATH'] ?? '' });
});
afterAll(() => cluster?.stop());

it(`${builds} builds leave nothing`, { timeout: builds * 5_000 }, async () => {
  const left = await measureLeaks(cluster, builds, 10);
  console.log(left);
  expect(left.actorsAlive).toBe(0);
  expect(left.buildsAlive).toBe(0);
  for (const [kind, count] of Object.entries(left.handlesAfter)) {
    expect(`${kind} ${Math.max(count, left.handlesBefore[kind] ?? 0)}`).toBe(
      `${kind} ${left.handlesBefore[kind] ?? 0}`,
    );
  }
  // A leaked actor system alone has 40 kB.
  expect(left.heapPerBuild).toBeLessThan(4_000);
});
