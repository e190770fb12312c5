import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fileLimit } from '../../src/executor/document.ts';
import { formatProblem } from '../../src/executor/problems.ts';
import { readPipeline } from '../../src/executor/read-pipeline.ts';

const folder = new URL('broken/', import.meta.url);
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.yml'))
  .map((name) => name.replace(/\.yml$/, ''));

describe('every mistake of a broken file has its place, its cause and a remedy', () => {
  test('there are at least forty of them', () => {
    expect(names.length).toBeGreaterThanOrEqual(40);
  });

  test.each(names)('%s', async (name) => {
    const { pipeline, problems } = readPipeline(readFileSync(new URL(`${name}.yml`, folder), 'utf8'), `${name}.yml`);
    expect(pipeline).toBeUndefined();
    for (const problem of problems) {
      expect(problem.line).toBeGreaterThan(0);
      expect(problem.column).toBeGreaterThan(0);
      expect(problem.message).toMatch(/\S/);
      expect(problem.remedy).toMatch(/\S/);
    }
    const text = problems.map((problem) => `${formatProblem(problem)}\n`).join('');
    await expect(text).toMatchFileSnapshot(`broken/${name}.golden.txt`);
  });
});

describe('what would exhaust the reader is refused by a limit that is named', () => {
  test('a file of 10 MiB', () => {
    const { problems } = readPipeline(`# ${'x'.repeat(10 * 1024 * 1024)}`, 'large.yml');
    expect(problems[0]?.message).toBe(`the file is larger than the limit of ${fileLimit / 1024} KiB`);
  });

  test.each([
    ['brackets', '['.repeat(500_000)],
    ['dashes', `${'- '.repeat(300_000)}x`],
  ])('%s without end', (_, text) => {
    expect(readPipeline(text, 'deep.yml').problems[0]?.message).toBe('the file is nested too deeply');
  });
});
