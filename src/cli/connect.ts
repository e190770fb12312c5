/** Where a command works: a cluster of the user's, or the embedded one for as long as the command lasts. */

import type { PlaceholderImage } from '../cluster/index.ts';
import { isPodwrightError } from '../errors.ts';
import { connect, type KubeClient } from '../kube/client.ts';
import type { PlaceholderOption } from '../pod/start-strategy.ts';
import type { ClusterFlags } from './cluster-flags.ts';

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

/** Without kubeconfig and context the embedded cluster is started. Throws what `connect` throws. */
export async function openCluster(flags: ClusterFlags, onWarning: (text: string) => void): Promise<Connection> {
  const isNamed = flags.kubeconfig !== undefined || flags.context !== undefined;
  if (!isNamed) return openEmbedded(flags, onWarning);
  return openNamed(flags);
}

/**
 * Connects to the cluster of the flags, or else the one kubectl would use, for as long as the work lasts, and proves it
 * before the work: `kubernetes` is its version.
 */
export function withCluster<T>(
  flags: ClusterFlags,
  work: (connection: Connection, kubernetes: string) => Promise<T>,
): Promise<T> {
  return withConnection(flags, async (connection) => await work(connection, await firstContact(connection.client)));
}

/** As `withCluster`, for work that asks by itself whether there is a cluster. */
export async function withConnection<T>(flags: ClusterFlags, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await openNamed(flags);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** A person waits: a server that does not answer is told soon. */
const firstContactMs = 5_000;

/**
 * Gives the version, such as `v1.36.3`. Throws `ERR_PODWRIGHT_CLUSTER_UNREACHABLE` and its kin; a server that keeps its
 * version to itself has answered all the same.
 */
export async function firstContact(client: Pick<KubeClient, 'version'>, signal?: AbortSignal): Promise<string> {
  try {
    const options = { retryForMs: firstContactMs, ...(signal === undefined ? {} : { signal }) };
    return (await client.version(options)).gitVersion;
  } catch (error) {
    if (isPodwrightError(error, 'ERR_PODWRIGHT_FORBIDDEN')) return 'of an unknown version';
    throw error;
  }
}

async function openNamed(flags: ClusterFlags): Promise<Connection> {
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

function embeddedPlaceholder({ image, restartOn = 0 }: PlaceholderOption): PlaceholderImage {
  return { image, exitCode: restartOn };
}
