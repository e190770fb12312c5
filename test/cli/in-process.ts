/** Runs the command in this process: for what starts nothing and touches no cluster. */
import { CommanderError } from 'commander';
import { exitCodeOfError, exitCodes } from '../../src/cli/exit-codes.ts';
import { errorText } from '../../src/cli/output/errors.ts';
import { createProgram } from '../../src/cli/program.ts';
import { isPodwrightError } from '../../src/errors.ts';
import { testTerminal } from './test-terminal.ts';

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function inProcess(...args: readonly string[]): Promise<Said> {
  const terminal = testTerminal();
  const before = process.exitCode;
  process.exitCode = 0;
  let code: number;
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    code = Number(process.exitCode);
  } catch (error) {
    if (error instanceof CommanderError) code = error.exitCode === 0 ? 0 : exitCodes.usage;
    else if (isPodwrightError(error)) {
      terminal.err(errorText(error, terminal));
      code = exitCodeOfError(error);
    } else throw error;
  } finally {
    process.exitCode = before;
  }
  return { code, ...terminal.said };
}
