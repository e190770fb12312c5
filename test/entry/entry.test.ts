// What entry promises, on this machine's processes: it waits in the placeholder image, becomes the step elsewhere, and
// begins a step at most once. Each binary is tested where it can run; where it cannot, the reason is printed.
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { entryCodes, readEntryReport } from '../../src/image/placeholder.ts';
import { asleep, findRunners, said } from './runners.ts';

const { runners, reasons } = findRunners();
for (const reason of reasons) console.log(`skipped: ${reason}`);

describe.skipIf(runners.length === 0).each(runners)('$name', ({ program, emulator }) => {
  let folder = '';
  let marks = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'entry-'));
    marks = join(folder, 'marks');
    mkdirSync(marks);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs to the end. The report is what it says on stderr. */
  const run = (args: readonly string[], env: Record<string, string> = { PATH: '/usr/bin:/bin' }, cwd = folder) => {
    const [file = '', ...rest] = [...emulator, program, ...args];
    const { status, signal, stdout, stderr } = spawnSync(file, rest, { env, cwd, encoding: 'utf8' });
    return { status, signal, stdout, stderr, kind: readEntryReport(stderr)?.kind };
  };
  const step = (mark: string, ...command: string[]) => run(['run', '--mark', join(marks, mark), '--', ...command]);
  const start = (...args: string[]): ChildProcess => {
    const [file = '', ...rest] = [...emulator, program, ...args];
    return spawn(file, rest, { cwd: folder, stdio: 'pipe' });
  };

  test('a step has its own code, arguments and environment, and its mark is left', () => {
    const args = ['a b', '', '$HOME', '--', 'ü\n'];
    const ended = run(
      ['run', '--mark', join(marks, 'm'), '--', 'sh', '-c', 'printf "<%s>" "$0" "$@"; exit 7', ...args],
      { PATH: '/usr/bin:/bin', X: '1' },
    );
    expect(ended).toMatchObject({ status: 7, stdout: '<a b><><$HOME><--><ü\n>', stderr: '' });
    expect(statSync(join(marks, 'm')).mode & 0o777).toBe(0o444 & ~process.umask());
    const printed = run(['run', '--mark', join(marks, 'n'), '--', 'env'], { PATH: '/usr/bin:/bin', X: '1' });
    expect(printed.stdout.trim().split('\n').sort()).toEqual(['PATH=/usr/bin:/bin', 'X=1']);
  });

  test('a step that was begun is not begun again, whatever it ended with', () => {
    const count = join(folder, 'count');
    const command = ['sh', '-c', `echo x >> ${count}; exit 213`];
    expect(step('m', ...command)).toMatchObject({ status: 213, kind: undefined });
    expect(step('m', ...command)).toMatchObject({ status: entryCodes.alreadyRan, kind: 'alreadyRan' });
    expect(readFileSync(count, 'utf8')).toBe('x\n');
    expect(step('other', 'true').status, 'marks are per container').toBe(0);
  });

  test('of many starts at the same time one begins the step', async () => {
    const children = Array.from({ length: 8 }, () => start('run', '--mark', join(marks, 'm'), '--', 'echo', 'ran'));
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'close'))[0] as number));
    expect(codes.sort()).toEqual([0, ...Array.from({ length: 7 }, () => entryCodes.alreadyRan)]);
  });

  test('a mark that is a link to nothing counts as a mark', () => {
    symlinkSync('/nowhere', join(marks, 'm'));
    expect(step('m', 'true').status).toBe(entryCodes.alreadyRan);
  });

  test('without a place for the mark nothing runs', () => {
    const ran = join(folder, 'ran');
    for (const mark of [join(folder, 'absent/m'), `${program}/m`, join(marks, 'x'.repeat(300))]) {
      const ended = run(['run', '--mark', mark, '--', 'touch', ran]);
      expect(ended, mark).toMatchObject({ status: entryCodes.noMark, kind: 'noMark' });
    }
    expect(existsSync(ran)).toBe(false);
  });

  test('a second start stays as long as it was told, and ends at once when asked to stop', async () => {
    expect(step('m', 'true').status).toBe(0);
    const staying = start('run', '--mark', join(marks, 'm'), '--linger', '600', '--', 'true');
    await said(staying, 'already-ran');
    staying.kill('SIGTERM');
    expect(await once(staying, 'close')).toEqual([entryCodes.alreadyRan, null]);
    expect(run(['run', '--linger', '0', '--mark', join(marks, 'm'), '--', 'true']).status).toBe(entryCodes.alreadyRan);
  });

  test('wrong arguments run nothing and leave no mark', () => {
    const mark = join(marks, 'm');
    const wrong = [
      [],
      ['walk'],
      ['run'],
      ['run', '--', 'true'],
      ['run', '--mark', mark],
      ['run', '--mark', mark, '--'],
      ['run', '--mark', mark, 'true'],
      ['run', '--mark', 'relative', '--', 'true'],
      ['run', '--mark', mark, '--mark', mark, '--', 'true'],
      ['run', '--mark', mark, '--open', '/x', '--', 'true'],
      ...['', 'x', '-1', '1s', '86401', '99999999999999999999'].map((s) => [
        'run',
        '--mark',
        mark,
        '--linger',
        s,
        '--',
        'true',
      ]),
      ['run', '--mark'],
      ['run', '--linger'],
    ];
    for (const args of wrong)
      expect(run(args), args.join(' ')).toMatchObject({ status: entryCodes.usage, kind: 'usage' });
    expect(readdirSync(marks)).toEqual([]);
  });

  describe('the command is found as execvp finds it', () => {
    const write = (name: string, text: string, mode = 0o755) => {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), mode);
    };
    const find = (path: string | undefined, ...command: string[]) => {
      rmSync(join(marks, 'm'), { force: true });
      const env: Record<string, string> = path === undefined ? {} : { PATH: path };
      return run(['run', '--mark', join(marks, 'm'), '--', ...command], env);
    };

    test('in the order of PATH, past what cannot be executed; an empty entry is the working directory', () => {
      write('a/tool', 'not executable', 0o644);
      mkdirSync(join(folder, 'b/tool'), { recursive: true });
      write('c/tool', '#!/bin/sh\necho c');
      write('d/tool', '#!/bin/sh\necho d');
      write('tool', '#!/bin/sh\necho here');
      const path = ['absent', 'a', 'b', 'c', 'd'].map((name) => join(folder, name)).join(':');
      expect(find(path, 'tool').stdout).toBe('c\n');
      expect(find(`/absent::${folder}/d`, 'tool').stdout).toBe('here\n');
      expect(find('', 'tool').stdout).toBe('here\n');
      expect(find('/absent:', 'tool').stdout).toBe('here\n');
      expect(find(`${'/x'.repeat(3000)}:${folder}/d`, 'tool').stdout, 'an entry that is too long is passed').toBe(
        'd\n',
      );
      expect(find('/absent', './d/tool').stdout, 'a name with a slash is not searched').toBe('d\n');
      expect(find(undefined, 'sh', '-c', 'echo found').stdout, 'without PATH').toBe('found\n');
    });

    test('what is not there ends with 127', () => {
      for (const name of ['tool', './tool', '/absent/tool', `${program}/tool`, '']) {
        expect(find(folder, name), name).toMatchObject({ status: entryCodes.notFound, kind: 'notFound' });
      }
      expect(find('/usr/bin:/bin', 'tool').stderr).toContain('tool: not in PATH=/usr/bin:/bin\n');
    });

    test('what cannot be executed ends with 126 and the reason, and is not given to a shell', () => {
      write('plain', 'echo unsafe', 0o755);
      write('data', 'echo unsafe', 0o644);
      write('orphan', '#!/absent/interpreter\n', 0o755);
      const expected = {
        plain: '#! line',
        data: 'permission denied',
        orphan: 'interpreter or loader',
        marks: 'directory',
      };
      for (const [name, reason] of Object.entries(expected)) {
        for (const command of [`./${name}`, name]) {
          const ended = find(folder, command);
          expect(ended, command).toMatchObject({ status: entryCodes.notExecutable, kind: 'notExecutable', stdout: '' });
          expect(ended.stderr, command).toContain(reason);
        }
      }
    });

    test('a report is one line of bounded length, whatever the command is called', () => {
      const { stderr, status } = find('/bin', `\u001b[31m\n${'x'.repeat(5000)}`);
      expect(status).toBe(entryCodes.notFound);
      expect(stderr).toMatch(/^podwright-entry: not-found: \?\[31m\?x+\n$/);
      expect(Buffer.byteLength(stderr)).toBe(1024);
    });
  });

  test('argument lists of the largest size are passed on', () => {
    const args = Array.from({ length: 900 }, (_, index) => `${index}`.padEnd(1000, '-'));
    const { stdout, status } = step('m', 'sh', '-c', 'echo $#', 'sh', ...args);
    expect({ stdout, status }).toEqual({ stdout: '900\n', status: 0 });
  });

  test('a step has the signals as entry was given them: none blocked, caught or ignored by it', async () => {
    const fields = (text: string) => text.match(/^Sig(?:Blk|Ign|Cgt):.*$/gm);
    const direct = spawnSync('/bin/cat', ['/proc/self/status'], { encoding: 'utf8' });
    expect(fields(step('m', '/bin/cat', '/proc/self/status').stdout)).toEqual(fields(direct.stdout));
    const child = start('run', '--mark', join(marks, 'n'), '--', 'sh', '-c', 'echo up; exec sleep 100');
    await said(child, 'up');
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([null, 'SIGTERM']);
  });

  test('asked to stop before the step began, it does not begin it, and no later start does', (context) => {
    const ran = join(folder, 'ran');
    const command = [...emulator, program, 'run', '--mark', join(marks, 'm'), '--', 'touch', ran];
    const blocked = ['--block-signal=TERM', 'sh', '-c', 'kill -TERM $$; exec "$@"', 'sh', ...command];
    const { status, stderr } = spawnSync('env', blocked, { encoding: 'utf8' });
    if (status === 125) context.skip(`env cannot block signals here: ${stderr.trim()}`);
    expect({ status, kind: readEntryReport(stderr)?.kind }).toEqual({ status: 128 + 15, kind: 'canceled' });
    expect(step('m', 'touch', ran).status).toBe(entryCodes.alreadyRan);
    expect(existsSync(ran)).toBe(false);
  });

  test('a step has no file open but those entry was given', () => {
    const { stdout } = step('m', 'sh', '-c', 'ls /proc/self/fd | wc -l');
    const direct = spawnSync('sh', ['-c', 'ls /proc/self/fd | wc -l'], { encoding: 'utf8' });
    expect(stdout).toBe(direct.stdout);
  });

  test('waiting ends with the reserved code on every signal that asks to stop, and says nothing in the log', async () => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1'] as const) {
      const child = start('wait', 'install', folder);
      const output: Buffer[] = [];
      child.stdout?.on('data', (chunk: Buffer) => output.push(chunk));
      child.stderr?.on('data', (chunk: Buffer) => output.push(chunk));
      await asleep(child);
      child.kill('SIGCONT');
      child.kill('SIGWINCH');
      child.kill(signal);
      expect(await once(child, 'close'), signal).toEqual([entryCodes.placeholder, null]);
      expect(Buffer.concat(output).toString()).toBe('');
    }
    expect(readdirSync(folder)).toEqual(['marks']);
  });

  test('install copies the program whole and makes the marks folder usable by every user', () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, '.entry.new'), 'left by an interrupted install');
    symlinkSync(bin, join(folder, 'link'));
    for (const target of [bin, join(folder, 'link')]) {
      expect(run(['install', target, '--marks', marks])).toMatchObject({ status: 0, stderr: '' });
      expect(readdirSync(bin)).toEqual(['entry']);
      expect(statSync(join(bin, 'entry')).mode & 0o7777).toBe(0o555);
      expect(statSync(marks).mode & 0o7777).toBe(0o1777);
      expect(step(target.replaceAll('/', '_'), 'true').status).toBe(0);
    }
    // An emulated program finds the emulator behind /proc/self/exe only if the emulator does not help.
    expect(readFileSync(join(bin, 'entry')).equals(readFileSync(program))).toBe(true);
  });

  test('install says what it could not do', () => {
    writeFileSync(join(folder, 'file'), '');
    const cases = { absent: 'no such file', file: 'not a directory' };
    for (const [name, reason] of Object.entries(cases)) {
      const ended = run(['install', join(folder, name)]);
      expect(ended, name).toMatchObject({ status: 1, kind: 'installFailed' });
      expect(ended.stderr).toContain(reason);
    }
    expect(run(['install', folder, '--marks', join(folder, 'absent')])).toMatchObject({
      status: 1,
      kind: 'installFailed',
    });
    for (const args of [
      ['install'],
      ['install', folder, '--marks'],
      ['install', folder, 'x'],
      ['install', folder, '--marks', marks, 'x'],
    ]) {
      expect(run(args), args.join(' ')).toMatchObject({ status: entryCodes.usage, kind: 'usage' });
    }
  });
});
