// `podwright plan`, `validate`, `completion` and `--help`.
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { inProcess } from './in-process.ts';
import { Folder, jsonLines } from './podwright.ts';
import { testTerminal } from './test-terminal.ts';

const folder = new Folder();
afterAll(() => folder.end());
const good = folder.file(
  'good.yml',
  'version: "1"\nsecrets: [{ name: s }]\nsteps:\n  - { name: test, image: alpine, secrets: [s], commands: [x] }\n  - { name: release, image: alpine, ruleset: { event: tag }, commands: [x] }\n',
);
const bad = folder.file('bad.yml', 'steps:\n  - name: a\n');

describe('plan', () => {
  test('shows what would run, and what the rules leave out, without asking for secrets', async () => {
    const { code, out } = await inProcess('plan', good, '--branch', 'dev', '--repo', 'octocat/hello');
    expect(code).toBe(0);
    expect(out).toContain('event push, branch dev\nrepository octocat/hello');
    expect(out).toContain('1. test  alpine\n  2. release  alpine  skipped: event is "push", not tag');
  });

  test('follows the flags', async () => {
    const { out } = await inProcess('plan', good, '--tag', 'v1.0.0');
    expect(out).toContain('2. release  alpine\n');
  });

  test('as JSON and as a diagram', async () => {
    const { out } = await inProcess('plan', good, '--format', 'json');
    expect(JSON.parse(out)).toMatchObject({
      facts: { event: 'push' },
      stages: [
        {
          steps: [
            { name: 'test', when: { runs: 'success' } },
            { name: 'release', when: { runs: 'never' } },
          ],
        },
      ],
    });
    expect((await inProcess('plan', good, '--format', 'mermaid')).out).toMatch(
      /^flowchart LR\n {2}subgraph g0\["steps"\]\n/,
    );
  });

  test('of a broken file is its mistakes', async () => {
    const { code, err } = await inProcess('plan', bad);
    expect(code).toBe(2);
    expect(err).toContain(`${bad}:2:5: step "a" has no "image"`);
  });
});

describe('validate', () => {
  test('tells each file, and ends with 2 when one has a mistake', async () => {
    const { code, out } = await inProcess('validate', good, bad);
    expect(code).toBe(2);
    expect(out).toContain(`${good}: valid, 2 steps\n`);
    expect(out).toContain(`${bad}:2:5: step "a" has no "image"\n    Add it: image: alpine:3\n`);
    expect((await inProcess('validate', good)).code).toBe(0);
    const one = folder.file('one.yml', 'steps: [{ name: a, image: alpine, commands: [x] }]\n');
    expect((await inProcess('validate', one)).out).toBe(`${one}: valid, 1 step\n`);
  });

  test('goes on after a file that cannot be read, and stops at a wrong flag', async () => {
    const { code, out, err } = await inProcess('validate', '/no/such.yml', bad, good);
    expect(code).toBe(2);
    expect(err).toContain('/no/such.yml: there is no such file');
    expect(out).toContain(`${bad}:2:5:`);
    expect(out).toContain(`${good}: valid`);
    const flag = await inProcess('validate', good, good, '--event', 'psuh');
    expect(flag).toMatchObject({ code: 2, out: '' });
  });

  test('as JSON', async () => {
    const { out } = await inProcess('validate', good, bad, '--output', 'json');
    expect(jsonLines(out)).toMatchObject([
      { file: good, problems: [] },
      { file: bad, problems: [{ line: 2, column: 5 }] },
    ]);
  });
});

describe('completion', () => {
  test('in bash: commands, flags and values', async () => {
    const { out: script } = await inProcess('completion', 'bash');
    const complete = (...words: readonly string[]): readonly string[] => {
      const line = words.map((word) => `'${word}'`).join(' ');
      const test = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _podwright; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', test], { encoding: 'utf8' }).stdout.trim().split('\n');
    };
    expect(complete('podwright', 'va')).toEqual(['validate']);
    expect(complete('podwright', 'run', '--kubec')).toEqual(['--kubeconfig']);
    expect(complete('podwright', 'run', '--output', '')).toEqual(expect.arrayContaining(['pretty', 'json']));
    expect(complete('podwright', 'placeholder', 'p')).toContain('push');
  });

  test.each(['zsh', 'fish'])('in %s every command and flag is there', async (shell) => {
    const { out, code } = await inProcess('completion', shell);
    expect(code).toBe(0);
    for (const command of createProgram(testTerminal()).commands) {
      expect(out).toContain(command.name());
      for (const { long } of command.options) expect(out).toContain(long?.slice(2));
    }
  });
});

test('every command has help with an example, and says what it does', async () => {
  const commands = createProgram(testTerminal()).commands;
  expect(commands.length).toBeGreaterThan(12);
  for (const command of commands) {
    const paths =
      command.commands.length === 0
        ? [[command.name()]]
        : command.commands.map((child) => [command.name(), child.name()]);
    for (const path of paths) {
      const { out, code } = await inProcess(...path, '--help');
      expect(code).toBe(0);
      expect(out, path.join(' ')).toMatch(/Examples?:\n\s+.*podwright/);
    }
  }
});
