/** Runs a compiled pipeline on the cluster that the flags name, shows it, and writes the reports. */
import { randomBytes } from 'node:crypto';
import { systemClock } from '../clock.ts';
import { isPodwrightError } from '../errors.ts';
import type { CompiledPipeline } from '../executor/compile.ts';
import type { ExecutorEvent } from '../executor/events.ts';
import { execute } from '../executor/execute.ts';
import type { BuildResult } from '../executor/result.ts';
import type { KubeClient } from '../kube/client.ts';
import { completePlaceholder, defaultPlaceholder } from '../pod/start-strategy.ts';
import { createRuntime } from '../runtime/runtime.ts';
import { version } from '../version.ts';
import { type Connection, firstContact, openCluster } from './connect.ts';
import { type Interrupt, listenForInterrupt } from './interrupt.ts';
import type { Reporter, SetupFacts } from './output/reporter.ts';
import { executeOptions } from './pod-flags.ts';
import { openRecording } from './recording-file.ts';
import { RecordingReporter } from './report/record.ts';
import { checkReports, writeReports } from './report/write.ts';
import type { RunFlags } from './run-flags.ts';
import { runSeen } from './run-seen.ts';
import { referencedSecrets } from './secret-values.ts';
import type { Terminal } from './terminal.ts';
import { openWorkspace, type Workspace } from './workspace.ts';

export interface RunRequest {
  /** As the user named it. */
  readonly file: string;
  readonly compiled: CompiledPipeline;
  readonly flags: RunFlags;
  readonly reporter: Reporter;
  readonly terminal: Terminal;
}

export async function runOnCluster(request: RunRequest): Promise<BuildResult> {
  const { flags, reporter, terminal } = request;
  // Those that come before the build are part of its first lines.
  const warnings: string[] = [];
  let hasBegun = false;
  const onWarning = (warning: string): void => {
    if (hasBegun) reporter.notice(`warning: ${warning}`);
    else warnings.push(warning);
  };
  let where = 'nothing yet';
  let isSettled = false;
  const interrupt = listenForInterrupt({
    onFirst: () => {
      // Afterwards it only ends that the build is still shown.
      if (isSettled) return;
      reporter.notice('Canceling the build and removing its pod. Interrupt again to leave at once.');
    },
    onSecond: () => {
      reporter.close();
      terminal.err(`\nLeft at once. Still there: ${where}\n`);
    },
  });
  let connection: Connection | undefined;
  try {
    connection = await openCluster(flags, onWarning);
    const onPod = (pod: string): void => {
      hasBegun = true;
      where = `pod ${pod} on ${connection?.cluster ?? 'the cluster'}`;
    };
    const onSettled = (): void => {
      isSettled = true;
      where = 'nothing';
    };
    return await runBuild({ ...request, connection, warnings, interrupt, onPod, onSettled });
  } catch (error) {
    // Whatever was under way failed because of it.
    throw interrupt.signal.aborted && isPodwrightError(error) ? interrupt.signal.reason : error;
  } finally {
    await connection?.close();
    interrupt.stop();
  }
}

interface BuildContext extends RunRequest {
  readonly connection: Connection;
  readonly warnings: readonly string[];
  readonly interrupt: Interrupt;
  readonly onPod: (pod: string) => void;
  readonly onSettled: () => void;
}

async function runBuild(context: BuildContext): Promise<BuildResult> {
  const { compiled, flags, reporter, connection, interrupt, onPod, onSettled, terminal } = context;
  const setup = await setupFacts(context);
  await checkReports(flags.report ?? [], terminal.cwd);
  const { namespace } = connection;
  const recording = flags.record === undefined ? undefined : await recordRun(flags.record, context, setup);
  const client = recording?.client ?? connection.client;
  const runtime = await createRuntime(
    {
      client,
      namespace,
      placeholder: flags.placeholder ?? defaultPlaceholder,
      hostPaths: flags.hostPath ?? [],
      privilegedImages: flags.privilegedImage ?? [],
    },
    { signal: interrupt.signal },
  );
  const recorder = flags.report === undefined ? undefined : new RecordingReporter();
  const say = (line: string): void => reporter.notice(line);
  let workspace: Workspace | undefined;
  try {
    workspace = await openWorkspace(compiled, { flags, isEmbedded: connection.isEmbedded, cwd: terminal.cwd, say });
    const { pipeline } = workspace;
    const hooks = workspace.hooks(runtime);
    const masked = await referencedSecrets(client, namespace, compiled, say);
    reporter.begin(setup);
    recorder?.begin(setup);
    const { signal } = interrupt;
    const result = await runSeen({ flags, terminal, connection, runtime, signal, say }, (onEvent) =>
      execute(pipeline, {
        ...executeOptions(flags),
        ...hooks,
        masked,
        runtime,
        id: buildId(compiled),
        signal,
        on: (event: ExecutorEvent) => {
          if (event.type === 'build.prepared') onPod(`${event.namespace}/${event.pod}`);
          if (event.type === 'build.settled') onSettled();
          onEvent(event);
          recorder?.event(event);
          reporter.event(event);
        },
      }),
    );
    if (recorder?.record !== undefined) await writeReports(flags.report ?? [], recorder.record, terminal.cwd);
    return result;
  } finally {
    await workspace?.end();
    await runtime.close();
    recording?.close();
  }
}

/** A client that writes down what passes through it. */
async function recordRun(
  file: string,
  { flags, connection, terminal }: BuildContext,
  { kubernetes, namespace }: SetupFacts,
): Promise<{ readonly client: KubeClient; close(): void }> {
  const { Recorder, recordingClient } = await import('../trace/recorder.ts');
  const recording = openRecording(file, terminal);
  const { image, restartOn } = completePlaceholder(flags.placeholder ?? defaultPlaceholder);
  const meta = { scenario: 'run', kubernetes, namespace, placeholders: [{ image, sigtermCode: restartOn }] };
  const recorder = new Recorder({ write: recording.write, clock: systemClock, meta });
  return { client: recordingClient(connection.client, recorder), close: () => recording.close() };
}

/** Asks the cluster for its version: that is also the first sign of a cluster that cannot be used. */
async function setupFacts({ file, flags, connection, warnings, interrupt }: BuildContext): Promise<SetupFacts> {
  const { image, restartOn = 0 } = flags.placeholder ?? defaultPlaceholder;
  return {
    version,
    cluster: connection.cluster,
    isEmbedded: connection.isEmbedded,
    kubernetes: await firstContact(connection.client, interrupt.signal),
    namespace: connection.namespace,
    placeholder: { image, restartOn },
    warnings,
    file,
  };
}

/** Unlike any other of this repository. */
function buildId(compiled: CompiledPipeline): string {
  const path = compiled.spec.workspace?.mountPath ?? '';
  return `${path.split('/').at(-1) ?? 'build'}-${randomBytes(4).toString('hex')}`;
}
