/** Builds that are over leave nothing in the process. `npm run test:leaks` does it with a thousand. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ClusterProcess, startClusterProcess } from '../helpers/cluster-process.ts';
import { measureLeaks } from '../helpers/leaks.ts';
import { namespace } from './embedded.ts';

let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await startClusterProcess({ namespaces: [namespace], path: process.env['PATH'] ?? '' });
});
afterAll(() => cluster?.stop());

it('no actor, timer or build of 12 builds is left', async () => {
  const left = await measureLeaks(cluster, 12, 6);
  expect(left.actorsMade).toBeGreaterThanOrEqual(12 * 4);
  expect(left.actorsAlive).toBe(0);
  expect(left.buildsAlive).toBe(0);
  expect(left.handlesAfter['Timeout'] ?? 0).toBeLessThanOrEqual(left.handlesBefore['Timeout'] ?? 0);
});
