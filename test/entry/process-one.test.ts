// What entry promises as process 1 of a container: it waits whatever its arguments in the placeholder image, becomes the
// step elsewhere, and leaves its reports in the termination message.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { entryCodes, placeholderImage, readEntryReport } from '../../src/image/placeholder.ts';
import { findRunners, innerOf } from './runners.ts';

const native = findRunners().runners.find(({ emulator }) => emulator.length === 0);
const noNamespace = native === undefined ? 'no binary runs natively here' : whyNoNamespace();
if (noNamespace !== undefined) console.log(`skipped: entry as process 1 of a container, because ${noNamespace}`);

describe.skipIf(noNamespace !== undefined)('as process 1 of a container', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'entry-root-'));
    for (const name of ['dev', 'marks', 'bin']) mkdirSync(join(root, name));
    writeFileSync(
      join(root, 'dev/termination-log'),
      'older and longer than any report of this test will ever be '.repeat(20),
    );
    copyFileSync(native?.program ?? '', join(root, 'entry'));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const message = () => readFileSync(join(root, 'dev/termination-log'), 'utf8');
  const container = (...args: string[]) =>
    spawn('unshare', ['--map-root-user', '--pid', '--fork', '--kill-child', `--root=${root}`, '/entry', ...args]);

  test('in the placeholder image it waits whatever its arguments, even a command, and reports its end', async () => {
    writeFileSync(join(root, placeholderImage.markerPath), '');
    for (const args of [['run', '--mark', '/marks/m', '--', '/entry', 'walk'], [], ['nonsense', '--x'], ['wait']]) {
      const child = container(...args);
      process.kill(await innerOf(child), 'SIGTERM');
      expect((await once(child, 'close'))[0], args.join(' ')).toBe(entryCodes.placeholder);
      expect(readEntryReport(message())).toEqual({ kind: 'placeholder', text: 'ended by SIGTERM, no step ran' });
    }
    expect(readdirSync(join(root, 'marks'))).toEqual([]);
  });

  test('elsewhere it becomes the step, and its reports are the whole termination message', async () => {
    const ended = async (...args: string[]) => (await once(container(...args), 'close'))[0] as number;
    expect(await ended('run', '--mark', '/marks/m', '--', '/entry', 'walk')).toBe(entryCodes.usage);
    expect(readEntryReport(message())?.kind, 'written by the step, which is entry too').toBe('usage');
    expect(await ended('run', '--mark', '/marks/m', '--', '/entry', 'walk')).toBe(entryCodes.alreadyRan);
    expect(readEntryReport(message())?.kind).toBe('alreadyRan');
    expect(message().split('\n')).toHaveLength(2);
    expect(await ended('run', '--mark', '/marks/n', '--', 'sh')).toBe(entryCodes.notFound);
    expect(readEntryReport(message())?.kind).toBe('notFound');
  });
});

function whyNoNamespace(): string | undefined {
  const { status, stderr, error } = spawnSync('unshare', ['--map-root-user', '--pid', '--fork', 'true'], {
    encoding: 'utf8',
  });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}
