/** The outside world of the command line, in one object, so that commands can be run in tests. */
import { styleText } from 'node:util';
import { createLogUpdate } from 'log-update';

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
  /** Lines at the end of the output that are written anew; undefined where nothing can be. */
  openRegion(): LiveRegion | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export interface LiveRegion {
  /** Replaces what it showed. */
  update(text: string): void;
  /** Writes lines that stay, above the region. */
  print(text: string): void;
  /** Takes the region away and gives the cursor back. Idempotent. */
  close(): void;
}

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

/** The real one. */
export function processTerminal(): Terminal {
  const { stdout, stderr, env } = process;
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    isInteractive: stdout.isTTY === true && env['TERM'] !== 'dumb',
    width: () => stdout.columns || 80,
    onResize: (listener) => {
      stdout.on('resize', listener);
      return () => stdout.off('resize', listener);
    },
    style: (style, text) => styleText(style, text, { stream: stdout }),
    openRegion: () => (stdout.isTTY === true && env['TERM'] !== 'dumb' ? openRegion(stdout) : undefined),
    env,
    cwd: process.cwd(),
  };
}

function openRegion(stream: NodeJS.WriteStream): LiveRegion {
  const region = createLogUpdate(stream);
  let shown = '';
  return {
    update: (text) => {
      shown = text;
      region(text);
    },
    print: (text) => {
      // Not by `persist`, which puts line breaks into long lines: whoever copies one would get them too.
      region.clear();
      stream.write(text);
      if (shown !== '') region(shown);
    },
    close: () => {
      region.clear();
      region.done();
    },
  };
}
