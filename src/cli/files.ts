/** Files that a user names: what keeps one from being read is told in words, not in codes. */
import { readFile } from 'node:fs/promises';
import { PodwrightError } from '../errors.ts';

/** Throws `ERR_PODWRIGHT_USAGE` with the remedy. */
export async function readUserFile(file: string, remedy: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot read ${file}: ${reasons[code] ?? code}`, {
      remedy,
      details: { file },
    });
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'you may not read it',
};
