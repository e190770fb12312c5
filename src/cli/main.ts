/** The command: its sub-commands, and how each of their endings becomes an exit code. */
import { CommanderError } from 'commander';
import { isPodwrightError } from '../errors.ts';
import { exitCodeOfError, exitCodes } from './exit-codes.ts';
import { isInterrupted } from './interrupt.ts';
import { printError, printFault } from './output/errors.ts';
import { createProgram } from './program.ts';
import { processTerminal } from './terminal.ts';

const terminal = processTerminal();

// Node's own exit code for these is 1, which here says that a build failed by its own doing.
process.on('uncaughtException', (error) => {
  printFault(terminal, error);
  process.exit(exitCodes.infrastructure);
});

// Whoever read the output is gone, as head is after its lines: what is under way ends as by Ctrl-C, and quietly.
let isReaderGone = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (isReaderGone) return;
  isReaderGone = true;
  if (!process.emit('SIGHUP', 'SIGHUP')) process.exit(exitCodes.succeeded);
});

try {
  await createProgram(terminal).parseAsync(process.argv);
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
  if (!(isReaderGone && isInterrupted(error))) printError(terminal, error);
  return exitCodeOfError(error);
}
