/** A limit cancels the phase it belongs to, after a fresh look, and never one that is over. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import type { PlannedContainer } from '../../src/pod/plan.ts';
import type { ContainerState } from '../../src/runtime/actors.ts';
import { PhaseLimits } from '../../src/runtime/limits.ts';
import { aStep } from '../pod/specs.ts';

const container: PlannedContainer = { name: 'test', containerName: 'test', index: 0, request: aStep('test') };

function setUp(limits: { pullMs: number; runMs: number }, look: () => void = () => undefined) {
  const clock = new VirtualClock();
  const canceled: string[] = [];
  const state: { now: ContainerState } = { now: 'pulling' };
  const tested = new PhaseLimits({
    clock,
    timeouts: () => ({ scheduleMs: 0, startMs: 0, removeMs: 0, ...limits }),
    state: () => state.now,
    look: async () => look(),
    cancel: (_, phase) => canceled.push(phase),
  });
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await new Promise(setImmediate);
  };
  return { tested, clock, canceled, state, advance };
}

it('a pull that takes too long is canceled as pull', async () => {
  const { tested, canceled, advance } = setUp({ pullMs: 100, runMs: 50 });
  tested.requested(container);
  await advance(99);
  expect(canceled).toEqual([]);
  await advance(1);
  expect(canceled).toEqual(['pull']);
});

it('running ends the limit of the pull and begins that of the run', async () => {
  const { tested, canceled, state, advance, clock } = setUp({ pullMs: 100, runMs: 50 });
  tested.requested(container);
  state.now = 'running';
  tested.changed(container, 'running');
  await advance(49);
  expect(canceled).toEqual([]);
  await advance(1);
  expect(canceled).toEqual(['run']);
  expect(clock.nextAt).toBe(undefined);
});

it('what the fresh look finds out comes before the limit', async () => {
  const { tested, canceled, state, advance } = setUp({ pullMs: 100, runMs: 0 }, () => {
    state.now = 'running';
  });
  tested.requested(container);
  await advance(100);
  expect(canceled).toEqual([]);
});

it('0 is no limit', () => {
  const { tested, clock } = setUp({ pullMs: 0, runMs: 0 });
  tested.requested(container);
  tested.changed(container, 'running');
  expect(clock.nextAt).toBe(undefined);
});

it('an ending and the end of all leave no timer', () => {
  const { tested, clock } = setUp({ pullMs: 100, runMs: 100 });
  tested.requested(container);
  tested.changed(container, 'terminated');
  expect(clock.nextAt).toBe(undefined);
  tested.requested(container);
  tested.close();
  expect(clock.nextAt).toBe(undefined);
  tested.requested(container);
  expect(clock.nextAt).toBe(undefined);
});
