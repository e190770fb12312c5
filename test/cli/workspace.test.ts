// A local folder comes into the workspace of a build, and artifacts come back.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { packFolder, sourceFiles, unpackInto } from '../../src/cli/archive.ts';
import { Folder, podwright } from './podwright.ts';

const folder = new Folder();
const plain = new Folder();
afterAll(() => {
  folder.end();
  plain.end();
});

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder.path, ...args], {
    encoding: 'utf8',
    env: { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' },
  });

mkdirSync(join(folder.path, 'src'));
folder.file('.gitignore', 'ignored*\nnode_modules/\n');
folder.file('src/one two.txt', 'first');
folder.file('ignored.txt', 'not this');
folder.file('deleted.txt', 'x');
git('init', '--quiet');
git('add', '.');
execFileSync('rm', [join(folder.path, 'deleted.txt')]);
folder.file('run.sh', '#!/bin/sh\necho "it runs"\n');
chmodSync(join(folder.path, 'run.sh'), 0o755);
folder.file('new\nline.txt', 'odd name');

describe('what is brought in', () => {
  test('is what git does not ignore: changed and new files, not deleted ones', async () => {
    expect(await sourceFiles(folder.path)).toEqual(['.gitignore', 'new\nline.txt', 'run.sh', 'src/one two.txt']);
  });

  test('is everything where there is no repository', async () => {
    mkdirSync(join(plain.path, 'a'));
    plain.file('a/b', '1');
    plain.file('.hidden', '2');
    expect(await sourceFiles(plain.path)).toEqual(['.hidden', 'a/b']);
  });

  test('keeps contents and rights through the archive', async () => {
    const archive = join(plain.path, 'x.tar.gz');
    expect(await packFolder(folder.path, archive)).toBe(4);
    await unpackInto(archive, join(plain.path, 'out'));
    expect(readFileSync(join(plain.path, 'out/src/one two.txt'), 'utf8')).toBe('first');
    expect(execFileSync(join(plain.path, 'out/run.sh'), { encoding: 'utf8' })).toBe('it runs\n');
  });

  test('a folder that is not there is the mistake of the user', async () => {
    await expect(packFolder('/no/such', join(plain.path, 'y.tar.gz'))).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_USAGE',
    });
  });
});

describe('podwright run --workspace', () => {
  const file = folder.file(
    'ignored.vela.yml',
    `version: "1"
steps:
  - name: build it
    image: alpine
    commands: ["./run.sh", "cat 'src/one two.txt'", "mkdir out", "echo made > 'out/a b.log'", "touch out/skip.txt"]
    artifacts: { paths: ["out/*.log", "nothing/*"] }
  - name: fails
    image: alpine
    commands: ["echo why > why.txt", "exit 1"]
    artifacts: { paths: why.txt }
  - name: has none
    image: alpine
    ruleset: { status: failure }
    commands: ["true"]
    artifacts: { paths: "*.none" }
`,
  );

  test('runs on uncommitted work, and brings artifacts back, also those of a step that failed', async () => {
    const artifacts = join(plain.path, 'artifacts');
    const { code, out } = await podwright(['run', file, '--workspace', folder.path, '--artifacts', artifacts]);
    expect(code, out).toBe(1);
    expect(out).toContain('[build it] it runs\n');
    expect(out).toContain('[build it] first');
    expect(readFileSync(join(artifacts, 'build-it/out/a b.log'), 'utf8')).toBe('made\n');
    expect(existsSync(join(artifacts, 'build-it/out/skip.txt'))).toBe(false);
    expect(readFileSync(join(artifacts, 'fails/why.txt'), 'utf8')).toBe('why\n');
    expect(out).toContain('"has none" left no artifacts: nothing is called *.none');
  });

  test('a folder that is not there ends with 2', async () => {
    const { code, err } = await podwright(['run', file, '--workspace', '/no/such'], { env: { TMPDIR: plain.path } });
    expect(code).toBe(2);
    expect(err).toContain('/no/such');
    expect(readdirSync(plain.path).filter((name) => name.startsWith('podwright-workspace'))).toEqual([]);
  });
});
