/** `podwright cluster`: the embedded cluster on its own, for kubectl and for tools that take a kubeconfig. */
import { type Command, Option } from 'commander';
import { PodwrightError } from '../../errors.ts';
import { listenForInterrupt } from '../interrupt.ts';
import type { Terminal } from '../terminal.ts';

interface ClusterCommandFlags {
  readonly port: number;
  readonly profile?: '1.31' | '1.34' | '1.35' | '1.36' | '1.37';
  readonly placeholder?: readonly string[];
}

export function addClusterCommand(program: Command, terminal: Terminal): void {
  program
    .command('cluster')
    .description('Start the embedded cluster, print the path of its kubeconfig, and keep it until interrupted.')
    .addOption(new Option('--port <number>', 'port to listen on, 0 for a free one').argParser(parsePort).default(0))
    .addOption(
      new Option('--profile <version>', 'Kubernetes version to stand for').choices([
        '1.31',
        '1.34',
        '1.35',
        '1.36',
        '1.37',
      ]),
    )
    .addHelpText('after', clusterHelp)
    .action((flags: ClusterCommandFlags) => runCluster(flags, terminal));
}

const clusterHelp = `
What runs on it are local processes, unisolated and without their images. Anyone who can reach the port on this
machine can run commands as this user.

Example:
  podwright cluster            prints /tmp/…/kubeconfig
  kubectl --kubeconfig /tmp/…/kubeconfig get pods
`;

async function runCluster({ port, profile }: ClusterCommandFlags, terminal: Terminal): Promise<void> {
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  try {
    const { startCluster } = await import('../../cluster/index.ts');
    const cluster = await startCluster({
      port,
      ...(profile === undefined ? {} : { profile }),
      onWarning: (warning) => terminal.err(`warning: ${warning}\n`),
    });
    terminal.out(`${cluster.kubeConfig}\n`);
    terminal.err(`The embedded cluster listens on ${cluster.url}. Interrupt to end it.\n`);
    if (!interrupt.signal.aborted) {
      await new Promise((resolve) => interrupt.signal.addEventListener('abort', resolve, { once: true }));
    }
    await cluster.stop();
  } finally {
    interrupt.stop();
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no port`, {
    remedy: 'Write a number from 0 to 65535.',
  });
}
