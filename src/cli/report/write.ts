/** `--report KIND=FILE`: which reports are asked for, and their files. */
import { mkdir, writeFile } from 'node:fs/promises';
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
  if (kinds[kind] !== undefined && file !== '') return { kind, file };
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no report`, {
    remedy: `Write --report KIND=FILE, with KIND one of ${Object.keys(kinds).join(', ')}.`,
  });
}

export async function writeReports(
  requests: readonly ReportRequest[],
  record: BuildRecord,
  cwd: string,
): Promise<void> {
  for (const { kind, file } of requests) {
    const path = resolve(cwd, file);
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, kinds[kind]?.(record) ?? '');
    } catch (error) {
      throw new PodwrightError('ERR_PODWRIGHT_USAGE', `cannot write the report ${file}: ${String(error)}`, {
        cause: error,
        remedy: 'Name a file in a folder that can be written.',
      });
    }
  }
}
