/** How often each kind of fault struck, told by the clusters of the suite to its runner: a set must not be an empty one. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { faultMessage } from '../../src/cluster/faults/rules.ts';
import type { Logger } from '../../src/logger.ts';

/** Path of a file; each strike adds a line with its kind. */
export const struckVariable = 'FAULTS_STRUCK';

/** For a cluster under test; undefined when nobody asked. */
export function strikesLogger(): Logger | undefined {
  const file = process.env[struckVariable];
  if (file === undefined) return undefined;
  return {
    info: () => undefined,
    debug: (message, fields) => {
      if (message === faultMessage) appendFileSync(file, `${String(fields?.['fault'])}\n`);
    },
  };
}

export function readStrikes(file: string): ReadonlyMap<string, number> {
  const strikes = new Map<string, number>();
  if (!existsSync(file)) return strikes;
  for (const kind of readFileSync(file, 'utf8').trim().split('\n')) strikes.set(kind, (strikes.get(kind) ?? 0) + 1);
  return strikes;
}
