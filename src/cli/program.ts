/** The whole command: every sub-command, its flags and its help. */
import { Command } from 'commander';
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
import type { Terminal } from './terminal.ts';

/** Errors are thrown, help and version too (as `CommanderError` with exit code 0). */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('podwright')
    .description('Runs CI pipelines as Kubernetes pods, and never gives a false verdict.')
    .version(version)
    .showHelpAfterError('(podwright --help tells more)')
    .configureOutput({ writeOut: (text) => terminal.out(text), writeErr: (text) => terminal.err(text) })
    .exitOverride();

  addRunCommand(program, terminal);
  addValidateCommand(program, terminal);
  addPlanCommand(program, terminal);
  addBuildsCommands(program, terminal);
  addLogsCommand(program, terminal);
  addAdoptCommand(program, terminal);
  addServeCommand(program, terminal);
  addWatchCommand(program, terminal);
  addRecordCommand(program, terminal);
  addReplayCommand(program, terminal);
  addDoctorCommand(program, terminal);
  addClusterCommand(program, terminal);
  addPlaceholderCommand(program, terminal);
  addCompletionCommand(program, terminal);
  addConfig(program, terminal);
  return program;
}
