/**
 * `npm run test:mutation`: plants deliberate faults in the projection, one at a time, and runs its tests. Each fault
 * must make at least one test fail; a fault that nobody notices, or that cannot be planted, fails the run.
 *
 * It works on a copy: the checkout stays as it is.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { faults, type PlantedFault } from './faults.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const suites = ['test/pod', 'test/trace', 'test/machines/model.test.ts', 'test/runtime/actors'];
const copied = ['bin', 'machines', 'src', 'test', 'tools', 'package.json', 'tsconfig.json', 'vitest.config.ts'];

const copy = mkdtempSync(join(tmpdir(), 'podwright-mutation-'));
let survivors = 0;
try {
  for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const whole = runSuites();
  if (whole.failed > 0 || whole.passed === 0)
    throw new Error(`without any fault ${whole.failed} tests fail:\n${whole.output}`);
  console.log(`without a fault: ${whole.passed} tests pass`);
  for (const fault of faults) {
    const restore = plant(fault);
    const { failed, first } = runSuites();
    restore();
    if (failed === 0) survivors++;
    console.log(
      `${failed === 0 ? 'SURVIVED' : 'noticed '} ${fault.name}${failed === 0 ? '' : `: ${failed} tests, first: ${first}`}`,
    );
  }
} finally {
  rmSync(copy, { recursive: true });
}
console.log(`${faults.length} faults, ${survivors} survived`);
if (survivors > 0) process.exitCode = 1;

/** Gives back how to take the fault out again. */
function plant({ name, file, find, replace }: PlantedFault): () => void {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  if (source.split(find).length !== 2) throw new Error(`the place of "${name}" is not found exactly once in ${file}`);
  writeFileSync(
    path,
    source.replace(find, () => replace),
  );
  return () => writeFileSync(path, source);
}

interface SuiteResult {
  readonly passed: number;
  readonly failed: number;
  readonly first: string;
  readonly output: string;
}

function runSuites(): SuiteResult {
  const reportFile = join(copy, 'report.json');
  const input = [
    'bin/with-node.js',
    'vitest',
    'run',
    '--project',
    'unit',
    '--reporter=json',
    `--outputFile=${reportFile}`,
  ];
  const { stdout, stderr } = spawnSync(process.execPath, [...input, ...suites], { cwd: copy, encoding: 'utf8' });
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as {
    readonly numPassedTests: number;
    readonly numFailedTests: number;
    readonly testResults: readonly {
      readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
    }[];
  };
  rmSync(reportFile);
  const results = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const first = results.find(({ status }) => status === 'failed')?.fullName ?? '';
  return { passed: report.numPassedTests, failed: report.numFailedTests, first, output: stdout + stderr };
}
