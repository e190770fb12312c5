/** The flags of commands that watch a cluster. */
import type { Command } from 'commander';
import type { SeeingFlags } from './seeing-flags.ts';

/** For commands that only look: never the embedded cluster, and any namespace. */
export interface WatchedClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly allNamespaces?: boolean;
}

export type ServeFlags = WatchedClusterFlags & SeeingFlags;

export interface WatchFlags extends WatchedClusterFlags, SeeingFlags {
  readonly selector?: string;
  readonly forward?: boolean;
}

export function addWatchedCluster(command: Command): Command {
  return command
    .option('--kubeconfig <path>', 'kubeconfig file of the cluster to watch (default: as kubectl finds it)')
    .option('--context <name>', 'context of the kubeconfig to use')
    .option('-n, --namespace <name>', 'namespace to watch (default: that of the context)')
    .option('-A, --all-namespaces', 'watch all namespaces');
}
