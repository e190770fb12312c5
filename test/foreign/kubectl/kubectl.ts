/** One kubectl binary against one cluster: runs a command to its end, or beside others. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A command that has not ended by then is killed, and its scenario fails. */
const timeoutMs = 60_000;

export interface KubectlOptions {
  readonly binary: string;
  readonly kubeConfig: string;
  readonly namespace: string;
  /** Where discovery is kept between commands: one cluster's must not serve another. */
  readonly cacheDirectory: string;
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | string;
}

export class Kubectl {
  readonly options: KubectlOptions;

  constructor(options: KubectlOptions) {
    this.options = options;
  }

  /** `command` is split as a shell would, without expansions. */
  async run(command: string, stdin = ''): Promise<Ran> {
    const running = this.start(command, stdin);
    const timer = setTimeout(() => running.kill(), timeoutMs);
    const ran = await running.ended;
    clearTimeout(timer);
    return ran;
  }

  start(command: string, stdin = ''): Running {
    const { binary, kubeConfig, namespace, cacheDirectory } = this.options;
    const [verb = '', ...rest] = words(command);
    // After the verb, so that plugins and `--` separators keep their places.
    const own = [`--kubeconfig=${kubeConfig}`, `--cache-dir=${cacheDirectory}`];
    const scope = rest.some((word) => word === '-A' || word.startsWith('--kubeconfig')) ? [] : [`-n=${namespace}`];
    const given = rest.some((word) => word.startsWith('--kubeconfig')) ? own.slice(1) : own;
    const child = spawn(binary, [verb, ...scope, ...given, ...rest], {
      env: { PATH: process.env['PATH'] ?? '', HOME: cacheDirectory, TZ: 'UTC' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    return new Running(child, stdin);
  }
}

export class Running {
  readonly ended: Promise<Ran>;
  #stdout = '';
  #stderr = '';
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, stdin: string) {
    this.#child = child;
    child.stdout?.on('data', (bytes: Buffer) => {
      this.#stdout += bytes.toString();
    });
    child.stderr?.on('data', (bytes: Buffer) => {
      this.#stderr += bytes.toString();
    });
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(stdin);
    this.ended = once(child, 'close').then(([code, signal]) => ({
      stdout: this.#stdout,
      stderr: this.#stderr,
      code: (code as number | null) ?? String(signal),
    }));
  }

  /** Resolves once its output fits, or it has ended. Rejects after the time a command has. */
  async printed(pattern: RegExp): Promise<void> {
    const looked = new AbortController();
    const fits = new Promise<void>((resolve) => {
      const look = (): void => {
        if (pattern.test(this.#stdout)) resolve();
      };
      this.#child.stdout?.on('data', look);
      looked.signal.addEventListener('abort', () => this.#child.stdout?.off('data', look));
      look();
    });
    const never = sleep(timeoutMs, 'never', { signal: looked.signal }).catch(() => undefined);
    const first = await Promise.race([fits, this.ended, never]);
    looked.abort();
    if (first === 'never') throw new Error(`kubectl never printed ${pattern}, but: ${this.#stdout}${this.#stderr}`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** `1.32`, of the client. */
export async function minorOf(binary: string): Promise<string> {
  const { stdout } = await promisify(execFile)(binary, ['version', '--client', '-o', 'json']);
  const { clientVersion } = JSON.parse(stdout) as { clientVersion: { major: string; minor: string } };
  return `${clientVersion.major}.${clientVersion.minor.replace(/\D/g, '')}`;
}

function words(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
}
