/**
 * A folder as a compressed archive, and back, with the system's `tar`.
 *
 * In a git repository the archive holds what git would not ignore, changed and new files among them; elsewhere all.
 */
import { spawn } from 'node:child_process';
import { access, mkdir, readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PodwrightError } from '../errors.ts';

/** Writes the archive and gives the number of files in it. Throws `ERR_PODWRIGHT_USAGE` for a folder that cannot be read. */
export async function packFolder(folder: string, archive: string): Promise<number> {
  const files = await sourceFiles(folder);
  const list = files.map((file) => `${file}\0`).join('');
  await runTool('tar', ['-czf', archive, '-C', folder, '--null', '-T', '-'], list);
  return files.length;
}

/** Puts the files of an archive, compressed or not, into a folder, which is made. */
export async function unpackInto(archive: string, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await runTool('tar', ['-xf', archive, '-C', folder], '');
}

/** Relative paths, sorted. */
export async function sourceFiles(folder: string): Promise<readonly string[]> {
  const tracked = await gitFiles(folder);
  return (tracked ?? (await allFiles(folder))).toSorted();
}

/** Undefined outside of a repository. What was deleted and not yet committed is not there to be packed. */
async function gitFiles(folder: string): Promise<readonly string[] | undefined> {
  let output: string;
  try {
    output = await runTool('git', ['-C', folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], '');
  } catch (error) {
    if (error instanceof PodwrightError) return undefined;
    throw error;
  }
  const files = [...new Set(output.split('\0').filter((file) => file !== ''))];
  const isThere = await Promise.all(
    files.map((file) =>
      access(join(folder, file)).then(
        () => true,
        () => false,
      ),
    ),
  );
  return files.filter((_, index) => isThere[index] === true);
}

async function allFiles(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
  } catch (error) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot read the folder ${folder}: ${String(error)}`, {
      remedy: 'Name the folder that holds the sources: --workspace DIR.',
    });
  }
}

/** Gives the standard output. */
function runTool(tool: string, args: readonly string[], input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(tool, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    // A tool that ends early is told by its exit code.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    child.on('error', (cause) => reject(failure(tool, cause.message, cause)));
    child.on('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output).toString('utf8'));
      else reject(failure(tool, said.trim() || `exit code ${code}`));
    });
  });
}

function failure(tool: string, message: string, cause?: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_USAGE', `${tool}: ${message}`, {
    ...(cause === undefined ? {} : { cause }),
    remedy: `Look whether ${tool} is installed and the folder can be read.`,
  });
}
