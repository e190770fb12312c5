import { describe, expect, test } from 'vitest';
import { type BuildFacts, defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import { decide } from '../../src/executor/rules.ts';

const facts: BuildFacts = { ...defaultFacts, paths: ['src/a.ts', 'README.md'], labels: ['bug'], sender: 'ada' };

/** The decision for a step with this ruleset, written in one line of YAML. */
function decideFor(ruleset: string, known: Partial<BuildFacts> = {}): string {
  const pipeline = parsePipeline(`steps: [{ name: s, image: i, ruleset: ${ruleset} }]`, 'r.yml');
  const step = pipeline.stages[0]?.steps[0];
  if (step === undefined) throw new Error('no step');
  const decision = decide(step.ruleset, { facts: { ...facts, ...known }, environment: { A: '1' } });
  return decision.runs === 'never' ? `never: ${decision.reason}` : decision.runs;
}

describe('a step without a rule on the status runs while the build is well', () => {
  test.each([
    ['{}', 'success'],
    ['{ continue: true }', 'success'],
    ['{ branch: main }', 'success'],
    ['{ branch: [dev, "m*"] }', 'success'],
    ['{ branch: main, event: push }', 'success'],
    ['{ branch: dev, event: push }', 'never: branch is "main", not dev'],
    ['{ branch: dev, event: push, operator: or }', 'success'],
    ['{ branch: dev, event: tag, operator: or }', 'never: none of its rules holds: event is "push", not tag'],
    ['{ path: "docs/*" }', 'never: path is "src/a.ts", "README.md", not docs/*'],
    ['{ path: "*.md" }', 'success'],
    ['{ label: bug }', 'success'],
    ['{ tag: "v*" }', 'never: tag is "", not v*'],
    ['{ branch: "^m", matcher: regexp }', 'success'],
    ['{ branch: "^m", matcher: filepath }', 'never: branch is "main", not ^m'],
    ['{ unless: { branch: main } }', 'never: its "unless" holds: branch is "main"'],
    ['{ unless: { branch: dev } }', 'success'],
    ['{ if: { event: push }, unless: { sender: bot } }', 'success'],
    ['{ if: { event: tag }, event: push }', 'success'],
    ['{ eval: "A == \'1\'" }', 'success'],
    ['{ eval: "A == \'2\'" }', "never: eval A == '2' is false"],
  ])('%s: %s', (ruleset, expected) => {
    expect(decideFor(ruleset)).toBe(expected);
  });
});

describe('a rule on the status says when', () => {
  test.each([
    ['{ status: success }', 'success'],
    ['{ status: failure }', 'failure'],
    ['{ status: [success, failure] }', 'always'],
    ['{ unless: { status: failure } }', 'success'],
    ['{ unless: { status: success } }', 'failure'],
    ['{ status: failure, branch: dev }', 'never: branch is "main", not dev'],
    ['{ status: failure, branch: main }', 'failure'],
    ['{ status: failure, branch: main, operator: or }', 'always'],
  ])('%s: %s', (ruleset, expected) => {
    expect(decideFor(ruleset)).toBe(expected);
  });
});

describe('an event without an action stands for the usual ones', () => {
  test.each([
    ['pull_request', 'opened', 'success'],
    ['pull_request', 'synchronize', 'success'],
    [
      'pull_request',
      'edited',
      'never: event is "pull_request:edited", not pull_request:opened or pull_request:synchronize or pull_request:reopened',
    ],
    ['comment', 'created', 'success'],
    ['deployment', 'created', 'success'],
  ] as const)('%s with %s', (event, action, expected) => {
    expect(decideFor(`{ event: ${event} }`, { event, action })).toBe(expected);
  });

  test('a star stands for all', () => {
    expect(decideFor('{ event: "pull_request*" }', { event: 'pull_request', action: 'labeled' })).toBe('success');
  });
});
