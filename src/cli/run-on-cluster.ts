/** Runs a compiled pipeline on the cluster that the flags name, and shows it. */
import { randomBytes } from 'node:crypto';
import type { CompiledPipeline } from '../executor/compile.ts';
import { execute } from '../executor/execute.ts';
import type { BuildResult } from '../executor/result.ts';
import { defaultPlaceholder } from '../pod/start-strategy.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { version } from '../version.ts';
import type { RunFlags } from './commands/run.ts';
import { type Connection, openCluster } from './connect.ts';
import { type Interrupt, listenForInterrupt } from './interrupt.ts';
import type { Reporter } from './output/reporter.ts';
import type { Terminal } from './terminal.ts';

export async function runOnCluster(
  file: string,
  compiled: CompiledPipeline,
  flags: RunFlags,
  reporter: Reporter,
  terminal: Terminal,
): Promise<BuildResult> {
  // Those that come before the build are part of its first lines.
  const warnings: string[] = [];
  let hasBegun = false;
  const onWarning = (warning: string): void => {
    if (hasBegun) reporter.notice(`warning: ${warning}`);
    else warnings.push(warning);
  };
  let where = 'nothing yet';
  const interrupt = listenForInterrupt({
    onFirst: () => reporter.notice('Canceling the build and removing its pod. Interrupt again to leave at once.'),
    onSecond: () => terminal.err(`\nLeft at once. Still there: ${where}\n`),
  });
  let connection: Connection | undefined;
  try {
    connection = await openCluster(flags, onWarning);
    const onPod = (pod: string): void => {
      hasBegun = true;
      where = `pod ${pod} on ${connection?.cluster ?? 'the cluster'}`;
    };
    return await runBuild({ file, compiled, flags, reporter, connection, warnings, interrupt, onPod });
  } finally {
    await connection?.close();
    interrupt.stop();
  }
}

interface BuildContext {
  readonly file: string;
  readonly compiled: CompiledPipeline;
  readonly flags: RunFlags;
  readonly reporter: Reporter;
  readonly connection: Connection;
  readonly warnings: readonly string[];
  readonly interrupt: Interrupt;
  readonly onPod: (pod: string) => void;
}

async function runBuild(context: BuildContext): Promise<BuildResult> {
  const { file, compiled, flags, reporter, connection, warnings, interrupt, onPod } = context;
  const { client, namespace } = connection;
  const kubernetes = (await client.version()).gitVersion;
  const placeholder = flags.placeholder ?? defaultPlaceholder;
  const runtime = await createRuntime({ client, namespace, placeholder });
  try {
    reporter.begin({
      version,
      cluster: connection.cluster,
      kubernetes,
      namespace,
      placeholder: { image: placeholder.image, restartOn: placeholder.restartOn ?? 0 },
      warnings,
      file,
    });
    return await execute(compiled, {
      runtime,
      id: buildId(compiled),
      signal: interrupt.signal,
      on: (event) => {
        if (event.type === 'build.prepared') onPod(`${event.namespace}/${event.pod}`);
        reporter.event(event);
      },
    });
  } finally {
    await runtime.close();
  }
}

/** Unlike any other of this repository. */
function buildId(compiled: CompiledPipeline): string {
  const path = compiled.spec.workspace?.mountPath ?? '';
  return `${path.split('/').at(-1) ?? 'build'}-${randomBytes(4).toString('hex')}`;
}
