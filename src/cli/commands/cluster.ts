/** `podwright cluster`: the embedded cluster on its own, for kubectl and for tools that take a kubeconfig. */
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { parse } from 'yaml';
import type { ClusterOptions, FaultRule, ProfileName } from '../../cluster/index.ts';
import { PodwrightError } from '../../errors.ts';
import { readUserFile } from '../files.ts';
import { listenForInterrupt } from '../interrupt.ts';
import type { Terminal } from '../terminal.ts';

interface ClusterCommandFlags {
  readonly port: number;
  readonly profile?: ProfileName;
  readonly backend: 'process' | 'scripted';
  readonly faults?: string;
  readonly seed?: number;
}

const profiles = ['1.31', '1.34', '1.35', '1.36', '1.37'];

export function addClusterCommand(program: Command, terminal: Terminal): void {
  program
    .command('cluster')
    .description('Start the embedded cluster, print the path of its kubeconfig, and keep it until interrupted.')
    .addOption(new Option('--port <number>', 'port to listen on, 0 for a free one').argParser(parsePort).default(0))
    .addOption(new Option('--profile <version>', 'Kubernetes version to stand for').choices(profiles))
    .addOption(
      new Option('--backend <name>', 'process: steps run as local processes; scripted: images of the lab are played')
        .choices(['process', 'scripted'])
        .default('process'),
    )
    .option('--faults <file>', 'YAML or JSON file of faults: what goes wrong, for which requests, how often')
    .addOption(new Option('--seed <number>', 'source of all chance, to repeat a run').argParser(parseSeed))
    .addHelpText('after', clusterHelp)
    .action((flags: ClusterCommandFlags) => runCluster(flags, terminal));
}

const clusterHelp = `
With the process back-end, what runs on it are local processes, unisolated and without their images. Anyone who can
reach the port on this machine can run commands as this user.

Faults can also be added and removed while it runs: see docs/cluster.md.

Example:
  podwright cluster            prints "kubeconfig: /tmp/…/kubeconfig"
  kubectl --kubeconfig /tmp/…/kubeconfig get pods
`;

async function runCluster(flags: ClusterCommandFlags, terminal: Terminal): Promise<void> {
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  try {
    const { startCluster } = await import('../../cluster/index.ts');
    const cluster = await startCluster(await clusterOptions(flags, terminal));
    terminal.out(`kubeconfig: ${cluster.kubeConfig}\n`);
    terminal.err(`The embedded cluster listens on ${cluster.url}. Interrupt to end it.\n`);
    if (!interrupt.signal.aborted) {
      await new Promise((end) => interrupt.signal.addEventListener('abort', end, { once: true }));
    }
    await cluster.stop();
  } finally {
    interrupt.stop();
  }
}

async function clusterOptions(
  { port, profile, backend, faults, seed }: ClusterCommandFlags,
  terminal: Terminal,
): Promise<ClusterOptions> {
  const { labImages, labLives } = await import('../../cluster/index.ts');
  const { PATH: path } = terminal.env;
  return {
    port,
    backend,
    ...(profile !== undefined && { profile }),
    ...(seed !== undefined && { seed }),
    ...(faults !== undefined && { faults: await readFaults(resolve(terminal.cwd, faults)) }),
    ...(backend === 'scripted' && { images: labImages(), lives: labLives() }),
    ...(path !== undefined && { path }),
    onWarning: (warning) => terminal.err(`warning: ${warning}\n`),
  };
}

async function readFaults(file: string): Promise<readonly FaultRule[]> {
  const { parseFaultRules } = await import('../../cluster/index.ts');
  const text = await readUserFile(file, 'Name a YAML or JSON file with a list of faults.');
  try {
    return parseFaultRules(parse(text));
  } catch (error) {
    const isOurs = error instanceof PodwrightError;
    throw new PodwrightError(
      'ERR_PODWRIGHT_USAGE',
      `${file}: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
        remedy: (isOurs ? error.remedy : undefined) ?? 'Correct the YAML.',
        details: { file },
      },
    );
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no port`, {
    remedy: 'Write a number from 0 to 65535.',
  });
}

function parseSeed(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no seed`, { remedy: 'Write a whole number.' });
}
