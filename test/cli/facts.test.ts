import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseDuration } from '../../src/cli/durations.ts';
import { gitFacts, repoOf } from '../../src/cli/git.ts';
import { applyFlags } from '../../src/cli/pipeline-flags.ts';
import { parseSecretFile, readSecrets } from '../../src/cli/secrets.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { Folder } from './podwright.ts';

const folder = new Folder();
afterAll(() => folder.end());

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder.path, ...args], {
    encoding: 'utf8',
    env: {
      ...process.env,
      GIT_AUTHOR_NAME: 'Ada',
      GIT_AUTHOR_EMAIL: 'ada@example.com',
      GIT_COMMITTER_NAME: 'Ada',
      GIT_COMMITTER_EMAIL: 'ada@example.com',
      GIT_CONFIG_GLOBAL: '/dev/null',
    },
  }).trim();

describe('the local repository tells', () => {
  test('nothing where there is none: the name of the folder remains', async () => {
    const empty = new Folder();
    const facts = await gitFacts(empty.path);
    empty.end();
    expect(facts).toMatchObject({ branch: 'main', commit: '', repo: { host: 'localhost', org: 'local' } });
    expect(facts.repo.name).toMatch(/^podwright-test-/);
  });

  test('branch, commit, author, message, remote and what the commit changed', async () => {
    git('init', '--quiet', '--initial-branch', 'feature/x');
    git('remote', 'add', 'origin', 'git@github.com:octocat/hello-world.git');
    folder.file('one.txt', '1');
    folder.file('two words.txt', '2');
    git('add', '.');
    git('commit', '--quiet', '-m', 'First line\n\nAnd "more"');
    const facts = await gitFacts(folder.path);
    expect(facts).toMatchObject({
      event: 'push',
      branch: 'feature/x',
      ref: 'refs/heads/feature/x',
      commit: git('rev-parse', 'HEAD'),
      author: 'Ada',
      authorEmail: 'ada@example.com',
      message: 'First line\n\nAnd "more"',
      paths: ['one.txt', 'two words.txt'],
      repo: {
        host: 'github.com',
        org: 'octocat',
        name: 'hello-world',
        clone: 'https://github.com/octocat/hello-world.git',
      },
    });
  });
});

test.each([
  ['https://github.com/octocat/hello-world.git', 'github.com octocat hello-world'],
  ['https://user:secret@git.example.com:8443/a/b/c', 'git.example.com a/b c'],
  ['ssh://git@git.example.com:2222/octocat/hello.git', 'git.example.com octocat hello'],
  ['git@github.com:octocat/hello-world', 'github.com octocat hello-world'],
  ['/srv/git/hello.git', 'localhost local folder-x'],
  ['', 'localhost local folder-x'],
])('the remote %s is %s', (remote, expected) => {
  const { host, org, name, clone } = repoOf(remote, '/home/me/folder x');
  expect(`${host} ${org} ${name}`).toBe(expected);
  expect(clone).not.toContain('secret');
});

describe('flags win over the repository', () => {
  test.each([
    [{}, { event: 'push', action: '' }],
    [{ tag: 'v1' }, { event: 'tag', tag: 'v1', ref: 'refs/tags/v1' }],
    [{ comment: 'run' }, { event: 'comment', action: 'created', pullRequest: '1' }],
    [{ event: 'pull_request' }, { event: 'pull_request', action: 'opened', ref: 'refs/pull/1/head' }],
    [
      { event: 'pull_request:edited', pullRequest: '9' },
      { action: 'edited', ref: 'refs/pull/9/head', pullRequest: '9' },
    ],
    [{ branch: 'dev' }, { branch: 'dev', ref: 'refs/heads/dev' }],
    [{ repo: 'a/b' }, { repo: { ...defaultFacts.repo, org: 'a', name: 'b' } }],
    [
      { path: ['x'], label: ['l'], target: 't', sender: 's', instance: 'i' },
      { paths: ['x'], labels: ['l'], target: 't', sender: 's', instance: 'i' },
    ],
  ])('%j', (flags, expected) => {
    expect(applyFlags(defaultFacts, flags)).toMatchObject(expected);
  });

  test.each([
    [{ event: 'psuh' }, 'no event "psuh"'],
    [{ repo: 'nobody' }, 'no repository'],
  ])('%j is refused', (flags, message) => {
    expect(() => applyFlags(defaultFacts, flags)).toThrow(message);
  });
});

describe('secrets', () => {
  test('come from flags, the environment, files and the cluster; flags win', async () => {
    const file = folder.file('secrets.env', '# comment\n\nA=of file\nB="two\\nlines \\"x\\""\nexport C=\'plain $x\'\n');
    const env = { TOKEN: 'of variable' };
    const flags = { secretFile: [file], secret: ['A=of flag', 'token'], secretRef: ['D=hub/password'] };
    expect(Object.fromEntries(await readSecrets(flags, { env }))).toEqual({
      A: { value: 'of flag' },
      B: { value: 'two\nlines "x"' },
      C: { value: 'plain $x' },
      token: { value: 'of variable' },
      D: { secret: 'hub', key: 'password' },
    });
  });

  test.each([
    [{ secret: ['nothing'] }, 'the secret "nothing" has no value'],
    [{ secretRef: ['D=hub'] }, 'names no key'],
    [{ secretFile: [join('/no', 'such')] }, 'there is no such file'],
  ])('%j is refused', async (flags, message) => {
    await expect(readSecrets(flags, { env: {} })).rejects.toThrow(message);
  });

  test('a line that is none is told by its number, and not by its text', () => {
    expect(() => parseSecretFile('A=1\nthe secret itself\n', 'f.env')).toThrow('f.env:2: this is no NAME=value');
  });
});

describe('durations', () => {
  test.each([
    ['90s', 90_000],
    ['10m', 600_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['1.5s', 1_500],
    ['45', 45_000],
    ['0', 0],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([[''], ['soon'], ['10 m'], ['-5s'], ['5d']])('%j is refused', (text) => {
    expect(() => parseDuration(text)).toThrow('is no duration');
  });
});
