/** Waits that double with each failure, and are forgotten. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/clock.ts';
import { BackOff } from '../../../src/cluster/kubelet/back-off.ts';

test('they are 10, 20, 40 … seconds, 300 at most', () => {
  const clock = new VirtualClock(1_000_000);
  const backOff = new BackOff(clock, 10_000, 300_000);
  const seen: number[] = [];
  for (let at = 0; at < 7; at += 1) {
    backOff.next('image');
    seen.push(backOff.left('image') / 1_000);
    clock.advance(backOff.left('image'));
    expect(backOff.left('image')).toBe(0);
  }
  expect(seen).toEqual([10, 20, 40, 80, 160, 300, 300]);
});

test('each key has its own, and can be forgotten by how it begins', () => {
  const backOff = new BackOff(new VirtualClock(), 10_000, 300_000);
  backOff.next('a_1');
  backOff.next('a_2');
  backOff.next('b_1');
  backOff.forget('a_');
  expect([backOff.left('a_1'), backOff.left('a_2'), backOff.left('b_1')]).toEqual([0, 0, 10_000]);
});

test('counted from the failure itself it may be over before the next try is asked for', () => {
  const clock = new VirtualClock(0);
  const backOff = new BackOff(clock, 10_000, 300_000);
  backOff.next('crash', 0);
  clock.advance(4_000);
  expect(backOff.leftSince('crash', 0)).toBe(6_000);
  clock.advance(8_000);
  expect(backOff.leftSince('crash', 0)).toBe(0);
});

test('long after the last failure it begins anew', () => {
  const clock = new VirtualClock(0);
  const backOff = new BackOff(clock, 10_000, 300_000);
  backOff.next('image');
  backOff.next('image');
  clock.advance(700_000);
  backOff.next('image');
  expect(backOff.delay('image')).toBe(10_000);
});
