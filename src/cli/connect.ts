/** Where a command works: a cluster of the user's, or the embedded one for as long as the command lasts. */

import type { Command } from 'commander';
import { Option } from 'commander';
import { PodwrightError } from '../errors.ts';
import { connect, type KubeClient } from '../kube/client.ts';
import type { PlaceholderOption } from '../pod/start-strategy.ts';

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly placeholder?: PlaceholderOption;
}

export interface Connection {
  readonly client: KubeClient;
  /** For people. */
  readonly cluster: string;
  readonly isEmbedded: boolean;
  readonly namespace: string;
  readonly warnings: readonly string[];
  /** Ends the embedded cluster too. */
  close(): Promise<void>;
}

/** The flags that every command on a cluster has. */
export function addClusterOptions(command: Command): Command {
  return command
    .option('--kubeconfig <path>', 'kubeconfig file of the cluster to use')
    .option('--context <name>', 'context of the kubeconfig to use')
    .option('-n, --namespace <name>', 'namespace of the pods (default: that of the context)')
    .addOption(
      new Option(
        '--placeholder <image[=code]>',
        'image that waits in place of each step, and the reserved exit code with which it ends on SIGTERM',
      ).argParser(parsePlaceholder),
    );
}

/**
 * Connects, and proves it by asking for the version. Without kubeconfig and context the embedded cluster is started.
 * Throws what `connect` throws, or `ERR_PODWRIGHT_CLUSTER_UNREACHABLE` and its kin with the first request.
 */
export async function openCluster(flags: ClusterFlags, onWarning: (text: string) => void): Promise<Connection> {
  if (flags.kubeconfig === undefined && flags.context === undefined) return openEmbedded(flags, onWarning);
  const client = await connect({
    ...(flags.kubeconfig === undefined ? {} : { kubeConfig: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  const namespace = flags.namespace ?? client.namespace ?? 'default';
  return { client, cluster: client.server, isEmbedded: false, namespace, warnings: [], close: () => client.close() };
}

async function openEmbedded(flags: ClusterFlags, onWarning: (text: string) => void): Promise<Connection> {
  const { startCluster } = await import('../cluster/index.ts');
  const namespace = flags.namespace ?? 'default';
  const placeholders = flags.placeholder === undefined ? [] : [embeddedPlaceholder(flags.placeholder)];
  const cluster = await startCluster({ placeholders, namespaces: [namespace], onWarning });
  const client = await connect({ kubeConfig: cluster.kubeConfig });
  return {
    client,
    cluster: 'embedded cluster (no --kubeconfig or --context given)',
    isEmbedded: true,
    namespace,
    warnings: cluster.warnings,
    close: async () => {
      await client.close();
      await cluster.stop();
    },
  };
}

function embeddedPlaceholder({ image, restartOn = 0 }: PlaceholderOption) {
  return { image, exitCode: restartOn };
}

/** `IMAGE` or `IMAGE=CODE`. */
export function parsePlaceholder(text: string): PlaceholderOption {
  const equals = text.lastIndexOf('=');
  if (equals === -1) return { image: text };
  const code = Number(text.slice(equals + 1));
  if (!Number.isInteger(code) || code < 1 || code > 255) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" has no exit code from 1 to 255 after "="`, {
      remedy: 'Write --placeholder IMAGE=CODE, such as --placeholder lab.local/placeholder213:1=213.',
    });
  }
  return { image: text.slice(0, equals), restartOn: code };
}
