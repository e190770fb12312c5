/** The outside world of the command line, in one object, so that commands can be run in tests. */
import { styleText } from 'node:util';

export interface Terminal {
  /** Results: what a pipe gets. */
  out(text: string): void;
  /** Messages for the person: errors, warnings. */
  err(text: string): void;
  /** Whether `out` goes to a terminal whose lines can be rewritten. */
  readonly isInteractive: boolean;
  /** Columns of the terminal now; 80 when unknown. */
  width(): number;
  /** Calls back when the size changes; gives back how to end it. */
  onResize(listener: () => void): () => void;
  /** In colour where the user wants it: on a terminal, unless NO_COLOR says otherwise. */
  style(style: Style, text: string): string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

/** The real one. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isInteractive: stdout.isTTY === true && env['TERM'] !== 'dumb',
    width: () => stdout.columns ?? 80,
    onResize: (listener) => {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    env,
    cwd: process.cwd(),
  };
}
