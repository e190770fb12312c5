import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import { createActor } from 'xstate';
import { buildMachine, containerMachine, defaultGrace, podMachine } from '../../machines/index.ts';
import { diagrams } from './diagrams.ts';
import { edgesOf } from './model.ts';

const machines: Readonly<Record<string, AnyStateMachine>> = {
  container: containerMachine,
  pod: podMachine,
  build: buildMachine,
};

describe('the picture of a machine', () => {
  test.each(diagrams())(
    '$name in docs/images is that of the machine as it is now (npm run docs:machines)',
    ({ file, svg }) => {
      expect(readFileSync(file, 'utf8')).toBe(svg);
    },
  );

  test.each(diagrams())('$name shows every state and every guard', ({ name, svg }) => {
    const machine = machines[name];
    if (machine === undefined) throw new Error(`no machine ${name}`);
    for (const state of Object.keys(machine.states)) expect(svg).toContain(`>${state}</text>`);
    for (const { name: edge } of edgesOf(machine)) {
      const guard = /\[(\w+)\]/.exec(edge)?.[1];
      if (guard !== undefined) expect(svg).toContain(`[${guard}]`);
    }
  });

  test.each(diagrams())('$name is in its page, which tells of every state', ({ name }) => {
    const page = readFileSync(new URL(`../../docs/${name}-machine.md`, import.meta.url), 'utf8');
    expect(page).toContain(`(images/${name}-machine.svg)`);
    for (const state of Object.keys(machines[name]?.states ?? {})) expect(page).toContain(`\`${state}\``);
  });
});

describe('a machine', () => {
  test.each(Object.entries(machines))('%s resolves its initial state and every target', (_name, machine) => {
    const containers = ['a'];
    const actor = createActor(machine, { input: { id: 'x', name: 'a', containers, grace: defaultGrace } });
    actor.start();
    expect(actor.getSnapshot().status).toBe('active');
    expect(edgesOf(machine).length).toBeGreaterThan(0);
    actor.stop();
  });

  test.each(Object.entries(machines))('%s is flat and needs nothing but messages', (_name, machine) => {
    const config = JSON.stringify(machine.config);
    expect(config).not.toMatch(/"(invoke|after|always|raise|onDone)"/);
    for (const state of Object.values(machine.states)) {
      expect(Object.keys(state.states)).toEqual([]);
      expect(state.invoke).toEqual([]);
      expect(state.always ?? []).toEqual([]);
      expect(state.after).toEqual([]);
    }
  });
});
