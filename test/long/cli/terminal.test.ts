// On a real terminal (a pseudo-terminal of util-linux' `script`): progress is drawn, and the cursor is back at the end,
// whichever way a build ends.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { environment, Folder } from '../../cli/podwright.ts';

const folder = new Folder();
afterAll(() => folder.end());
const binary = fileURLToPath(new URL('../../../bin/podwright.js', import.meta.url));
const hideCursor = '\u001b[?25l';
const showCursor = '\u001b[?25h';

/** Runs the command on a terminal of its own; `keys` are pressed when the text is seen. */
function onTerminal(
  args: string,
  keys?: { readonly after: string; readonly press: string },
): Promise<{ code: number | null; screen: string }> {
  return new Promise((resolve, reject) => {
    const command = `stty cols 100 rows 30; ${process.execPath} ${binary} ${args}`;
    const child = spawn('script', ['-qefc', command, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...environment(), TERM: 'xterm' },
    });
    let screen = '';
    let pressed = false;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      screen += chunk;
      if (pressed || keys === undefined || !screen.includes(keys.after)) return;
      pressed = true;
      child.stdin.write(keys.press);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, screen }));
  });
}

describe('on a terminal', { timeout: 60_000 }, () => {
  const short = folder.file('short.yml', 'steps: [{ name: s, image: alpine, commands: ["sleep 1", "exit 3"] }]\n');
  const long = folder.file(
    'long.yml',
    'steps: [{ name: s, image: alpine, commands: ["echo begun", "exec sleep 600"] }]\n',
  );

  test('a build that fails', async () => {
    const { code, screen } = await onTerminal(`run ${short}`);
    expect(code).toBe(1);
    expect(screen).toMatch(/0 of 1 steps, [0-9.]+ s/);
    expect(screen).toContain('Build failed after');
    expect(screen).toContain(hideCursor);
    expect(screen.lastIndexOf(showCursor)).toBeGreaterThan(screen.lastIndexOf(hideCursor));
    // The summary is below everything that was drawn anew.
    expect(screen.lastIndexOf('of 1 steps,')).toBeLessThan(screen.lastIndexOf('Summary'));
  });

  test('a line that is longer than the terminal is wide stays one line', async () => {
    const line = 'x'.repeat(250);
    const wide = folder.file('wide.yml', `steps: [{ name: s, image: alpine, commands: ["echo ${line}"] }]\n`);
    const { code, screen } = await onTerminal(`run ${wide}`);
    expect(code).toBe(0);
    expect(screen).toContain(`[s] ${line}\r\n`);
  });

  test('Ctrl-C', async () => {
    const { code, screen } = await onTerminal(`run ${long}`, { after: '[s] begun', press: '\u0003' });
    expect(code).toBe(130);
    expect(screen).toContain('Build canceled after');
    expect(screen.lastIndexOf(showCursor)).toBeGreaterThan(screen.lastIndexOf(hideCursor));
  });

  test('a broken file', async () => {
    const { code, screen } = await onTerminal(`run ${folder.file('broken.yml', 'steps: 3\n')}`);
    expect(code).toBe(2);
    expect(screen.lastIndexOf(showCursor)).toBeGreaterThanOrEqual(screen.lastIndexOf(hideCursor));
  });
});
