import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { PodwrightError } from '../../src/errors.ts';
import { compile } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { type ExecuteOptions, execute } from '../../src/executor/execute.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { BuildResult } from '../../src/executor/result.ts';
import { canceled, type Life, pullFailed, ScriptedRuntime, terminated } from './scripted-runtime.ts';

/** Steps named a, b, c, … each on a line: `a`, `b: status failure`. */
function steps(...lines: readonly string[]): string {
  const step = (line: string): string => {
    const [name, ruleset] = line.split(': ').map((part) => part.replace(' ', ': '));
    return `  - { name: ${name}, image: alpine, commands: [x]${ruleset === undefined ? '' : `, ruleset: { ${ruleset} }`} }`;
  };
  return ['steps:', ...lines.map(step)].join('\n');
}

interface Ran {
  readonly result: BuildResult;
  readonly events: readonly ExecutorEvent[];
  readonly runtime: ScriptedRuntime;
  readonly statuses: Readonly<Record<string, string>>;
}

async function run(
  text: string,
  lives: Readonly<Record<string, Life>> = {},
  options: Partial<ExecuteOptions> = {},
  runtime = new ScriptedRuntime(lives),
): Promise<Ran> {
  const events: ExecutorEvent[] = [];
  const compiled = compile(parsePipeline(text, 'test.yml'), { facts: defaultFacts });
  const result = await execute(compiled, {
    runtime: runtime.asRuntime(),
    id: 'b1',
    on: (event) => events.push(event),
    ...options,
  });
  const statuses = Object.fromEntries(result.steps.map((step) => [step.name, step.status]));
  return { result, events, runtime, statuses };
}

const failing: Life = { ends: terminated(3) };

describe('steps', () => {
  test('run in order, each after the verdict of the one before', async () => {
    const { result, runtime, events } = await run(steps('a', 'b', 'c'));
    expect(result.outcome).toBe('succeeded');
    expect(runtime.calls).toEqual([
      'setup b1',
      'assemble',
      'run a',
      'run b',
      'run c',
      'conclude succeeded',
      'remove b1',
    ]);
    expect(events.map((event) => event.type)).toEqual([
      'build.prepared',
      'build.assembled',
      ...['a', 'b', 'c'].flatMap(() => ['step.started', 'step.settled']),
      'build.removed',
      'build.settled',
    ]);
  });

  test('stop at the first failure, and say so of those not run', async () => {
    const { result, runtime, statuses } = await run(steps('a', 'b', 'c'), { b: failing });
    expect(runtime.started).toEqual(['a', 'b']);
    expect(statuses).toEqual({ a: 'succeeded', b: 'failed', c: 'skipped' });
    expect(result.outcome).toBe('failed');
    expect(result.steps[1]?.outcome).toMatchObject({ exitCode: 3, cause: 'error' });
    expect(result.steps[2]?.reason).toBe('an earlier step failed');
  });

  test('that ask for the status run by it', async () => {
    const text = steps('a', 'b', 'c: status failure', 'd: status [success, failure]');
    expect((await run(text)).statuses).toEqual({ a: 'succeeded', b: 'succeeded', c: 'skipped', d: 'succeeded' });
    const failed = await run(text, { a: failing });
    expect(failed.statuses).toEqual({ a: 'failed', b: 'skipped', c: 'succeeded', d: 'succeeded' });
    expect(failed.result.outcome).toBe('failed');
  });

  test('whose failure is to be ignored leave the build a success', async () => {
    const { result, statuses } = await run(steps('a: continue true', 'b'), { a: failing });
    expect(statuses).toEqual({ a: 'failed', b: 'succeeded' });
    expect(result.outcome).toBe('succeeded');
  });

  test('left out by a rule have no container and tell the reason', async () => {
    const { result, runtime, events } = await run(steps('a', 'b: branch dev'));
    expect(runtime.spec.containers.map((container) => container.name)).toEqual(['a']);
    expect(result.steps[1]).toMatchObject({ status: 'skipped', reason: 'branch is "main", not dev' });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'step.skipped', reason: 'branch is "main", not dev' }),
    );
  });

  test('with an exit code of 0 that is not proven are no success', async () => {
    const { result } = await run(steps('a', 'b'), { a: { ends: terminated(0, 'podDeleted') } });
    expect(result.outcome).toBe('error');
    expect(result.steps[1]).toMatchObject({ status: 'skipped', reason: 'the pod has ended' });
  });

  test('whose image cannot be had fail the build with the words of the registry', async () => {
    const { result } = await run(steps('a'), { a: { ends: pullFailed('notFound', 'manifest unknown') } });
    expect(result.outcome).toBe('failed');
    expect(result.steps[0]?.outcome).toMatchObject({ class: 'notFound', message: 'manifest unknown' });
  });

  test.each([
    ['evicted', 'error'],
    ['nodeLost', 'error'],
    ['placeholderLost', 'error'],
    ['unknown', 'error'],
    ['oomKilled', 'failed'],
    ['startError', 'failed'],
    ['configError', 'failed'],
    ['initFailed', 'failed'],
    ['deadlineExceeded', 'failed'],
  ] as const)('that end as %s make the build %s', async (cause, outcome) => {
    expect((await run(steps('a'), { a: { ends: terminated(null, cause) } })).result.outcome).toBe(outcome);
  });

  test('whose last log lines do not come get their verdict all the same, and the loss is told', async () => {
    const clock = new VirtualClock();
    const logHangs = { log: ['one'], logHangs: true };
    const ran = run(steps('a', 'b'), { a: { ...logHangs, ends: terminated(0) }, b: failing }, { clock });
    while (clock.nextAt === undefined) await new Promise(setImmediate);
    clock.advanceTo(clock.nextAt);
    const { events, statuses } = await ran;
    expect(statuses).toEqual({ a: 'succeeded', b: 'failed' });
    expect(events.filter((event) => event.type === 'step.log').map(({ line, gap }) => [line, gap?.reason])).toEqual([
      ['one', undefined],
      ['', 'unavailable'],
    ]);
  });

  test('have their log lines masked and in order', async () => {
    const { events } = await run(steps('a'), { a: { log: ['one', 'secret two', 'three'] } }, { masked: ['secret'] });
    const lines = events.filter((event) => event.type === 'step.log').map((event) => event.line);
    expect(lines).toEqual(['one', '*** two', 'three']);
    expect(events.findIndex((event) => event.type === 'step.settled')).toBeGreaterThan(
      events.findLastIndex((event) => event.type === 'step.log'),
    );
  });
});

describe('stages', () => {
  const diamond = `
stages:
  last: { needs: [left, right], steps: [{ name: d, image: alpine, commands: [x] }] }
  left: { needs: [first], steps: [{ name: b, image: alpine, commands: [x] }] }
  right: { needs: first, steps: [{ name: c, image: alpine, commands: [x] }] }
  first: { steps: [{ name: a, image: alpine, commands: [x] }] }
`;

  test('start when what they need has ended, whatever their order in the file', async () => {
    const runtime = new ScriptedRuntime({ 'left/b': { runsOn: true }, 'right/c': { runsOn: true } });
    const done = run(diamond, {}, {}, runtime);
    await expect.poll(() => runtime.started).toEqual(['first/a', 'left/b', 'right/c']);
    runtime.end('right/c');
    runtime.end('left/b');
    const { result } = await done;
    expect(runtime.started).toEqual(['first/a', 'left/b', 'right/c', 'last/d']);
    expect(result.outcome).toBe('succeeded');
  });

  test('after a failure run only what asks for it', async () => {
    const { statuses, result } = await run(diamond, { 'left/b': failing });
    expect(result.outcome).toBe('failed');
    expect(statuses).toMatchObject({ b: 'failed', d: 'skipped' });
  });

  test('that are independent look at their own steps alone', async () => {
    const text = `
stages:
  bad: { steps: [{ name: a, image: alpine, commands: [x] }] }
  free: { needs: bad, independent: true, steps: [{ name: b, image: alpine, commands: [x] }, { name: c, image: alpine, commands: [x] }] }
  bound: { needs: bad, steps: [{ name: d, image: alpine, commands: [x] }] }
`;
    const { statuses } = await run(text, { 'bad/a': failing, 'free/b': failing });
    expect(statuses).toEqual({ a: 'failed', b: 'failed', c: 'skipped', d: 'skipped' });
    expect((await run(text, { 'bad/a': failing })).statuses).toMatchObject({ b: 'succeeded', c: 'succeeded' });
  });
});

describe('what runs beside the steps', () => {
  const withService = `services: [{ name: db, image: postgres }]\n${steps('a', 'b')}`;

  test('a service runs on to the end of the build and is no failure', async () => {
    const { result, statuses, runtime } = await run(withService, { db: { runsOn: true, log: ['ready'] } });
    expect(runtime.started).toEqual(['db', 'a', 'b']);
    expect(statuses).toEqual({ db: 'detached', a: 'succeeded', b: 'succeeded' });
    expect(result.outcome).toBe('succeeded');
  });

  test('what a service has printed by the end of the steps is told before it is settled', async () => {
    const lives = { db: { runsOn: true, log: ['ready'], lastLines: ['query', 'done'] } };
    const { events } = await run(withService, lives);
    const ofService = events.filter((event) => 'step' in event && event.step.name === 'db');
    expect(ofService.map((event) => (event.type === 'step.log' ? event.line : event.type))).toEqual([
      'step.started',
      'ready',
      'query',
      'done',
      'step.settled',
    ]);
  });

  test('a service whose log cannot be read to its end does not hold the build up', async () => {
    const clock = new VirtualClock();
    const ran = run(withService, { db: { runsOn: true, logHangs: true } }, { clock });
    while (clock.nextAt === undefined) await new Promise(setImmediate);
    clock.advanceTo(clock.nextAt);
    expect((await ran).result.outcome).toBe('succeeded');
  });

  test('a service that dies is told at once, and the steps decide', async () => {
    const runtime = new ScriptedRuntime({ db: { runsOn: true }, a: { runsOn: true } });
    const events: ExecutorEvent[] = [];
    const done = run(withService, {}, { on: (event) => events.push(event) }, runtime);
    await expect.poll(() => runtime.started).toEqual(['db', 'a']);
    runtime.end('db', terminated(1));
    await expect
      .poll(() => events.some((event) => event.type === 'step.settled' && event.step.name === 'db'))
      .toBe(true);
    expect(runtime.started).toEqual(['db', 'a']);
    runtime.end('a');
    const { result } = await done;
    expect(result.outcome).toBe('succeeded');
    expect(result.steps[0]).toMatchObject({ name: 'db', status: 'failed', continues: true });
  });

  test('a service that cannot start fails the build', async () => {
    const { result, runtime } = await run(withService, { db: { ends: pullFailed('denied', 'no') } });
    expect(result.outcome).toBe('failed');
    expect(runtime.started).toEqual(['db']);
  });

  test('the first step waits for a service with a port, and not for ever', async () => {
    const text = `services: [{ name: db, image: postgres, ports: [5432] }]\n${steps('a')}`;
    const well = await run(text, { db: { runsOn: true } });
    expect(well.runtime.calls.slice(2, 5)).toEqual(['run db', 'ready db', 'run a']);
    expect(well.runtime.spec.containers[0]?.readiness).toEqual({ tcpPort: 5432 });

    const clock = new VirtualClock();
    const late = run(
      text,
      {},
      { clock, serviceReadyMs: 5_000 },
      new ScriptedRuntime({ db: { runsOn: true, neverReady: true } }),
    );
    await expect.poll(() => clock.nextAt).toBe(5_000);
    clock.advance(5_000);
    const { result, events } = await late;
    expect(result.outcome).toBe('succeeded');
    expect(events).toContainEqual(expect.objectContaining({ type: 'service.ready', isReady: false, afterMs: 5_000 }));
  });

  test('a detached step that cannot start fails the build, unless it may', async () => {
    const text = (more: string): string =>
      `steps: [{ name: a, image: alpine, detach: true${more} }, { name: b, image: alpine, commands: [x] }]`;
    const lives = { a: { ends: pullFailed('notFound', 'no') } };
    expect((await run(text(''), lives)).result.outcome).toBe('failed');
    const { result, statuses } = await run(text(', ruleset: { continue: true }'), lives);
    expect(result.outcome).toBe('succeeded');
    expect(statuses).toEqual({ a: 'failed', b: 'succeeded' });
  });

  test('a detached step that fails later leaves the verdict to the others, and is marked so', async () => {
    const text = 'steps: [{ name: a, image: alpine, detach: true }, { name: b, image: alpine, commands: [x] }]';
    const runtime = new ScriptedRuntime({ a: { runsOn: true }, b: { runsOn: true } });
    const done = run(text, {}, {}, runtime);
    await expect.poll(() => runtime.started).toEqual(['a', 'b']);
    runtime.end('a', terminated(5));
    runtime.end('b');
    const { result } = await done;
    expect(result.outcome).toBe('succeeded');
    expect(result.steps).toMatchObject([
      { status: 'failed', continues: true },
      { status: 'succeeded', continues: false },
    ]);
  });

  test('a detached step does not hold the next one up', async () => {
    const text = 'steps: [{ name: a, image: alpine, detach: true }, { name: b, image: alpine, commands: [x] }]';
    const { statuses, runtime } = await run(text, { a: { runsOn: true } });
    expect(runtime.started).toEqual(['a', 'b']);
    expect(statuses).toEqual({ a: 'detached', b: 'succeeded' });
  });
});

describe('a cancel', () => {
  test('ends the running step, starts no other, and removes the pod', async () => {
    const abort = new AbortController();
    const runtime = new ScriptedRuntime({ b: { runsOn: true } });
    const done = run(steps('a', 'b', 'c'), {}, { signal: abort.signal }, runtime);
    await expect.poll(() => runtime.started).toEqual(['a', 'b']);
    abort.abort();
    const { result, statuses } = await done;
    expect(statuses).toEqual({ a: 'succeeded', b: 'canceled', c: 'canceled' });
    expect(result.outcome).toBe('canceled');
    expect(runtime.calls.slice(-3)).toEqual(['cancel caller', 'conclude canceled', 'remove b1']);
  });

  test('while the sources are brought in is no fault of who brings them', async () => {
    const abort = new AbortController();
    const prepare = (_: unknown, signal: AbortSignal): Promise<void> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
        abort.abort();
      });
    const { result, runtime } = await run(steps('a'), {}, { signal: abort.signal, prepare });
    expect(result).toMatchObject({ outcome: 'canceled', error: null });
    expect(runtime.started).toEqual([]);
  });

  test('before the start still removes what there may be', async () => {
    const { result, runtime } = await run(steps('a'), {}, { signal: AbortSignal.abort() });
    expect(result.outcome).toBe('canceled');
    expect(runtime.started).toEqual([]);
    expect(runtime.calls.at(-1)).toBe('remove b1');
  });

  test('by the time limit of the build is a failure of its own', async () => {
    const clock = new VirtualClock();
    const runtime = new ScriptedRuntime({ a: { runsOn: true } });
    const done = run(steps('a', 'b'), {}, { clock, timeoutMs: 60_000 }, runtime);
    await expect.poll(() => runtime.started).toEqual(['a']);
    clock.advance(60_000);
    const { result } = await done;
    expect(result).toMatchObject({ outcome: 'failed', timedOut: true });
    expect(result.steps[0]?.outcome).toEqual(canceled('timeout'));
  });

  test('by the time limit is no failure that a step may have', async () => {
    const clock = new VirtualClock();
    const runtime = new ScriptedRuntime({ a: { runsOn: true } });
    const done = run(steps('a: continue true'), {}, { clock, timeoutMs: 60_000 }, runtime);
    await expect.poll(() => runtime.started).toEqual(['a']);
    clock.advance(60_000);
    expect((await done).result).toMatchObject({ outcome: 'failed', timedOut: true });
  });
});

describe('a failure of the runtime', () => {
  const lost = new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', 'no answer');

  test('while a step starts is the error of the build, and the pod is removed', async () => {
    const { result, runtime } = await run(steps('a', 'b'), { a: { throws: lost } });
    expect(result).toMatchObject({ outcome: 'error', error: lost });
    expect(runtime.calls.at(-1)).toBe('remove b1');
  });

  test('during the removal is told as what is left', async () => {
    const runtime = new ScriptedRuntime();
    runtime.failRemoval = lost;
    const { result } = await run(steps('a'), {}, {}, runtime);
    expect(result.outcome).toBe('succeeded');
    expect(result.removal).toEqual({ gone: false, forced: false, remaining: ['pod test/pod-b1: no answer'] });
  });

  test('that is a fault of the program itself is thrown, after the pod is removed', async () => {
    const runtime = new ScriptedRuntime();
    const fault = (event: ExecutorEvent): void => {
      if (event.type === 'step.started') throw new TypeError('a listener is broken');
    };
    await expect(run(steps('a'), {}, { on: fault }, runtime)).rejects.toThrow('a listener is broken');
    expect(runtime.calls.at(-1)).toBe('remove b1');
  });
});

describe('retries', () => {
  test('run the whole build again when the infrastructure ended it', async () => {
    const runtime = new ScriptedRuntime({ b: { ends: terminated(null, 'evicted') } });
    const { result, events } = await run(steps('a', 'b'), {}, { retries: 2 }, runtime);
    expect(result).toMatchObject({ outcome: 'succeeded', retries: 1, id: 'b1-retry-1' });
    expect(runtime.started).toEqual(['a', 'b', 'a', 'b']);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'build.retried', reason: 'step "b" ended by the infrastructure: evicted' }),
    );
  });

  test('do not run what failed by itself again', async () => {
    const { result, runtime } = await run(steps('a'), { a: failing }, { retries: 5 });
    expect(result).toMatchObject({ outcome: 'failed', retries: 0 });
    expect(runtime.started).toEqual(['a']);
  });

  test('end at their number', async () => {
    const evicted: Life = { ends: terminated(137, 'evicted') };
    const runtime = new ScriptedRuntime({ a: evicted });
    runtime.nextLives = [{ a: evicted }, { a: evicted }];
    const { result } = await run(steps('a'), {}, { retries: 2 }, runtime);
    expect(result).toMatchObject({ outcome: 'error', retries: 2 });
  });
});
