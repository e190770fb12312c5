/** `podwright run FILE`: one pipeline, from its file to its verdict. */
import { type Command, Option } from 'commander';
import { systemClock } from '../../clock.ts';
import { isPodwrightError } from '../../errors.ts';
import { compile } from '../../executor/compile.ts';
import { addClusterOptions } from '../cluster-flags.ts';
import { withDebug } from '../debug-option.ts';
import { exitCodeOfBuild, exitCodeOfError } from '../exit-codes.ts';
import { printError } from '../output/errors.ts';
import { GithubReporter } from '../output/github.ts';
import { JsonReporter } from '../output/json.ts';
import { LiveReporter } from '../output/live.ts';
import { PlainReporter } from '../output/plain.ts';
import type { Reporter } from '../output/reporter.ts';
import { addPipelineOptions, loadPipeline } from '../pipeline-flags.ts';
import { addPodOptions, withResources } from '../pod-flags.ts';
import { parseReport, type ReportRequest } from '../report/write.ts';
import type { RunFlags } from '../run-flags.ts';
import { addDebugOptions, addSeeingOptions } from '../seeing-flags.ts';
import type { Terminal } from '../terminal.ts';
import { addWorkspaceOptions } from '../workspace-flags.ts';

export function addRunCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('run')
    .argument('<file>', 'pipeline file, in the .vela.yml format')
    .description('Run a pipeline and tell how it ended.')
    .addOption(new Option('--output <form>', 'what to write').choices(['pretty', 'json']).default('pretty'))
    .addOption(new Option('--logs <which>', 'whose logs to show').choices(['all', 'failed', 'none']).default('all'))
    .option('--report <kind=file>', 'write a report, as junit or html; may be repeated', collectReports)
    .option('--record <file>', 'write down what the cluster says of the build, for podwright replay and bug reports')
    .addHelpText('after', runHelp);
  addPodOptions(addWorkspaceOptions(addPipelineOptions(addClusterOptions(command))));
  addDebugOptions(addSeeingOptions(command)).action(async (file: string, flags: RunFlags) => {
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
  podwright run .vela.yml --kubeconfig ~/.kube/config --namespace builds --report html=build.html
  podwright run .vela.yml --event tag --tag v1.0.0 --secret docker_password
  podwright run .vela.yml --workspace . --artifacts out
  podwright run .vela.yml --output json | tail -n 1
  podwright run .vela.yml --inspect
  podwright run .vela.yml --debug test=nodejs:9229 --debug-forward
`;

function collectReports(text: string, before: readonly ReportRequest[] = []): readonly ReportRequest[] {
  return [...before, parseReport(text)];
}

/** Gives the exit code. Errors of the user and of the cluster are told here, each in the form that was asked for. */
async function runPipeline(file: string, flags: RunFlags, terminal: Terminal): Promise<number> {
  const json = flags.output === 'json' ? new JsonReporter(terminal) : undefined;
  const reporter = json ?? prettyReporter(flags, terminal);
  try {
    const { pipeline, options } = await loadPipeline(file, flags, terminal);
    const compiled = withDebug(withResources(compile(pipeline, options), flags), flags.debug ?? []);
    // Loaded now: a file with mistakes is told without a client of clusters.
    const { runOnCluster } = await import('../run-on-cluster.ts');
    return exitCodeOfBuild(await runOnCluster({ file, compiled, flags, reporter, terminal }));
  } catch (error) {
    if (!isPodwrightError(error)) throw error;
    json?.fail(error, systemClock.now());
    reporter.close();
    if (json === undefined) printError(terminal, error);
    return exitCodeOfError(error);
  } finally {
    reporter.close();
  }
}

function prettyReporter({ logs }: RunFlags, terminal: Terminal): Reporter {
  if (terminal.env['GITHUB_ACTIONS'] === 'true') return new GithubReporter(terminal);
  const region = terminal.openRegion();
  if (region === undefined) return new PlainReporter(terminal, { logs });
  return new LiveReporter(terminal, region, { logs }, () => systemClock.now());
}
