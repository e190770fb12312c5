// Time is what the clock says: timers fire in order, once, and never after they were canceled.
import { expect, test, vi } from 'vitest';
import { sleep, systemClock, VirtualClock } from '../src/clock.ts';

test('timers fire in order of time, then of scheduling', () => {
  const clock = new VirtualClock(1000);
  const fired: string[] = [];
  clock.schedule(20, () => fired.push(`b@${clock.now()}`));
  clock.schedule(10, () => fired.push(`a@${clock.now()}`));
  clock.schedule(20, () => fired.push(`c@${clock.now()}`));
  clock.advance(20);
  expect(fired).toEqual(['a@1010', 'b@1020', 'c@1020']);
});

test('a timer set by a timer fires in the same advance when its time has come', () => {
  const clock = new VirtualClock();
  const fired: number[] = [];
  clock.schedule(5, () => clock.schedule(5, () => fired.push(clock.now())));
  clock.advance(9);
  expect(fired).toEqual([]);
  clock.advance(1);
  expect(fired).toEqual([10]);
});

test('a canceled timer does not fire, and canceling twice is harmless', () => {
  const clock = new VirtualClock();
  const callback = vi.fn();
  const timer = clock.schedule(1, callback);
  timer.cancel();
  timer.cancel();
  clock.advance(10);
  expect(callback).not.toHaveBeenCalled();
  expect(clock.nextAt).toBeUndefined();
});

test('time never goes back', () => {
  const clock = new VirtualClock(100);
  clock.advanceTo(50);
  expect(clock.now()).toBe(100);
});

test('sleep rejects with the reason of the signal and leaves no timer', async () => {
  const clock = new VirtualClock();
  const controller = new AbortController();
  const slept = sleep(clock, 1000, controller.signal);
  controller.abort(new Error('enough'));
  await expect(slept).rejects.toThrow('enough');
  expect(clock.nextAt).toBeUndefined();
  await expect(sleep(clock, 1, controller.signal)).rejects.toThrow('enough');
});

test('the system clock honours delays beyond what setTimeout can hold', () => {
  vi.useFakeTimers();
  try {
    const callback = vi.fn();
    systemClock.schedule(2 ** 31 + 1000, callback);
    vi.advanceTimersByTime(2 ** 31 - 1);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1002);
    expect(callback).toHaveBeenCalledOnce();
  } finally {
    vi.useRealTimers();
  }
});
