// What a build comes to that is canceled, fails by its runtime, or is run again.
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { PodwrightError } from '../../src/errors.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { failing, run, steps } from './run-scripted.ts';
import { canceled, type Life, ScriptedRuntime, terminated } from './scripted-runtime.ts';

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
