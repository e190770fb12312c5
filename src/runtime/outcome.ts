/** From a container's snapshot to the value that callers get; undefined while there is none. */
import type { SnapshotFrom } from 'xstate';
import type { containerMachine } from '../../machines/container.ts';
import type { Outcome, SettledOutcome } from '../../machines/outcome.ts';
import { assert } from '../assert.ts';

type ContainerSnapshot = SnapshotFrom<typeof containerMachine>;

/** What `runContainer` waits for. */
export function launchedOutcome(snapshot: ContainerSnapshot): Outcome | undefined {
  if (!snapshot.hasTag('launched')) return undefined;
  const { outcome } = snapshot.context;
  assert(outcome !== null, 'a launched container has an outcome');
  return outcome;
}

/** What `waitContainer` waits for. */
export function settledOutcome(snapshot: ContainerSnapshot): SettledOutcome | undefined {
  if (!snapshot.hasTag('settled')) return undefined;
  const { outcome } = snapshot.context;
  assert(outcome !== null && outcome.outcome !== 'running', 'a settled container has a verdict');
  return outcome;
}
