/** Every wait ends, by its condition, its signal or the end of all, and leaves nothing behind. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { untilOr } from '../../src/runtime/until-or.ts';
import { Waiters } from '../../src/runtime/waiters.ts';

describe('until', () => {
  it('resolves at once when it is so already, also after the end of all', async () => {
    const waiters = new Waiters();
    waiters.close(new Error('closed'));
    await expect(waiters.until(() => 7)).resolves.toBe(7);
  });

  it('resolves at the change that makes it so, once', async () => {
    const waiters = new Waiters();
    let value: number | undefined;
    let reads = 0;
    const wait = waiters.until(() => {
      reads++;
      return value;
    });
    waiters.check();
    value = 1;
    waiters.check();
    value = 2;
    waiters.check();
    await expect(wait).resolves.toBe(1);
    expect(reads).toBe(3);
    expect(waiters.size).toBe(0);
  });

  it('takes null for a value', async () => {
    await expect(new Waiters().until(() => null)).resolves.toBe(null);
  });

  it('rejects with the reason of its signal and leaves no listener', async () => {
    const waiters = new Waiters();
    const controller = new AbortController();
    const wait = waiters.until(() => undefined, controller.signal);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    expect(waiters.size).toBe(0);
  });

  it('does not begin under a signal that has aborted, even when it is so', async () => {
    await expect(new Waiters().until(() => 1, AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });

  it('leaves no listener when it resolves', async () => {
    const waiters = new Waiters();
    const { signal } = new AbortController();
    let done: true | undefined;
    const wait = waiters.until(() => done, signal);
    done = true;
    waiters.check();
    await wait;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('is rejected by the end of all, now and later', async () => {
    const waiters = new Waiters();
    const wait = waiters.until(() => undefined);
    waiters.close(new Error('closed'));
    await expect(wait).rejects.toThrow('closed');
    await expect(waiters.until(() => undefined)).rejects.toThrow('closed');
  });

  it('a condition that throws harms only its own wait', async () => {
    const waiters = new Waiters();
    let ready = false;
    const bad = waiters.until(() => {
      if (ready) throw new Error('bad');
      return undefined;
    });
    const good = waiters.until(() => (ready ? 'good' : undefined));
    ready = true;
    waiters.check();
    await expect(bad).rejects.toThrow('bad');
    await expect(good).resolves.toBe('good');
  });
});

describe('untilOr', () => {
  it('gives undefined when the time is over first', async () => {
    const clock = new VirtualClock();
    const wait = untilOr(clock, new Waiters(), () => undefined, 100);
    clock.advance(100);
    await expect(wait).resolves.toBe(undefined);
    expect(clock.nextAt).toBe(undefined);
  });

  it('leaves no timer when it is so in time', async () => {
    const clock = new VirtualClock();
    const waiters = new Waiters();
    let value: string | undefined;
    const wait = untilOr(clock, waiters, () => value, 100);
    value = 'in time';
    waiters.check();
    await expect(wait).resolves.toBe('in time');
    expect(clock.nextAt).toBe(undefined);
  });

  it('has no limit with 0', () => {
    const clock = new VirtualClock();
    void untilOr(clock, new Waiters(), () => undefined, 0);
    expect(clock.nextAt).toBe(undefined);
  });
});
