/** The programs of `entry/bin` that this machine can run, and how one knows what they are at. */
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Runner {
  readonly name: string;
  readonly program: string;
  /** In front of the program: an emulator, where the machine is another. */
  readonly emulator: readonly string[];
}

/** The binaries this machine can run, and why not the others. */
export function findRunners(): { runners: Runner[]; reasons: string[] } {
  const architectures = { x64: 'amd64', arm64: 'arm64' };
  const emulators = { amd64: 'qemu-x86_64-static', arm64: 'qemu-aarch64-static' };
  const own = Object.entries(architectures).find(([name]) => name === process.arch)?.[1];
  const found: Runner[] = [];
  const reasons: string[] = [];
  for (const architecture of ['amd64', 'arm64'] as const) {
    const name = `entry-${architecture}`;
    const program = new URL(`../../entry/bin/${name}`, import.meta.url).pathname;
    const emulator = emulators[architecture];
    if (process.platform !== 'linux') reasons.push(`${name}, because this is ${process.platform}, not Linux`);
    else if (own === architecture) found.push({ name, program, emulator: [] });
    else if (pathOf(emulator) !== undefined) found.push({ name, program, emulator: [pathOf(emulator) ?? ''] });
    else reasons.push(`${name}, because this machine is ${process.arch} and ${emulator} is not here`);
  }
  return { runners: found, reasons };
}

function pathOf(program: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.map((folder) => join(folder, program)).find((file) => existsSync(file));
}

/** Waits until the child has printed the text. */
export async function said(child: ChildProcess, text: string): Promise<void> {
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(text)) resolve();
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    child.on('close', () => reject(new Error(`ended without "${text}": ${output}`)));
  });
}

/** Waits until the process is in its wait for signals. */
export function asleep(child: ChildProcess): Promise<void> {
  return eventually(`the sleep of ${child.pid}`, () => (isWaiting(`${child.pid}`) ? true : undefined)).then(
    () => undefined,
  );
}

/** The process that unshare started, once it waits. */
export function innerOf(child: ChildProcess): Promise<number> {
  return eventually(`the child of ${child.pid}`, () => {
    const inner = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
    return inner !== '' && isWaiting(inner) ? Number(inner) : undefined;
  });
}

/** The call of rt_sigtimedwait; nothing else that runs before it makes that call. */
function isWaiting(process_: string): boolean {
  const [call] = readFileSync(`/proc/${process_}/syscall`, 'utf8').split(' ');
  return call === (process.arch === 'arm64' ? '137' : '128');
}

async function eventually<T>(what: string, look: () => T | undefined): Promise<T> {
  for (let tries = 0; tries < 2000; tries++) {
    const found = look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`${what} never came`);
}
