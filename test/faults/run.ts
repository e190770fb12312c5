/**
 * `npm run test:faults`: the runtime's suite under each fault alone, and under all at a low rate with several seeds.
 *
 * Arguments are names of fault sets, or the beginning of names; without any, all. `--seeds N` (default 3) is for
 * `everything`. Prints a line for each, and what failed; ends with 1 when anything did, or when a fault of the set never
 * struck.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faultSets } from './fault-sets.ts';
import { readStrikes, struckVariable } from './struck.ts';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seeds: { type: 'string', default: '3' } },
});
const names = Object.keys(faultSets).filter(
  (name) => positionals.length === 0 || positionals.some((wanted) => name.startsWith(wanted)),
);
let failures = 0;
for (const name of names) {
  const seeds = name === 'everything' ? Number(values.seeds) : 1;
  const strikes = new Map<string, number>();
  for (let seed = 1; seed <= seeds; seed++) failures += runUnder(name, seed, strikes);
  const idle = [...new Set(faultSets[name]?.map(({ fault }) => fault.kind))].filter((kind) => !strikes.has(kind));
  if (idle.length > 0) console.log(`FAILED ${name}: never struck: ${idle.join(', ')}`);
  failures += idle.length;
}
if (failures > 0) process.exitCode = 1;

/**
 * Gives the number of failed tests, at least 1 when the run failed otherwise. Adds to `strikes` how often each kind of
 * fault struck.
 */
function runUnder(name: string, seed: number, strikes: Map<string, number>): number {
  const folder = mkdtempSync(join(tmpdir(), 'podwright-faults-'));
  const file = join(folder, 'report.json');
  const struck = join(folder, 'struck');
  const startedAt = Date.now();
  try {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['bin/with-node.js', 'vitest', 'run', '--project', 'faults', '--reporter=json', `--outputFile=${file}`],
      {
        cwd: root,
        encoding: 'utf8',
        env: { ...process.env, FAULTS: name, SEED: String(seed), [struckVariable]: struck },
      },
    );
    const report = readReport(file);
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
    if (report === undefined) {
      console.log(`FAILED ${name} (seed ${seed}): no report\n${stdout}${stderr}`);
      return 1;
    }
    const { numPassedTests: passed, numFailedTests: failed, numPendingTests: excused, success } = report;
    const now = readStrikes(struck);
    for (const [kind, count] of now) strikes.set(kind, (strikes.get(kind) ?? 0) + count);
    const told = now.size === 0 ? '' : `, struck: ${[...now].map(([kind, count]) => `${kind} ${count}`).join(', ')}`;
    console.log(
      `${success ? 'passed' : 'FAILED'} ${name} (seed ${seed}): ${passed} passed, ${failed} failed, ${excused} excused, ${seconds} s${told}`,
    );
    if (!success) console.log(failuresOf(report));
    return success ? 0 : Math.max(1, failed);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readReport(file: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

function failuresOf({ testResults }: Report): string {
  return testResults
    .flatMap(({ name, message, assertionResults }) => [
      ...(message === '' ? [] : [`  ${name}: ${message}`]),
      ...assertionResults
        .filter(({ status }) => status === 'failed')
        .map(({ fullName, failureMessages }) => `  ${fullName}\n${failureMessages.join('\n').replace(/^/gm, '    ')}`),
    ])
    .join('\n');
}
