/** Stately's inspector attached to a running build is told of our machines, by their names. */
import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import { expect, it } from 'vitest';
import { assembled, startStand, step } from './embedded.ts';

it('its events arrive, with the names and states of the machines', async () => {
  const stand = await startStand();
  const told: StatelyInspectionEvent[] = [];
  const inspector = createInspector({ send: (event) => told.push(event) });
  try {
    const runtime = await stand.open({ inspect: inspector.inspect });
    const build = await assembled(runtime, step('compile', 'exit 3'));
    await runtime.runContainer(build, 'compile');
    await runtime.waitContainer(build, 'compile');
    await runtime.removeBuild(build);

    const actors = told.flatMap((event) => (event.type === '@xstate.actor' ? [event] : []));
    const definitions = actors.map(({ definition }) => (JSON.parse(definition ?? '{}') as { id?: string }).id);
    expect(definitions).toEqual(expect.arrayContaining(['build', 'pod', 'container']));
    const compile = actors.find(({ name }) => name === 'compile')?.sessionId;
    const states = told.flatMap((event) =>
      event.type === '@xstate.snapshot' && event.sessionId === compile
        ? [(event.snapshot as { value?: unknown }).value]
        : [],
    );
    expect(states[0]).toBe('pending');
    expect(states).toContain('terminated');
  } finally {
    inspector.stop();
    await stand.end();
  }
});
