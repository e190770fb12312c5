/** `podwright watch`: tells when containers that can be debugged start and end, in any pods, and forwards their ports. */
import type { Command } from 'commander';
import { addSeeingOptions } from '../seeing-flags.ts';
import type { Terminal } from '../terminal.ts';
import { addWatchedCluster, type WatchFlags } from '../watched-cluster-flags.ts';

export function addWatchCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('watch')
    .description('Tell what a debugger can attach to in the pods of a cluster, as it starts and ends.')
    .option('-l, --selector <labels>', 'only pods with these labels, such as app=web')
    .option('--forward', 'forward a local port to each debug port')
    .addHelpText('after', help);
  addSeeingOptions(addWatchedCluster(command)).action(async (flags: WatchFlags) => {
    const { watchDebugging } = await import('../watch-debugging.ts');
    process.exitCode = await watchDebugging(flags, terminal);
  });
}

const help = `
A container can be debugged when its pod has the annotation debug.cloud.google.com/config and that names it. With
--events-port the same is served as Skaffold serves it, for editors that know Skaffold.

Examples:
  podwright watch --selector app=web --forward
  podwright watch --all-namespaces --events-port 50052
`;
