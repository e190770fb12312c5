// What a build looks like: on a terminal, in GitHub Actions, as JUnit XML and as a page.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SettledOutcome } from '../../machines/outcome.ts';
import { causes, phases, pullFailureClasses } from '../../machines/outcome.ts';
import { GithubReporter } from '../../src/cli/output/github.ts';
import { LiveReporter } from '../../src/cli/output/live.ts';
import { PlainReporter } from '../../src/cli/output/plain.ts';
import type { Reporter, SetupFacts } from '../../src/cli/output/reporter.ts';
import { explainOutcome } from '../../src/cli/output/words.ts';
import { htmlReport } from '../../src/cli/report/html.ts';
import { junitXml } from '../../src/cli/report/junit.ts';
import { keptLines, RecordingReporter, stepKey } from '../../src/cli/report/record.ts';
import { PodwrightError } from '../../src/errors.ts';
import type { ExecutorEvent, StepRef } from '../../src/executor/events.ts';
import type { Plan, PlannedStep } from '../../src/executor/plan.ts';
import type { StepResult } from '../../src/executor/result.ts';
import { testTerminal } from './test-terminal.ts';

const setup: SetupFacts = {
  version: '9.9.9',
  cluster: 'https://cluster.example.com',
  isEmbedded: false,
  kubernetes: 'v1.36.3',
  namespace: 'builds',
  placeholder: { image: 'pause', restartOn: 213 },
  warnings: [],
  file: 'a <b> & "c".yml',
};

const planned = (number: number, name: string): PlannedStep => ({
  name,
  stage: '',
  number,
  container: name,
  image: 'alpine:3',
  when: { runs: 'success' },
  detach: false,
  continues: false,
  artifacts: [],
});
const plan: Plan = {
  plugins: [],
  services: [],
  stages: [
    { name: '', needs: [], independent: false, steps: [planned(1, 'good'), planned(2, 'bad'), planned(3, 'never')] },
  ],
  notes: ['a note'],
};
const ref = (number: number, name: string): StepRef => ({ kind: 'step', name, stage: '', number, container: name });
const provenance = {
  decidedAt: 3_000,
  source: 'podStatus',
  resourceVersion: '4711',
  containerID: 'containerd://abc',
} as const;
const ended = (exitCode: number, message: string | null = null): SettledOutcome => ({
  outcome: 'terminated',
  exitCode,
  cause: exitCode === 0 ? 'completed' : 'error',
  message,
  startedAt: null,
  finishedAt: null,
  provenance,
});
const result = (number: number, name: string, rest: Partial<StepResult>): StepResult => ({
  kind: 'step',
  name,
  stage: '',
  number,
  image: 'alpine:3',
  status: 'succeeded',
  continues: false,
  reason: null,
  outcome: ended(0),
  startedAt: 1_000,
  endedAt: 2_500,
  ...rest,
});

const good = result(1, 'good', {});
const bad = result(2, 'bad', { status: 'failed', outcome: ended(3, 'it <broke>'), startedAt: 2_500, endedAt: 3_000 });
const never = result(3, 'never', {
  status: 'skipped',
  reason: 'an earlier step failed',
  outcome: null,
  startedAt: null,
  endedAt: null,
});

const log = (step: StepRef, line: string): ExecutorEvent => ({
  type: 'step.log',
  at: 0,
  step,
  line,
  time: '',
  partial: false,
  gap: null,
});

const story: readonly ExecutorEvent[] = [
  { type: 'build.prepared', at: 0, build: 'b1', namespace: 'builds', pod: 'pw-b1', plan, limits: ['a limit'] },
  { type: 'build.assembled', at: 500, node: 'node-1', retriesPulls: true },
  { type: 'step.started', at: 1_000, step: ref(1, 'good'), image: 'alpine:3' },
  { type: 'step.state', at: 1_000, step: ref(1, 'good'), state: 'pulling', outcome: null },
  {
    type: 'kube.event',
    at: 1_100,
    reason: 'Pulled',
    message: 'Successfully pulled image "alpine:3" in 1.2s (1.2s including waiting)',
    severity: 'Normal',
    container: 'good',
  },
  log(ref(1, 'good'), '::warning::not a command'),
  log(ref(1, 'good'), '\u001b[31mred\u001b[0m <tag> & \u0001'),
  { type: 'step.settled', at: 2_500, step: ref(1, 'good'), result: good },
  { type: 'step.started', at: 2_500, step: ref(2, 'bad'), image: 'alpine:3' },
  { type: 'step.settled', at: 3_000, step: ref(2, 'bad'), result: bad },
  { type: 'step.skipped', at: 3_000, step: ref(3, 'never'), reason: 'an earlier step failed' },
  { type: 'build.removed', at: 3_100, report: { gone: true, forced: false, remaining: [] } },
  {
    type: 'build.settled',
    at: 3_200,
    result: {
      id: 'b1',
      outcome: 'failed',
      steps: [good, bad, never],
      error: null,
      timedOut: false,
      removal: { gone: true, forced: false, remaining: [] },
      startedAt: 0,
      endedAt: 3_200,
      retries: 0,
    },
  },
];

function tell(reporter: Reporter, events = story): void {
  reporter.begin(setup);
  for (const event of events) reporter.event(event);
  reporter.close();
}

function recorded(events = story) {
  const reporter = new RecordingReporter();
  tell(reporter, events);
  if (reporter.record === undefined) throw new Error('nothing was recorded');
  return reporter.record;
}

describe('on a terminal', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('what runs is shown below the lines, and taken away before the summary', () => {
    const terminal = testTerminal({ interactive: true, width: 40 });
    const region = terminal.openRegion();
    if (region === undefined) throw new Error('no region');
    let now = 0;
    const reporter = new LiveReporter(terminal, region, { logs: 'all' }, () => now);
    reporter.begin(setup);
    for (const event of story) {
      now = event.at;
      reporter.event(event);
      vi.advanceTimersByTime(100);
    }
    const shown = terminal.shown.filter((text) => text !== undefined);
    expect(shown.some((text) => text.includes('waiting for a node'))).toBe(true);
    expect(shown.some((text) => text.includes('good') && text.includes('pulling its image'))).toBe(true);
    expect(shown.some((text) => text.includes('image pulled in 1.2s'))).toBe(true);
    expect(shown.some((text) => text.includes('1 of 3 steps'))).toBe(true);
    for (const text of shown) for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(40);
    expect(terminal.shown.at(-1)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
    expect(terminal.said.out).toMatch(
      /\[bad\] failed: exit code 3 after 0\.5 s\n[\s\S]*Summary\n[\s\S]*Build failed after 3\.2 s\.\n$/,
    );
  });

  test.each([
    ['\u001b[31mred', '\u001b[31mred\u001b[0m'],
    ['10 %\r20 %\r100 %\r', '100 %'],
    ['up\u001b[1A\u001b[2Kand\u001b[?25l away\u001b]0;title\u0007\u0008', 'upand away'],
    ['a\ttab', 'a\ttab'],
  ])('a line of a log disturbs nothing around it: %j', (line, shown) => {
    const terminal = testTerminal({ interactive: true });
    const region = terminal.openRegion();
    if (region === undefined) throw new Error('no region');
    const reporter = new LiveReporter(terminal, region, { logs: 'all' }, () => 0);
    reporter.event(log(ref(1, 'good'), line));
    reporter.close();
    expect(terminal.said.out).toBe(`[good] ${shown}\n`);
  });

  test('more steps than fit are counted', () => {
    const terminal = testTerminal({ interactive: true });
    const region = terminal.openRegion();
    if (region === undefined) throw new Error('no region');
    const reporter = new LiveReporter(terminal, region, { logs: 'all' }, () => 0);
    for (let number = 1; number <= 40; number++) {
      reporter.event({ type: 'step.started', at: 0, step: ref(number, `s${number}`), image: 'x' });
    }
    reporter.close();
    expect(terminal.shown.findLast((text) => text !== undefined)).toContain('and 28 more');
  });
});

describe('of a build that is run again', () => {
  const again: ExecutorEvent = { type: 'build.retried', at: 3_000, retry: 1, reason: 'evicted' };
  const first: readonly ExecutorEvent[] = [
    ...story.slice(0, 3),
    log(ref(1, 'good'), 'of the first run'),
    { type: 'step.settled', at: 2_500, step: ref(1, 'good'), result: good },
  ];

  test('the block counts the steps of the new run alone', () => {
    vi.useFakeTimers();
    const terminal = testTerminal({ interactive: true });
    const region = terminal.openRegion();
    if (region === undefined) throw new Error('no region');
    const reporter = new LiveReporter(terminal, region, { logs: 'all' }, () => 0);
    for (const event of [...first, again, ...story.slice(0, 3)]) reporter.event(event);
    expect(terminal.shown.at(-1)).toContain('0 of 3 steps');
    reporter.close();
    vi.useRealTimers();
  });

  test('logs of the first run are no part of a failure of the second', () => {
    const terminal = testTerminal();
    const reporter = new PlainReporter(terminal, { logs: 'failed' });
    const failed = result(1, 'good', { status: 'failed', outcome: ended(3) });
    for (const event of [...first, again, log(ref(1, 'good'), 'of the second')]) reporter.event(event);
    reporter.event({ type: 'step.settled', at: 5_000, step: ref(1, 'good'), result: failed });
    expect(terminal.said.out).toContain('of the second');
    expect(terminal.said.out).not.toContain('of the first run');
  });
});

describe('in GitHub Actions', () => {
  test('each step is a group, its log is no command, its failure an annotation', () => {
    const terminal = testTerminal();
    tell(new GithubReporter(terminal));
    const { out } = terminal.said;
    const group =
      /::group::good: succeeded\n::stop-commands::(\S+)\n::warning::not a command\n[^\n]*\n::(\S+)::\n::endgroup::\n/.exec(
        out,
      );
    expect(group?.[1]).toBe(group?.[2]);
    expect(group?.[1]).toMatch(/^[0-9a-f-]{36}$/);
    expect(out).toContain('::error title=bad::exit code 3: it <broke>\n');
  });
});

describe('as JUnit XML', () => {
  test('counts, failures and output are there, and nothing that XML refuses', () => {
    const xml = junitXml(recorded());
    expect(xml).toContain('tests="3" failures="1" errors="0" skipped="1" time="3.200"');
    expect(xml).toContain('name="a &lt;b&gt; &amp; &quot;c&quot;.yml"');
    expect(xml).toContain('<failure message="exit code 3" type="error">it &lt;broke&gt;</failure>');
    expect(xml).toContain('red &lt;tag&gt; &amp; \ufffd');
    expect(xml).toContain('<skipped message="skipped: an earlier step failed"/>');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be there
    expect(xml).not.toMatch(/[\u0000-\u0008\u001b]/);
  });

  test('an error of the build is a case of its own', () => {
    const last = story.at(-1);
    if (last?.type !== 'build.settled') throw new Error('the story has no end');
    const error = new PodwrightError('ERR_PODWRIGHT_POD_LOST', 'the pod\nis gone');
    const record = recorded([{ ...last, result: { ...last.result, outcome: 'error', steps: [], error } }]);
    expect(junitXml(record)).toContain('<error message="the pod&#10;is gone" type="ERR_PODWRIGHT_POD_LOST"/>');
    expect(junitXml(record)).toContain('tests="1" failures="0" errors="1"');
  });
});

describe('as a page', () => {
  test('it tells all, needs nothing else, and nothing in it is markup that was not meant', () => {
    const page = htmlReport(recorded());
    for (const text of [
      'a &lt;b&gt; &amp; &quot;c&quot;.yml',
      'containerd://abc',
      '4711',
      'it &lt;broke&gt;',
      'a note',
      'a limit',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toMatch(/<script|<tag>|src=|href="(?!data:)/);
  });
});

test('of a log that is very long the beginning and the end stay', () => {
  const step = ref(1, 'good');
  const lines = Array.from({ length: keptLines * 3 }, (_, index) => log(step, `line ${index}`));
  const last = story.at(-1);
  const kept = recorded([...lines, ...(last === undefined ? [] : [last])]).logs.get(stepKey(step)) ?? [];
  expect(kept.length).toBeLessThanOrEqual(keptLines * 1.5 + 1);
  expect(kept[0]).toBe('line 0');
  expect(kept.at(-1)).toBe(`line ${keptLines * 3 - 1}`);
  expect(kept.find((line) => line.startsWith('…'))).toMatch(/… \d+ lines are left out here/);
});

describe('every ending has words', () => {
  test.each(causes)('terminated by %s', (cause) => {
    const { what } = explainOutcome({ ...ended(1), cause } as SettledOutcome);
    expect(what).toMatch(/\w/);
  });
  test.each(pullFailureClasses)('not pulled: %s', (kind) => {
    const outcome: SettledOutcome = {
      outcome: 'pullFailed',
      class: kind,
      permanent: false,
      retried: true,
      message: null,
      attempts: 3,
      provenance,
    };
    expect(explainOutcome(outcome).what).toMatch(/^image not pulled: .*\(3 attempts\)$/);
    expect(explainOutcome(outcome).remedy).toMatch(/Running again may help\.$/);
  });
  test.each(phases)('out of time in the phase %s', (phase) => {
    const outcome: SettledOutcome = { outcome: 'canceled', reason: 'timeout', phase, provenance };
    expect(explainOutcome(outcome).remedy).toMatch(/\w/);
  });
});
