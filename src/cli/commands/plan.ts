/** `podwright plan` and `podwright validate`: what a file would do, or what is wrong with it, without a cluster. */
import { type Command, Option } from 'commander';
import { isPodwrightError } from '../../errors.ts';
import { compile } from '../../executor/compile.ts';
import type { Pipeline } from '../../executor/pipeline.ts';
import { stepsOf } from '../../executor/plan.ts';
import { planJson, planMermaid, planText } from '../../executor/plan-views.ts';
import { formatProblem, problemsOf } from '../../executor/problems.ts';
import type { SecretValue } from '../../executor/variables.ts';
import { exitCodes } from '../exit-codes.ts';
import { printError } from '../output/errors.ts';
import { counted } from '../output/words.ts';
import { addPipelineOptions, loadPipeline, type PipelineFlags } from '../pipeline-flags.ts';
import type { Terminal } from '../terminal.ts';

export function addPlanCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('plan')
    .argument('<file>', 'pipeline file, in the .vela.yml format')
    .description('Show what a pipeline would do: stages, order, and what its rules leave out.')
    .addOption(new Option('--format <form>', 'what to write').choices(['text', 'json', 'mermaid']).default('text'))
    .addHelpText('after', planHelp);
  addPipelineOptions(command).action(async (file: string, flags: PlanFlags) => {
    const { pipeline, facts, options } = await loadPipeline(file, flags, terminal);
    const { plan } = compile(pipeline, { ...options, secrets: pretendSecrets(pipeline) });
    if (flags.format === 'json') terminal.out(`${JSON.stringify(planJson(plan, facts), undefined, 2)}\n`);
    else terminal.out(flags.format === 'mermaid' ? planMermaid(plan) : planText(plan, facts));
  });
}

interface PlanFlags extends PipelineFlags {
  readonly format: 'text' | 'json' | 'mermaid';
}

const planHelp = `
Examples:
  podwright plan .vela.yml --event pull_request --branch feature/x
  podwright plan .vela.yml --tag v1.2.0 --format mermaid
`;

export function addValidateCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('validate')
    .argument('<files...>', 'pipeline files')
    .description('Tell every mistake in pipeline files, with its place and what to do. Exit code 2 when there is one.')
    .addOption(new Option('--output <form>', 'what to write').choices(['pretty', 'json']).default('pretty'))
    .addHelpText('after', '\nExample:\n  podwright validate .vela.yml\n');
  addPipelineOptions(command).action(async (files: readonly string[], flags: ValidateFlags) => {
    for (const file of files) if (!(await validate(file, flags, terminal))) process.exitCode = exitCodes.usage;
  });
}

interface ValidateFlags extends PipelineFlags {
  readonly output: 'pretty' | 'json';
}

/** Gives whether the file is sound. */
async function validate(file: string, flags: ValidateFlags, terminal: Terminal): Promise<boolean> {
  try {
    const { pipeline, options } = await loadPipeline(file, flags, terminal);
    const { plan } = compile(pipeline, { ...options, secrets: pretendSecrets(pipeline) });
    if (flags.output === 'json') terminal.out(`${JSON.stringify({ file, problems: [] })}\n`);
    else terminal.out(`${file}: ${terminal.style('green', 'valid')}, ${counted(stepsOf(plan).length, 'step')}\n`);
    return true;
  } catch (error) {
    if (!isPodwrightError(error)) throw error;
    const problems = problemsOf(error);
    // A file that cannot be read keeps none of the others from being looked at; a flag that is wrong is so for all.
    if (problems.length === 0) {
      if (error.details['file'] !== file) throw error;
      printError(terminal, error);
      if (flags.output === 'json') terminal.out(`${JSON.stringify({ file, problems, error: error.message })}\n`);
      return false;
    }
    if (flags.output === 'json') terminal.out(`${JSON.stringify({ file, problems })}\n`);
    else for (const problem of problems) terminal.out(`${formatProblem(problem)}\n`);
    return false;
  }
}

/** Nothing runs, so that no secret has to be there. */
function pretendSecrets(pipeline: Pipeline): ReadonlyMap<string, SecretValue> {
  const steps = [...pipeline.secretPlugins, ...pipeline.stages.flatMap((stage) => stage.steps)];
  const names = steps.flatMap((step) => step.secrets.map((secret) => secret.source));
  return new Map(names.map((name) => [name, { secret: 'secret', key: name }]));
}
