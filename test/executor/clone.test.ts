import { describe, expect, test } from 'vitest';
import { compile } from '../../src/executor/compile.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { stepsOf } from '../../src/executor/plan.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';

function plan(text: string, cloneImage?: string) {
  const options = { facts: defaultFacts, ...(cloneImage === undefined ? {} : { cloneImage }) };
  return compile(parsePipeline(text, 'c.yml'), options).plan;
}
const names = (text: string, cloneImage?: string): readonly string[] =>
  stepsOf(plan(text, cloneImage)).map((step) => (step.stage === '' ? step.name : `${step.stage}/${step.name}`));

const steps = 'steps: [{ name: a, image: i, commands: [x] }]';
const ownStep = 'steps: [{ name: clone, image: own }, { name: a, image: i, commands: [x] }]';
const stages = 'stages: { one: { steps: [{ name: a, image: i, commands: [x] }] } }';
const ownStage =
  'stages: { one: { steps: [{ name: a, image: i, commands: [x] }] }, clone: { steps: [{ name: clone, image: own }] } }';

describe('without --clone the sources come from elsewhere', () => {
  test.each([
    ['a pipeline that does not name it', steps, ['a'], 0],
    ['a clone step', ownStep, ['a'], 1],
    ['a clone stage', ownStage, ['one/a'], 1],
    [
      'a step of that name in another stage',
      'stages: { one: { steps: [{ name: clone, image: i, commands: [x] }] } }',
      ['one/clone'],
      0,
    ],
  ])('%s', (_, text, expected, notes) => {
    expect(names(text)).toEqual(expected);
    expect(plan(text).notes).toHaveLength(notes);
  });
});

describe('with --clone it runs first', () => {
  test.each([
    ['in a pipeline of steps', steps, ['clone', 'a']],
    ['in a pipeline of stages', stages, ['clone/clone', 'one/a']],
    ['the one of the file', ownStep, ['clone', 'a']],
    ['the stage of the file', ownStage, ['one/a', 'clone/clone']],
    ['unless the file says no', `metadata: { clone: false }\n${steps}`, ['a']],
  ])('%s', (_, text, expected) => {
    expect(names(text, 'git:1')).toEqual(expected);
  });

  test('and every stage comes after it, wherever it stands', () => {
    for (const text of [stages, ownStage]) {
      const one = plan(text, 'git:1').stages.find((stage) => stage.name === 'one');
      expect(one?.needs).toEqual(['clone']);
    }
  });

  test('from the image of the file, or the one that was named', () => {
    expect(stepsOf(plan(steps, 'git:1'))[0]?.image).toBe('git:1');
    expect(stepsOf(plan(ownStep, 'git:1'))[0]?.image).toBe('own');
  });
});
