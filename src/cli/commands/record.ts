/** `podwright record`: writes down what a cluster says of its pods, for `podwright replay` and for bug reports. */
import type { Command } from 'commander';
import { systemClock } from '../../clock.ts';
import type { PlaceholderOption } from '../../pod/start-strategy.ts';
import { addConnectionOptions, type ClusterFlags, parsePlaceholder } from '../cluster-flags.ts';
import { withCluster } from '../connect.ts';
import { parseDuration } from '../durations.ts';
import { listenForInterrupt } from '../interrupt.ts';
import { counted } from '../output/words.ts';
import { openRecording } from '../recording-file.ts';
import type { Terminal } from '../terminal.ts';

interface RecordFlags extends ClusterFlags {
  readonly out: string;
  readonly selector?: string;
  readonly for?: string;
  readonly placeholders?: readonly PlaceholderOption[];
}

export function addRecordCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('record')
    .description(
      'Record the pods of a namespace and their Events until you interrupt it. Nothing on the cluster is changed.',
    )
    .requiredOption('-o, --out <file>', 'where to write the recording')
    .option('-l, --selector <labels>', 'only pods with these labels, such as app=build')
    .option('--for <time>', 'how long, such as 10m (default: until it is interrupted)')
    .option(
      '--placeholders <image[=code]...>',
      'images that wait in place of steps, and the code with which they end on SIGTERM',
      collectPlaceholders,
    )
    .addHelpText('after', recordHelp);
  addConnectionOptions(command).action((flags: RecordFlags) => record(flags, terminal));
}

const recordHelp = `
Environments, commands, arguments, volumes and annotations are left out, and Secrets are never read. What containers
wrote to /dev/termination-log and the words of registries are kept: look through the file before you attach it.

Example:
  podwright record --namespace builds --out builds.jsonl --for 10m
`;

function collectPlaceholders(text: string, before: readonly PlaceholderOption[] = []): readonly PlaceholderOption[] {
  return [...before, parsePlaceholder(text)];
}

async function record(flags: RecordFlags, terminal: Terminal): Promise<void> {
  const limitMs = flags.for === undefined ? 0 : parseDuration(flags.for);
  await withCluster(flags, async ({ client, namespace, cluster }, kubernetes) => {
    const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
    const ended = new AbortController();
    const timer = limitMs === 0 ? undefined : systemClock.schedule(limitMs, () => ended.abort());
    try {
      const { recordCluster } = await import('../../trace/record-cluster.ts');
      const { Recorder } = await import('../../trace/recorder.ts');
      const file = openRecording(flags.out, terminal);
      try {
        const placeholders = (flags.placeholders ?? []).map(({ image, restartOn = 0 }) => ({
          image,
          sigtermCode: restartOn,
        }));
        const recorder = new Recorder({
          write: file.write,
          clock: systemClock,
          meta: { scenario: 'record', kubernetes, namespace, placeholders },
          ...(flags.selector === undefined ? {} : { isWanted: () => true }),
        });
        await recordCluster({
          client,
          namespace,
          ...(flags.selector === undefined ? {} : { labelSelector: flags.selector }),
          recorder,
          clock: systemClock,
          signal: AbortSignal.any([interrupt.signal, ended.signal]),
          onSynced: () =>
            terminal.err(`Recording pods of ${namespace} on ${cluster} to ${flags.out}. Interrupt to end.\n`),
        });
      } finally {
        file.close();
      }
      terminal.err(`${flags.out}: ${counted(file.lines, 'line')}\n`);
    } finally {
      timer?.cancel();
      interrupt.stop();
    }
  });
}
