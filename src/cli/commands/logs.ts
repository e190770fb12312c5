/** `podwright logs BUILD STEP`: the log of one step of a build that is on a cluster, to its end. */
import { StringDecoder } from 'node:string_decoder';
import type { Command } from 'commander';
import { PodwrightError } from '../../errors.ts';
import { isSameImage } from '../../image/reference.ts';
import type { RecoveredContainer } from '../../pod/recovery.ts';
import { type ClusterBuild, findBuild } from '../builds.ts';
import { addConnectionOptions, type ClusterFlags } from '../cluster-flags.ts';
import { type Connection, withCluster } from '../connect.ts';
import { listenForInterrupt } from '../interrupt.ts';
import type { Terminal } from '../terminal.ts';

interface LogsFlags extends ClusterFlags {
  readonly follow: boolean;
  readonly timestamps?: boolean;
  readonly tail?: string;
}

export function addLogsCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('logs')
    .argument('<build>', 'id of the build, or name of its pod')
    .argument('<step>', 'name of the step, with its stage where it has one: test/unit')
    .description('Show the log of a step, and follow it until the step ends. Secrets in it are not masked.')
    .option('--no-follow', 'only what there is now')
    .option('--timestamps', 'with the time of each line, by the clock of the node')
    .option('--tail <lines>', 'only the last lines of what there is')
    .addHelpText('after', '\nExample:\n  podwright logs hello-world-1a2b3c4d test/unit --namespace builds\n');
  addConnectionOptions(command).action((name: string, step: string, flags: LogsFlags) =>
    withCluster(flags, async (connection) => {
      const build = await findBuild(connection.client, connection.namespace, name);
      await showLog(connection, build, findStep(build, step), flags, terminal);
    }),
  );
}

function findStep({ plan, id }: ClusterBuild, name: string): RecoveredContainer {
  const found = plan.containers.find((container) => container.name === name || container.containerName === name);
  if (found !== undefined) return found;
  const names = plan.containers.map((container) => container.name).join(', ');
  throw new PodwrightError('ERR_PODWRIGHT_NOT_FOUND', `the build "${id}" has no step "${name}"`, {
    remedy: `It has: ${names}.`,
  });
}

async function showLog(
  { client, namespace }: Connection,
  { pod, plan }: ClusterBuild,
  step: RecoveredContainer,
  flags: LogsFlags,
  terminal: Terminal,
): Promise<void> {
  const spec = pod.spec?.containers?.find((container) => container.name === step.containerName);
  // Before the step's own image is patched in, the log is the placeholder's.
  if (spec?.image !== undefined && isSameImage(spec.image, plan.placeholder.image)) {
    throw new PodwrightError('ERR_PODWRIGHT_STATE', `the step "${step.name}" has not started yet`, {
      remedy: 'Ask again later.',
    });
  }
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  try {
    const query = {
      follow: flags.follow,
      timestamps: flags.timestamps === true,
      ...(flags.tail === undefined ? {} : { tailLines: countOf(flags.tail) }),
    };
    const { body } = await client.openLog(namespace, pod.metadata.name, step.containerName, query, interrupt.signal);
    const decoder = new StringDecoder('utf8');
    for await (const chunk of body) terminal.out(decoder.write(Buffer.from(chunk)));
    terminal.out(decoder.end());
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw interrupt.signal.reason;
  } finally {
    interrupt.stop();
  }
}

function countOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no number of lines`, { remedy: 'Write --tail 100.' });
}
