/** The command: its sub-commands, and how each of their endings becomes an exit code. */
import { Command, CommanderError } from 'commander';
import { isPodwrightError } from '../errors.ts';
import { version } from '../version.ts';
import { addAdoptCommand } from './commands/adopt.ts';
import { addBuildsCommands } from './commands/builds.ts';
import { addClusterCommand } from './commands/cluster.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addLogsCommand } from './commands/logs.ts';
import { addPlaceholderCommand } from './commands/placeholder.ts';
import { addPlanCommand, addValidateCommand } from './commands/plan.ts';
import { addRecordCommand } from './commands/record.ts';
import { addReplayCommand } from './commands/replay.ts';
import { addRunCommand } from './commands/run.ts';
import { addServeCommand } from './commands/serve.ts';
import { addWatchCommand } from './commands/watch.ts';
import { addConfig } from './config.ts';
import { exitCodeOfError, exitCodes } from './exit-codes.ts';
import { printError, printFault } from './output/errors.ts';
import { processTerminal } from './terminal.ts';

const terminal = processTerminal();

const program = new Command('podwright')
  .description('Runs CI pipelines as Kubernetes pods, and never gives a false verdict.')
  .version(version)
  .showHelpAfterError('(podwright --help tells more)')
  .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) })
  .exitOverride();

addPlaceholderCommand(program, terminal);
addRunCommand(program, terminal);
addServeCommand(program, terminal);
addWatchCommand(program, terminal);
addPlanCommand(program, terminal);
addValidateCommand(program, terminal);
addBuildsCommands(program, terminal);
addLogsCommand(program, terminal);
addAdoptCommand(program, terminal);
addClusterCommand(program, terminal);
addDoctorCommand(program, terminal);
addRecordCommand(program, terminal);
addReplayCommand(program, terminal);
addCompletionCommand(program, terminal);
addConfig(program, terminal);

// Node's own exit code for these is 1, which here says that a build failed by its own doing.
process.on('uncaughtException', (error) => {
  printFault(terminal, error);
  process.exit(exitCodes.infrastructure);
});

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = exitCodeFor(error);
}

function exitCodeFor(error: unknown): number {
  // Help and version come as errors too, with the code 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (!isPodwrightError(error)) {
    printFault(terminal, error);
    return exitCodes.infrastructure;
  }
  printError(terminal, error);
  return exitCodeOfError(error);
}
