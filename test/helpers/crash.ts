/** Kills a worker again and again at moments of chance, lets it finish, and says what came of its build. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import type { CrashWork, KeptLine, KeptVerdict } from './crash-worker.ts';
import { read } from './crash-worker.ts';

export const stepNames = ['one', 'two', 'three', 'four', 'five'] as const;
const linesPerStep = 8;

/** Each step tells in the workspace that it ran, prints some lines, and ends with its own code. */
export function fiveSteps(id: string, image: string): BuildSpec {
  const containers = stepNames.map((name, code) => ({
    name,
    image,
    role: 'step' as const,
    secrets: { TOKEN: 's3cret' },
    script:
      `echo ${name} >> runs; test "$TOKEN" = s3cret; i=1; ` +
      `while [ $i -le ${linesPerStep} ]; do echo "${name} $i"; sleep 0.04; i=$((i+1)); done; ` +
      `${name === 'five' ? 'cat runs; ' : ''}exit ${code}`,
  }));
  return { id, containers, pod: { terminationGracePeriodSeconds: 1 } };
}

export interface CrashResult {
  readonly lines: Readonly<Record<string, readonly string[]>>;
  readonly codes: readonly unknown[];
  readonly kills: number;
}

/** What every build must come to, however often its worker was killed. */
export const expectedLines: CrashResult['lines'] = Object.fromEntries(
  stepNames.map((name) => {
    const own = Array.from({ length: linesPerStep }, (_, i) => `${name} ${i + 1}`);
    return [name, name === 'five' ? [...own, ...stepNames] : own];
  }),
);
export const expectedCodes = stepNames.map((_, code) => code);

export async function crash(
  work: Omit<CrashWork, 'folder'>,
  killAfterMs: readonly number[],
  patienceMs: number,
): Promise<CrashResult> {
  const folder = mkdtempSync(join(tmpdir(), 'podwright-crash-'));
  try {
    let kills = 0;
    for (const delay of killAfterMs) {
      const ended = await runWorker({ ...work, folder }, delay);
      if (ended === 'done') break;
      kills++;
    }
    const last = await runWorker({ ...work, folder }, patienceMs);
    if (last !== 'done') throw new Error(`the build did not come to its end within ${patienceMs} ms`);
    const lines = read<KeptLine>(folder, 'lines');
    const verdicts = read<KeptVerdict>(folder, 'verdicts');
    return {
      kills,
      lines: Object.fromEntries(
        stepNames.map((name) => [name, lines.filter(({ step }) => step === name).map(({ text }) => text)]),
      ),
      codes: verdicts.map(({ outcome }) => (outcome as { exitCode?: unknown }).exitCode),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runWorker(work: CrashWork, killAfterMs: number): Promise<'done' | 'killed'> {
  const file = fileURLToPath(new URL('crash-worker.ts', import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(work)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let complained = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  child.stderr.on('data', (chunk) => {
    complained += chunk;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  if (said.includes('done')) return 'done';
  if (signal === 'SIGKILL') return 'killed';
  throw new Error(`the worker ended by itself (${code ?? signal}): ${complained}`);
}

/** A seeded source of chance (mulberry32), so that a run can be had again. */
export function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
