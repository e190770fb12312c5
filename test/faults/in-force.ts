/** The faults that the suite runs under now: a name of `fault-sets.ts` in FAULTS, and a seed in SEED. */
import type { FaultRule } from '../../src/cluster/index.ts';
import { faultSets } from './fault-sets.ts';

export const faultsName = process.env['FAULTS'] ?? 'none';
export const faultsInForce: readonly FaultRule[] = chosen(faultsName);

/** How much longer than undisturbed a test may wait for what must come true. */
export const patience = faultsInForce.length === 0 ? 1 : 10;

function chosen(name: string): readonly FaultRule[] {
  const rules = faultSets[name];
  if (rules === undefined) throw new Error(`FAULTS: ${name} is none of ${Object.keys(faultSets).join(', ')}`);
  return rules;
}
