/** The example executor runs as it stands: on its own as a program, and embedded. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { execute } from '../../examples/executor.ts';
import { hasPod, type Stand, spec, startStand, step } from '../runtime/embedded.ts';

const file = fileURLToPath(new URL('../../examples/executor.ts', import.meta.url));
let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

it('is of forty lines', () => {
  expect(readFileSync(file, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(40);
});

it('runs the steps, shows their logs, skips after a failure, and removes the pod', async () => {
  const runtime = await stand.open();
  const lines: string[] = [];
  const one = spec(step('one', 'echo first; echo second'), step('two', 'exit 3'), step('three', 'true'));
  expect(await execute(runtime, one, (line) => lines.push(line))).toBe(false);
  expect(lines).toEqual(['one | first', 'one | second', 'one: completed (0)', 'two: error (3)', 'three: skipped']);
  expect(await hasPod(stand, await runtime.setupBuild(one))).toBe(false);
});

it('is canceled by its signal', async () => {
  const runtime = await stand.open({ owner: 'worker-2' });
  const interrupt = new AbortController();
  const lines: string[] = [];
  const print = (line: string): void => {
    lines.push(line);
    if (line.endsWith('begun')) interrupt.abort();
  };
  const one = spec(step('one', 'echo begun; sleep 60'), step('two', 'true'));
  expect(await execute(runtime, { ...one, pod: { terminationGracePeriodSeconds: 1 } }, print, interrupt.signal)).toBe(
    false,
  );
  expect(lines).toEqual(['one | begun', 'one: canceled', 'two: skipped']);
});

it('is a program', async () => {
  const { code, out } = await new Promise<{ code: unknown; out: string }>((resolve) => {
    execFile(process.execPath, [file, stand.cluster.kubeConfig], (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, out: stdout + stderr }),
    );
  });
  expect(out).toMatch(/^hello \| hello from .+\nhello: completed \(0\)\nfail: error \(3\)\nnever: skipped\n$/);
  expect(code).toBe(1);
});
