/**
 * A worker that may be killed at any moment: takes its build up or begins it, runs the steps, keeps every line it has
 * read with its position, removes the build, and says `done`. Its one argument is JSON, `CrashWork`.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isPodwrightError } from '../../src/errors.ts';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import type { PlaceholderOption } from '../../src/pod/start-strategy.ts';
import { type Build, createRuntime, type Runtime } from '../../src/runtime/runtime.ts';

export interface CrashWork {
  readonly kubeConfig: string;
  readonly namespace: string;
  readonly owner: string;
  readonly placeholder: PlaceholderOption;
  readonly spec: BuildSpec;
  /** Holds `lines` and `verdicts`, one JSON object a line. */
  readonly folder: string;
}

export interface KeptLine {
  readonly step: string;
  readonly text: string;
  readonly position: string;
}
export interface KeptVerdict {
  readonly step: string;
  readonly outcome: unknown;
}

export function read<T>(folder: string, file: 'lines' | 'verdicts'): T[] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  // A line that was being written when the worker was killed is none.
  const whole = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return whole.map((line) => JSON.parse(line) as T);
}

if (import.meta.main) {
  const work = JSON.parse(process.argv[2] ?? '') as CrashWork;
  await run(work);
  console.log('done');
}

async function run({ folder, spec, ...options }: CrashWork): Promise<void> {
  const runtime = await createRuntime(options);
  const settled = new Set(read<KeptVerdict>(folder, 'verdicts').map(({ step }) => step));
  const build = await takeUp(runtime, spec, settled.size === spec.containers.length);
  if (build !== undefined) {
    for (const { name } of spec.containers) await runStep(runtime, build, name, folder, settled);
    const report = await runtime.removeBuild(build);
    if (!report.gone) throw new Error(report.remaining.join());
  }
  await runtime.close();
}

/** Undefined when the build was over already. */
async function takeUp(runtime: Runtime, spec: BuildSpec, isOver: boolean): Promise<Build | undefined> {
  for (;;) {
    const [adopted] = await runtime.adopt();
    if (adopted !== undefined || isOver) return adopted;
    const build = await runtime.setupBuild(spec);
    try {
      await runtime.assembleBuild(build);
      return build;
    } catch (error) {
      // The create of the worker before this one came after we had looked.
      if (!isPodwrightError(error, 'ERR_PODWRIGHT_CONFLICT')) throw error;
      await runtime.removeBuild(build);
    }
  }
}

async function runStep(
  runtime: Runtime,
  build: Build,
  step: string,
  folder: string,
  settled: ReadonlySet<string>,
): Promise<void> {
  await runtime.runContainer(build, step);
  // Its log was read to its end before; while the build is being removed it may be gone by now.
  if (settled.has(step)) return;
  const last = read<KeptLine>(folder, 'lines').findLast((line) => line.step === step);
  const from = last === undefined ? {} : { from: last.position };
  for await (const { text, position, gap } of runtime.tailContainer(build, step, from)) {
    if (gap !== undefined) throw new Error(`a gap in the log of ${step}: ${gap.message}`);
    appendFileSync(join(folder, 'lines'), `${JSON.stringify({ step, text, position } satisfies KeptLine)}\n`);
  }
  const outcome = await runtime.waitContainer(build, step);
  appendFileSync(join(folder, 'verdicts'), `${JSON.stringify({ step, outcome } satisfies KeptVerdict)}\n`);
}
