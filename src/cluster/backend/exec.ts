/** A command run beside a container's own process: for hooks and probes. */
import { spawn } from 'node:child_process';
import { kill } from 'node:process';
import type { ExecResult } from './backend.ts';

export interface ExecRequest {
  readonly command: readonly string[];
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** More of the output is thrown away. */
const outputBytesMax = 10 * 1024;

export const notFoundCode = 126;

/** Never rejects. With the signal the command and all it started are killed. */
export function execProcess(request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
  const { workingDirectory, environment } = request;
  const [file = '', ...args] = request.command;
  const child = spawn(file, args, {
    cwd: workingDirectory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(0, outputBytesMax);
    });
  }
  const end = (): void => {
    if (child.pid === undefined) return;
    try {
      kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended, and all that it started.
    }
    child.stdout.destroy();
    child.stderr.destroy();
  };
  return new Promise((resolve) => {
    const settle = (result: ExecResult): void => {
      signal.removeEventListener('abort', end);
      resolve(result);
    };
    child.once('error', (error) => settle({ exitCode: notFoundCode, output: execFailed(file, error.message) }));
    child.once('close', (code) => settle({ exitCode: code ?? 137, output }));
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

export function execFailed(file: string, why: string): string {
  return `OCI runtime exec failed: exec failed: unable to start container process: exec: "${file}": ${why}: unknown`;
}
