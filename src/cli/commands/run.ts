/** `podwright run FILE`: one pipeline, from its file to its verdict. */
import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import { isPodwrightError } from '../../errors.ts';
import { compile } from '../../executor/compile.ts';
import { addClusterOptions, type ClusterFlags } from '../cluster-flags.ts';
import { exitCodeOfBuild, exitCodeOfError } from '../exit-codes.ts';
import { printError } from '../output/errors.ts';
import { JsonReporter } from '../output/json.ts';
import { type LogChoice, PlainReporter } from '../output/plain.ts';
import type { Reporter } from '../output/reporter.ts';
import { addPipelineOptions, loadPipeline, type PipelineFlags } from '../pipeline-flags.ts';
import type { Terminal } from '../terminal.ts';

export interface RunFlags extends ClusterFlags, PipelineFlags {
  readonly output: 'pretty' | 'json';
  readonly logs: LogChoice;
}

export function addRunCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('run')
    .argument('<file>', 'pipeline file, in the .vela.yml format')
    .description('Run a pipeline and tell how it ended.')
    .addOption(new Option('--output <form>', 'what to write').choices(['pretty', 'json']).default('pretty'))
    .addOption(new Option('--logs <which>', 'whose logs to show').choices(['all', 'failed', 'none']).default('all'))
    .addHelpText('after', runHelp);
  addPipelineOptions(addClusterOptions(command)).action(async (file: string, flags: RunFlags) => {
    process.exitCode = await runPipeline(file, flags, terminal);
  });
}

const runHelp = `
Without --kubeconfig and --context the pipeline runs on the embedded cluster: no Kubernetes is needed, and its
commands run as local processes.

Exit codes: 0 succeeded, 1 the build failed, 2 a mistake in the file or the flags, 3 the infrastructure failed,
130 interrupted.

Examples:
  podwright run .vela.yml
  podwright run .vela.yml --kubeconfig ~/.kube/config --namespace builds
  podwright run .vela.yml --output json | tail -n 1
`;

/** Gives the exit code. Errors of the user and of the cluster are told here, each in the form that was asked for. */
async function runPipeline(file: string, flags: RunFlags, terminal: Terminal): Promise<number> {
  const json = flags.output === 'json' ? new JsonReporter(terminal) : undefined;
  const reporter: Reporter = json ?? new PlainReporter(terminal, { logs: flags.logs });
  try {
    const { pipeline, options } = await loadPipeline(file, flags, terminal);
    const compiled = compile(pipeline, options);
    // Loaded now: a file with mistakes is told without a client of clusters.
    const { runOnCluster } = await import('../run-on-cluster.ts');
    return exitCodeOfBuild(await runOnCluster(file, compiled, flags, reporter, terminal));
  } catch (error) {
    if (!isPodwrightError(error)) throw error;
    if (json === undefined) printError(terminal, error);
    else json.fail(error, systemClock.now());
    return exitCodeOfError(error);
  } finally {
    reporter.close();
  }
}
