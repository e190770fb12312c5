/** The kubeconfig as client-node reads it, for what only client-node does: commands and forwards over WebSockets. */
import type { KubeConfig } from '@kubernetes/client-node';
import { PodwrightError } from '../errors.ts';
import type { ClusterFlags } from './cluster-flags.ts';

/** Throws `ERR_PODWRIGHT_CONFIG` when it cannot be used; `purpose` completes "cannot be used to …". */
export async function stockConfig(
  flags: Pick<ClusterFlags, 'kubeconfig' | 'context'>,
  purpose: string,
): Promise<KubeConfig> {
  const client = await import('@kubernetes/client-node');
  const config = new client.KubeConfig();
  try {
    if (flags.kubeconfig === undefined) config.loadFromDefault();
    else config.loadFromFile(flags.kubeconfig);
    if (flags.context !== undefined) config.setCurrentContext(flags.context);
  } catch (cause) {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `The kubeconfig cannot be used to ${purpose}`, { cause });
  }
  return config;
}
