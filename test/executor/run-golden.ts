/** Runs a compiled pipeline and writes down what a person would see of it, without times. */
import { tmpdir } from 'node:os';
import type { CompiledPipeline } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { type ExecuteOptions, execute } from '../../src/executor/execute.ts';
import type { StepResult } from '../../src/executor/result.ts';

export async function runText(pipeline: CompiledPipeline, options: Omit<ExecuteOptions, 'on'>): Promise<string> {
  const logs = new Map<string, string[]>();
  const on = (event: ExecutorEvent): void => {
    if (event.type !== 'step.log') return;
    logs.set(event.step.container, [...(logs.get(event.step.container) ?? []), event.line]);
  };
  const result = await execute(pipeline, { ...options, on });
  const lines = [`build ${result.outcome}`];
  for (const step of result.steps) {
    lines.push('', stepText(step));
    const container = step.stage === '' ? step.name : `${step.stage}/${step.name}`;
    lines.push(...(logs.get(container) ?? []).map((line) => `  | ${line}`));
  }
  // The embedded cluster puts its own folders in place of a container's paths.
  return `${lines.join('\n')}\n`
    .replaceAll(`${tmpdir()}/podwright-cluster-`, '<scratch>')
    .replaceAll(/(?<=<scratch>)\S+?(?=\/vela|\s|"|')/g, '');
}

function stepText(step: StepResult): string {
  const { outcome } = step;
  const verdict = outcome?.outcome === 'terminated' ? ` ${outcome.cause} ${outcome.exitCode}` : '';
  const reason = step.reason === null ? '' : ` (${step.reason})`;
  return `${step.kind} ${step.stage}/${step.name}: ${step.status}${verdict}${reason}`;
}
