/** The flags that name a cluster, the same for every command that works on one. */
import { type Command, Option } from 'commander';
import { PodwrightError } from '../errors.ts';
import type { PlaceholderOption } from '../pod/start-strategy.ts';

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly placeholder?: PlaceholderOption;
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
