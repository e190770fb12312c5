/** Runs the real binary, as a user does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

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
  /** Resolves once either output matches: with the first group, or the whole match. */
  line(pattern: RegExp): Promise<string>;
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
  /** Flags of Node itself. */
  readonly nodeArgs?: readonly string[];
}

/** What a test that failed would leave behind. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

export function start(args: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(process.execPath, [...(options.nodeArgs ?? []), binary, ...args], {
    cwd: options.cwd,
    env: { ...environment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let out = '';
  let err = '';
  const watchers = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk;
    for (const watcher of watchers) watcher();
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
    for (const watcher of watchers) watcher();
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
  void ended.finally(() => running.delete(child)).catch(() => undefined);
  const until = <T>(what: string, find: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find();
        if (found === undefined) return;
        watchers.delete(look);
        resolve(found);
      };
      watchers.add(look);
      look();
      ended.then(() => reject(new Error(`ended without ${what}:\n${out}\n${err}`)), reject);
    });
  return {
    pid: child.pid ?? -1,
    ended,
    signal: (name) => void child.kill(name),
    stopReading: () => void child.stdout.destroy(),
    output: () => out,
    seen: async (text) => void (await until(`"${text}"`, () => (out.includes(text) ? true : undefined))),
    line: (pattern) =>
      until(String(pattern), () => {
        const match = pattern.exec(out) ?? pattern.exec(err);
        return match === null ? undefined : (match[1] ?? match[0]);
      }),
  };
}

/** That of the tests, without what would change the output: colours, the form for GitHub Actions, settings. */
export function environment(): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('PODWRIGHT_') && name !== 'FORCE_COLOR' && name !== 'GITHUB_ACTIONS',
  );
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
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

  /** A shell command that ends once the test has made the file. */
  untilMade(name: string): string {
    return `until test -e '${join(this.path, name)}'; do sleep 0.05; done`;
  }

  end(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
