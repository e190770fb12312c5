// A pod of 120 containers: every step of 10 stages runs, and a pod that no cluster takes is told before it is sent.
import { afterAll, expect, test } from 'vitest';
import { Folder, jsonLines, podwright } from '../../cli/podwright.ts';

const folder = new Folder();
afterAll(() => folder.end());

function pipeline(stages: number, stepsOfEach: number, command: string): string {
  const stage = (index: number): string => {
    const needs = index === 0 ? '' : `needs: stage${index - 1}, `;
    const steps = Array.from(
      { length: stepsOfEach },
      (_, step) => `{ name: step${step}, image: alpine, commands: [${command}] }`,
    );
    return `  stage${index}: { ${needs}steps: [${steps.join(', ')}] }`;
  };
  return `version: "1"\nstages:\n${Array.from({ length: stages }, (_, index) => stage(index)).join('\n')}\n`;
}

test('120 steps in 10 stages run, each once and in order', { timeout: 240_000 }, async () => {
  const file = folder.file('many.yml', pipeline(10, 12, `'echo "$VELA_STEP_STAGE $VELA_STEP_NUMBER"'`));
  const { code, out } = await podwright(['run', file, '--output', 'json']);
  expect(code, out.slice(-2_000)).toBe(0);
  const said = jsonLines(out)
    .filter((line) => line['type'] === 'step.log' && /^stage\d+ \d+$/.test(String(line['line'])))
    .map((line) => Number(String(line['line']).split(' ')[1]));
  expect(said).toEqual(Array.from({ length: 120 }, (_, index) => index + 1));
});

test('a pod that is over the limits of the API is refused with the limit, and nothing is created', {
  timeout: 60_000,
}, async () => {
  const file = folder.file('too-many.yml', pipeline(10, 60, 'x'));
  const { code, err } = await podwright(['run', file]);
  expect(code).toBe(2);
  expect(err).toMatch(/600 .*\(500\)/);
});
