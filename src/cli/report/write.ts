/** `--report KIND=FILE`: which reports are asked for, and their files. */
import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { PodwrightError } from '../../errors.ts';
import { htmlReport } from './html.ts';
import { junitXml } from './junit.ts';
import type { BuildRecord } from './record.ts';

const kinds: Readonly<Record<string, (record: BuildRecord) => string>> = { junit: junitXml, html: htmlReport };

export interface ReportRequest {
  readonly kind: string;
  readonly file: string;
}

/** Throws `ERR_PODWRIGHT_USAGE`, before anything runs. */
export function parseReport(text: string): ReportRequest {
  const [, kind = '', file = ''] = /^([^=]*)=(.+)$/.exec(text) ?? [];
  if (Object.hasOwn(kinds, kind) && file !== '') return { kind, file };
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no report`, {
    remedy: `Write --report KIND=FILE, with KIND one of ${Object.keys(kinds).join(', ')}.`,
  });
}

/** Before anything runs: a report that cannot be written shall not be what a build ends with. */
export async function checkReports(requests: readonly ReportRequest[], cwd: string): Promise<void> {
  for (const { file } of requests) {
    await toFile(file, cwd, async (path) => {
      const known = await stat(path).catch(() => undefined);
      if (known?.isDirectory() === true) throw new Error('it is a folder');
      await access(known === undefined ? dirname(path) : path, constants.W_OK);
    });
  }
}

export async function writeReports(
  requests: readonly ReportRequest[],
  record: BuildRecord,
  cwd: string,
): Promise<void> {
  for (const { kind, file } of requests) {
    await toFile(file, cwd, (path) => writeFile(path, kinds[kind]?.(record) ?? ''));
  }
}

/** Makes the folder of the file first. */
async function toFile(file: string, cwd: string, write: (path: string) => Promise<void>): Promise<void> {
  const path = resolve(cwd, file);
  try {
    await mkdir(dirname(path), { recursive: true });
    await write(path);
  } catch (error) {
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot write the report ${file}: ${String(error)}`, {
      cause: error,
      remedy: 'Name a file in a folder that can be written.',
    });
  }
}
