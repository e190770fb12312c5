/** An error, as a person reads it: what went wrong, with what, and what to do. */
import { isPodwrightError, type PodwrightError } from '../../errors.ts';
import type { Terminal } from '../terminal.ts';

export function printError(terminal: Terminal, error: PodwrightError): void {
  terminal.err(`${errorText(error, terminal)}\n`);
}

/** An error that is none of ours is a fault of podwright itself: it is shown with its stack. */
export function printFault(terminal: Terminal, error: unknown): void {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err(`podwright has a fault, please report it: ${stack}\n`);
}

export function errorText(error: PodwrightError, { style }: Pick<Terminal, 'style'>): string {
  const lines = [`${style('red', 'error:')} ${error.message}`];
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    // A cause whose words are in the message already says nothing new.
    if (!error.message.includes(cause.message)) lines.push(`  because: ${cause.message}`);
    if (isPodwrightError(cause) && error.remedy === undefined && cause.remedy !== undefined)
      lines.push(`  ${cause.remedy}`);
  }
  if (error.remedy !== undefined) lines.push(`  ${error.remedy}`);
  return lines.join('\n');
}
