/** Runs a pipeline on a scripted runtime and says what came of it. */
import { compile } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { type ExecuteOptions, execute } from '../../src/executor/execute.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { BuildResult } from '../../src/executor/result.ts';
import { type Life, ScriptedRuntime, terminated } from './scripted-runtime.ts';

/** Steps named a, b, c, … each on a line: `a`, `b: status failure`. */
export function steps(...lines: readonly string[]): string {
  const step = (line: string): string => {
    const [name, ruleset] = line.split(': ').map((part) => part.replace(' ', ': '));
    return `  - { name: ${name}, image: alpine, commands: [x]${ruleset === undefined ? '' : `, ruleset: { ${ruleset} }`} }`;
  };
  return ['steps:', ...lines.map(step)].join('\n');
}

export interface Ran {
  readonly result: BuildResult;
  readonly events: readonly ExecutorEvent[];
  readonly runtime: ScriptedRuntime;
  readonly statuses: Readonly<Record<string, string>>;
}

export async function run(
  text: string,
  lives: Readonly<Record<string, Life>> = {},
  options: Partial<ExecuteOptions> = {},
  runtime = new ScriptedRuntime(lives),
): Promise<Ran> {
  const events: ExecutorEvent[] = [];
  const compiled = compile(parsePipeline(text, 'test.yml'), { facts: defaultFacts });
  const result = await execute(compiled, {
    runtime: runtime.asRuntime(),
    id: 'b1',
    on: (event) => events.push(event),
    ...options,
  });
  const statuses = Object.fromEntries(result.steps.map((step) => [step.name, step.status]));
  return { result, events, runtime, statuses };
}

export const failing: Life = { ends: terminated(3) };
