// The names of the states are those of the machines that ship: this file does not compile, or fails, when they part.

import { expect, test } from 'vitest';
import { buildMachine, containerMachine, podMachine } from '../../machines/index.ts';
import type { BuildState, ContainerState, PodState } from '../../machines/states.ts';

const build: Record<BuildState, true> = {
  setup: true,
  assembling: true,
  running: true,
  succeeded: true,
  failed: true,
  canceled: true,
  errored: true,
  removed: true,
};
const pod: Record<PodState, true> = { creating: true, pending: true, running: true, ending: true, gone: true };
const container: Record<ContainerState, true> = {
  pending: true,
  pulling: true,
  pullFailed: true,
  running: true,
  terminated: true,
  canceled: true,
};

test.each([
  ['build', buildMachine, build],
  ['pod', podMachine, pod],
  ['container', containerMachine, container],
])('the state names of the %s are those of its machine', (_, machine, names) => {
  expect(Object.keys(machine.root.states).sort()).toEqual(Object.keys(names).sort());
});
