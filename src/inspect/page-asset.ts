/**
 * The inspector page as the server sends it. In the package it is a file that was built before; in a checkout it is
 * built at the first request, in a second or two, so that it is never older than the machines it draws.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PodwrightError } from '../errors.ts';

export interface PageAsset {
  readonly html: string;
  /** The Content-Security-Policy that the page itself carries. */
  readonly policy: string;
}

/** Throws `ERR_PODWRIGHT_CONFIG` when there is neither a built page nor what builds it. */
export function loadPage(): Promise<PageAsset> {
  loading ??= load().catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

let loading: Promise<PageAsset> | undefined;

async function load(): Promise<PageAsset> {
  const built = new URL('inspector.html', import.meta.url);
  const html = existsSync(built) ? await readFile(built, 'utf8') : await build();
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1];
  if (policy === undefined)
    throw new PodwrightError('ERR_PODWRIGHT_ASSERTION', 'the inspector page carries its policy');
  return { html, policy };
}

/** In a process of its own: a bundler neither holds up the builds of this one nor changes its environment. */
async function build(): Promise<string> {
  const builder = fileURLToPath(new URL('page/build.ts', import.meta.url));
  if (!existsSync(builder)) throw missing(`there is no ${builder}`);
  const folder = await mkdtemp(join(tmpdir(), 'podwright-inspector-'));
  try {
    const out = join(folder, 'inspector.html');
    await promisify(execFile)(process.execPath, [builder, out]);
    return await readFile(out, 'utf8');
  } catch (error) {
    throw missing('its build failed', error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function missing(why: string, cause?: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `The inspector page cannot be had: ${why}`, {
    cause,
    remedy: 'In a checkout run npm ci with its development dependencies; a package brings the page with it.',
  });
}
