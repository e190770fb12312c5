/** The flags that name a cluster, the same for every command that works on one. */
import { type Command, Option } from 'commander';
import { PodwrightError } from '../errors.ts';
import { placeholderImage } from '../image/placeholder.ts';
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
        'image that waits in place of each step, and the reserved exit code with which it ends on SIGTERM; ' +
          '"=entry" for an image that podwright placeholder made',
      ).argParser(parsePlaceholder),
    );
}

/** For commands on builds that a cluster has: never the embedded cluster. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option('--kubeconfig <path>', 'kubeconfig file of the cluster (default: as kubectl finds it)')
    .option('--context <name>', 'context of the kubeconfig to use')
    .option('-n, --namespace <name>', 'namespace of the builds (default: that of the context)');
}

/** `IMAGE`, `IMAGE=CODE` or `IMAGE=entry`. */
export function parsePlaceholder(text: string): PlaceholderOption {
  const equals = text.lastIndexOf('=');
  if (equals === -1) return text === placeholderImage.name ? { image: text, entry: true } : { image: text };
  if (text.slice(equals + 1) === 'entry') return { image: text.slice(0, equals), entry: true };
  const code = Number(text.slice(equals + 1));
  if (!Number.isInteger(code) || code < 1 || code > 255) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" has no exit code from 1 to 255 after "="`, {
      remedy: 'Write --placeholder IMAGE=CODE, such as --placeholder lab.local/placeholder213:1=213.',
    });
  }
  return { image: text.slice(0, equals), restartOn: code };
}
