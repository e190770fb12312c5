/** The log of one container: order, selection, following, rotation. */
import { describe, expect, test } from 'vitest';
import type { LogOptions } from '../../../src/cluster/api/context.ts';
import { ContainerLog } from '../../../src/cluster/kubelet/container-log.ts';

const all: LogOptions = { follow: false, previous: false, timestamps: false };
const secondNs = 1_000_000_000n;

/** Lines a second apart, from the epoch on. */
function aLog(...lines: readonly string[]): ContainerLog {
  let now = 0n;
  const log = new ContainerLog(() => {
    now += secondNs;
    return now;
  });
  for (const line of lines) log.write(Buffer.from(line));
  return log;
}

async function read(
  log: ContainerLog,
  options: Partial<LogOptions> = {},
  signal = new AbortController().signal,
): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of log.read({ ...all, ...options }, 10_000, signal)) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe('what is read', () => {
  const lines = ['one\n', 'two\n', 'three\n', 'four'];

  test.each<[string, Partial<LogOptions>, string]>([
    ['everything', {}, 'one\ntwo\nthree\nfour'],
    [
      'with times',
      { timestamps: true },
      '1970-01-01T00:00:01.000000000Z one\n1970-01-01T00:00:02.000000000Z two\n1970-01-01T00:00:03.000000000Z three\n1970-01-01T00:00:04.000000000Z four',
    ],
    ['the last two', { tailLines: 2 }, 'three\nfour'],
    ['none of the last', { tailLines: 0 }, ''],
    ['more than there are', { tailLines: 9 }, 'one\ntwo\nthree\nfour'],
    ['since a time', { sinceTime: 3_000 }, 'three\nfour'],
    ['since some seconds ago', { sinceSeconds: 7 }, 'three\nfour'],
    ['so many bytes', { limitBytes: 5 }, 'one\nt'],
  ])('%s', async (_what, options, wanted) => {
    expect(await read(aLog(...lines), options)).toBe(wanted);
  });

  test('bytes that are no text come out as they went in', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28, 0x0a]);
    const log = aLog();
    log.write(bytes);
    const pieces: Uint8Array[] = [];
    for await (const piece of log.read(all, 0, new AbortController().signal)) pieces.push(piece);
    expect(Buffer.concat(pieces)).toEqual(bytes);
  });

  test('a long line is kept in pieces, and stamped once', async () => {
    const log = aLog(`${'x'.repeat(40_000)}\n`, 'short\n');
    const text = await read(log, { timestamps: true });
    expect(text.match(/Z /g)).toHaveLength(2);
    expect(text.split('\n')[0]).toHaveLength('1970-01-01T00:00:01.000000000Z '.length + 40_000);
  });
});

describe('following', () => {
  test('goes on with what comes, and ends with the container', async () => {
    const log = aLog('one\n');
    const text = read(log, { follow: true });
    await Promise.resolve();
    log.write(Buffer.from('two\n'));
    await Promise.resolve();
    log.write(Buffer.from('three'));
    log.end();
    expect(await text).toBe('one\ntwo\nthree');
  });

  test('ends when the reader leaves', async () => {
    const leave = new AbortController();
    const text = read(aLog('one\n'), { follow: true }, leave.signal);
    leave.abort();
    expect(await text).toBe('one\n');
  });

  test('begins with nothing where nothing is chosen', async () => {
    const log = aLog('old\n');
    const text = read(log, { follow: true, tailLines: 0 });
    await Promise.resolve();
    log.write(Buffer.from('new\n'));
    log.end();
    expect(await text).toBe('new\n');
  });
});

test('after a rotation only the newest file can be read, and who follows loses nothing', async () => {
  const log = aLog();
  const line = Buffer.from(`${'x'.repeat(1023)}\n`);
  const followed = read(log, { follow: true });
  for (let at = 0; at < 11 * 1024; at += 1) log.write(line);
  log.write(Buffer.from('last\n'));
  log.end();
  expect((await followed).length).toBe(11 * 1024 * 1024 + 5);
  const late = await read(log);
  expect(late.length).toBeLessThan(2 * 1024 * 1024);
  expect(late.endsWith('last\n')).toBe(true);
});
