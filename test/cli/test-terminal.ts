/** A terminal whose words can be read. */
import { tmpdir } from 'node:os';
import type { LiveRegion, Terminal } from '../../src/cli/terminal.ts';

export interface TestTerminal extends Terminal {
  readonly said: { out: string; err: string };
  /** What the live region showed, one text for each time it was written; undefined in the list when it was taken away. */
  readonly shown: (string | undefined)[];
}

export function testTerminal(
  options: { readonly interactive?: boolean; readonly env?: Terminal['env']; readonly width?: number } = {},
): TestTerminal {
  const said = { out: '', err: '' };
  const shown: (string | undefined)[] = [];
  const out = (text: string): void => {
    said.out += text;
  };
  const region: LiveRegion = {
    update: (text) => void shown.push(text),
    print: out,
    close: () => void shown.push(undefined),
  };
  return {
    said,
    shown,
    out,
    err: (text) => {
      said.err += text;
    },
    isInteractive: options.interactive === true,
    width: () => options.width ?? 80,
    onResize: () => () => undefined,
    style: (_, text) => text,
    openRegion: () => (options.interactive === true ? region : undefined),
    env: options.env ?? {},
    cwd: tmpdir(),
  };
}
