// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of pipelines
// What a file may hold besides the plain forms: anchors, merges, short forms, and text that is not to be guessed at.
import { describe, expect, test } from 'vitest';
import { compile } from '../../src/executor/compile.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { nearest } from '../../src/executor/problems.ts';
import { parsePipeline, readPipeline } from '../../src/executor/read-pipeline.ts';

const firstStep = (text: string) => {
  const step = parsePipeline(text, 'p.yml').stages[0]?.steps[0];
  if (step === undefined) throw new Error('no step');
  return step;
};

describe('values stay as they are written', () => {
  test('in variables, parameters and commands', () => {
    const step = firstStep(`steps:
  - name: s
    image: alpine
    environment: { VERSION: 1.10, HEX: 0x1F, YES: yes, NIL: ~, EMPTY: , FLAG: true }
    parameters: { tag: 1.20, list: [1.0, "2"], deep: { a: 1.50 }, off: false, none: ~ }
    commands: [ 1.10, "true", true ]
`);
    expect(step.environment).toEqual({ VERSION: '1.10', HEX: '0x1F', YES: 'yes', NIL: '', EMPTY: '', FLAG: 'true' });
    expect(step.parameters).toEqual({ tag: '1.20', list: ['1.0', '2'], deep: { a: '1.50' }, off: false, none: null });
    expect(step.commands).toEqual(['1.10', 'true', 'true']);
  });

  test('and of parameters plugins get texts', () => {
    const { spec } = compile(
      parsePipeline(
        'steps: [{ name: s, image: i, parameters: { tag: 1.20, list: [a, 1.0], deep: [{ a: 1.50 }], off: false, none: ~ } }]',
        'p.yml',
      ),
      { facts: defaultFacts },
    );
    expect(spec.containers[0]?.environment).toMatchObject({
      PARAMETER_TAG: '1.20',
      PARAMETER_LIST: 'a,1.0',
      PARAMETER_DEEP: '[{"a":"1.50"}]',
      PARAMETER_OFF: 'false',
    });
    expect(spec.containers[0]?.environment).not.toHaveProperty('PARAMETER_NONE');
  });
});

describe('anchors', () => {
  test('may be kept under any key at the top', () => {
    const text = `x: &x { image: alpine }\n.hidden: [ &cmd "echo 1" ]\nsteps: [{ <<: *x, name: s, commands: [*cmd] }]\n`;
    expect(firstStep(text)).toMatchObject({ image: 'alpine', commands: ['echo 1'] });
  });

  test('a key at the top without one is a mistake', () => {
    expect(readPipeline('hidden: { image: a }\nsteps: [{ name: s, image: i }]\n', 'p.yml').problems).toMatchObject([
      { line: 1, column: 1, message: 'unknown key "hidden" at the top' },
    ]);
  });

  test('may be given anew, and the last one counts', () => {
    const text = 'a: &i one\nb: &i two\nsteps: [{ name: s, image: *i }]\n';
    expect(firstStep(text).image).toBe('two');
  });

  test('an image in a merged mapping is told at its own place', () => {
    const text = 'base: &base\n  image: Upper\nsteps:\n  - <<: *base\n    name: s\n';
    expect(readPipeline(text, 'p.yml').problems).toMatchObject([{ line: 2, column: 10 }]);
  });
});

describe('a mistake that only the facts show', () => {
  test('is told at its place: a secret that nobody gave, an image that no variable completes', () => {
    const text = 'steps:\n  - name: s\n    image: alpine:${TAG}\n    secrets: [token]\n';
    const pipeline = parsePipeline(text, 'p.yml');
    expect(() => compile(pipeline, { facts: defaultFacts })).toThrow(
      expect.objectContaining({
        code: 'ERR_PODWRIGHT_PIPELINE_INVALID',
        details: {
          problems: [
            expect.objectContaining({
              line: 3,
              column: 12,
              message: expect.stringContaining('a variable in it was not replaced'),
            }),
            expect.objectContaining({
              line: 4,
              column: 14,
              message: 'step "s" asks for the secret "token", which was not given',
            }),
          ],
        },
      }),
    );
  });

  test('is none for a step that its rules leave out', () => {
    const text = 'steps: [{ name: s, image: "alpine:${TAG}", secrets: [token], ruleset: { branch: dev } }]\n';
    expect(compile(parsePipeline(text, 'p.yml'), { facts: defaultFacts }).spec.containers).toEqual([]);
  });
});

test('artifacts of a detached step are said not to come back', () => {
  const step = 'name: s, image: i, commands: [x], artifacts: { paths: [out] }';
  const notes = (text: string): readonly string[] =>
    compile(parsePipeline(text, 'p.yml'), { facts: defaultFacts }).plan.notes;
  expect(notes(`steps: [{ ${step}, detach: true }]`)).toEqual([expect.stringContaining('"s": its artifacts are not')]);
  expect(notes(`steps: [{ ${step} }]`)).toEqual([]);
});

test('a script of any length reaches the runtime whole', () => {
  const long = 'x'.repeat(200_000);
  const { spec } = compile(parsePipeline(`steps: [{ name: s, image: i, commands: ["echo ${long}"] }]`, 'p.yml'), {
    facts: defaultFacts,
  });
  expect(spec.containers[0]?.script).toContain(`echo ${long}\n`);
});

test.each([
  ['imge', ['image', 'name'], 'image'],
  ['comands', ['commands', 'command'], 'commands'],
  ['nmae', ['name'], 'name'],
  ['something', ['name', 'image'], undefined],
  ['x', ['name'], undefined],
])('%s is near to %j: %s', (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});
