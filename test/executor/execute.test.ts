// What a plan comes to when all goes its way, or a step, a stage or a service does not.
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { failing, run, steps } from './run-scripted.ts';
import { pullFailed, ScriptedRuntime, terminated } from './scripted-runtime.ts';

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
