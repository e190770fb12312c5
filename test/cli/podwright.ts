/** Runs the real binary, as a user does. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const binary = fileURLToPath(new URL('../../bin/podwright.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly pid: number;
  /** Resolves once the text was written to standard output. */
  seen(text: string): Promise<void>;
  /** What was written to standard output so far. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** Closes the reading end of standard output, as head does. */
  stopReading(): void;
  readonly ended: Promise<Ended>;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function start(args: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(process.execPath, [binary, ...args], {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: '1', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
    for (const watcher of watchers) watcher();
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
  return {
    pid: child.pid ?? -1,
    ended,
    signal: (name) => void child.kill(name),
    stopReading: () => void child.stdout.destroy(),
    output: () => out,
    seen: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!out.includes(text)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
        ended.then(() => reject(new Error(`ended without "${text}":\n${out}\n${err}`)), reject);
      }),
  };
}

export function podwright(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** The objects of `--output json`. */
export function jsonLines(out: string): readonly Readonly<Record<string, unknown>>[] {
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

/** A folder with files of a test; removed by `end`. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'podwright-test-'));

  file(name: string, text: string): string {
    const path = join(this.path, name);
    writeFileSync(path, text);
    return path;
  }

  end(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
