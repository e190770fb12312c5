/** `podwright serve`: the build pods of a cluster, shown as they live, whoever runs them. */
import type { Command } from 'commander';
import { addSeeingOptions } from '../seeing-flags.ts';
import type { Terminal } from '../terminal.ts';
import { addWatchedCluster, type ServeFlags } from '../watched-cluster-flags.ts';

export function addServeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('serve')
    .description('Serve the inspector, events, state and metrics of the builds on a cluster.')
    .addHelpText('after', help);
  addSeeingOptions(addWatchedCluster(command)).action(async (flags: ServeFlags) => {
    const { serveBuilds } = await import('../serve-builds.ts');
    process.exitCode = await serveBuilds(flags, terminal);
  });
}

const help = `
It only looks: two watches, and the logs that somebody opens. It needs the rights to list and watch pods and events,
and to get pods/log. Secrets in logs are shown as they are: only the worker that runs a build knows them.

Examples:
  podwright serve --namespace builds
  podwright serve --all-namespaces --events-port 50052
  curl -N http://127.0.0.1:50052/v1/events
`;
