/** The folders that stand for a container's file system, and the paths that lead into them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Container } from '../types.ts';
import type { StartRequest } from './backend.ts';

export interface Scratch {
  readonly workingDirectory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly terminationLog: string;
  /** The text with the container's mount paths replaced by the folders' paths. */
  readonly inside: (text: string) => string;
}

/** The folder for folders: their paths stand in scripts as they are, so each must be one word to any shell. */
export function scratchRoot(): string {
  return /^[\w./-]+$/.test(tmpdir()) ? tmpdir() : '/tmp';
}

/** Makes the folders of the pod (shared by its containers) and of the container. */
export async function prepareScratch(podDirectory: string, request: StartRequest): Promise<Scratch> {
  const { container, environment, volumes } = request;
  const own = join(podDirectory, 'containers', container.name);
  const work = join(podDirectory, 'work');
  const home = join(podDirectory, 'home');
  const temporary = join(own, 'tmp');
  for (const folder of [work, home, temporary]) await mkdir(folder, { recursive: true });
  const terminationLog = join(own, 'termination-log');
  const paths = new Map<string, string>();
  for (const { name, mountPath, subPath = '' } of container.volumeMounts ?? []) {
    const folder = join(podDirectory, 'volumes', name, subPath);
    await mkdir(folder, { recursive: true });
    await fill(join(podDirectory, 'volumes', name), volumes.get(name)?.files ?? new Map());
    paths.set(trimmed(mountPath), folder);
  }
  if (container.terminationMessagePath !== undefined) paths.set(container.terminationMessagePath, terminationLog);
  const inside = replacer(paths);
  const workingDirectory = await enter(container, own, work, paths);
  const given = Object.entries(environment).map(([name, value]) => [name, inside(value)]);
  return {
    workingDirectory,
    environment: { HOME: home, TMPDIR: temporary, ...Object.fromEntries(given) },
    terminationLog,
    inside,
  };
}

async function fill(folder: string, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  for (const [path, content] of files) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

/** A working directory outside all volumes is made below the container's own folder. */
async function enter(
  { workingDir }: Container,
  own: string,
  work: string,
  paths: ReadonlyMap<string, string>,
): Promise<string> {
  if (workingDir === undefined || workingDir === '') return work;
  const replaced = replacer(paths)(workingDir);
  const folder = replaced === workingDir ? join(own, 'root', workingDir) : replaced;
  await mkdir(folder, { recursive: true });
  return folder;
}

/** A path counts where nothing that could belong to a longer one stands before or after it. */
function replacer(paths: ReadonlyMap<string, string>): (text: string) => string {
  const longestFirst = [...paths.keys()].filter((path) => path !== '').sort((a, b) => b.length - a.length);
  if (longestFirst.length === 0) return (text) => text;
  const any = longestFirst.map((path) => path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const form = new RegExp(`(?<![A-Za-z0-9._~/})*-])(?:${any})(?![A-Za-z0-9._-])`, 'g');
  return (text) => text.replace(form, (path) => paths.get(path) ?? path);
}

function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : '';
}
