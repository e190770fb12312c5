/** Skips the tests that cannot hold under the faults in force, each for a reason that it tells. */
import { beforeEach } from 'vitest';
import { excuse } from './excused.ts';
import { faultsName } from './in-force.ts';

beforeEach(({ task, skip }) => {
  const reason = excuse(task.fullTestName, faultsName);
  if (reason !== undefined) skip(reason);
});
