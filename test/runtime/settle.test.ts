import { describe, expect, test, vi } from 'vitest';
import { createActor, setup } from 'xstate';
import { settle } from '../../src/runtime/settle.ts';

const machine = setup({ types: { events: {} as { type: 'go' } | { type: 'end' } } }).createMachine({
  initial: 'before',
  states: { before: { on: { go: 'after', end: 'over' } }, after: { on: { end: 'over' } }, over: { type: 'final' } },
});

function start() {
  const actor = createActor(machine).start();
  const reached = (signal?: AbortSignal): Promise<string> =>
    settle(actor, (snapshot) => (snapshot.matches('after') ? snapshot.value : undefined), {
      what: 'the actor',
      ...(signal === undefined ? {} : { signal }),
    });
  return { actor, reached };
}

describe('settle', () => {
  test('resolves at once with what already holds, also on a stopped actor', async () => {
    const { actor, reached } = start();
    actor.send({ type: 'go' });
    await expect(reached()).resolves.toBe('after');
    actor.stop();
    await expect(reached()).resolves.toBe('after');
  });

  test('resolves with what comes to hold, and not again', async () => {
    const { actor, reached } = start();
    const wait = reached();
    actor.send({ type: 'go' });
    actor.send({ type: 'end' });
    await expect(wait).resolves.toBe('after');
  });

  test.each([
    ['stopped', (actor: ReturnType<typeof start>['actor']) => void actor.stop()],
    ['ended', (actor: ReturnType<typeof start>['actor']) => actor.send({ type: 'end' })],
  ])('rejects when the actor is %s before or while it waits', async (_how, end) => {
    const early = start();
    end(early.actor);
    await expect(early.reached()).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    const late = start();
    const wait = late.reached();
    end(late.actor);
    await expect(wait).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
  });

  test('rejects with the signal’s reason, before and while it waits, and prefers what already holds', async () => {
    const { actor, reached } = start();
    const abort = new AbortController();
    const wait = reached(abort.signal);
    abort.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
    await expect(reached(abort.signal)).rejects.toThrow('enough');
    actor.send({ type: 'go' });
    await expect(reached(abort.signal)).resolves.toBe('after');
  });

  test('leaves no subscription and no listener, however it ends', async () => {
    const { actor } = start();
    const open = new Set<object>();
    const subscribe = actor.subscribe.bind(actor) as (observer: object) => { unsubscribe(): void };
    Object.assign(actor, {
      subscribe: (observer: object) => {
        open.add(observer);
        const subscription = subscribe(observer);
        return {
          unsubscribe: () => {
            open.delete(observer);
            subscription.unsubscribe();
          },
        };
      },
    });
    const abort = new AbortController();
    const listeners = new Set<unknown>();
    vi.spyOn(abort.signal, 'addEventListener').mockImplementation((_type, listener) => void listeners.add(listener));
    vi.spyOn(abort.signal, 'removeEventListener').mockImplementation(
      (_type, listener) => void listeners.delete(listener),
    );
    const pick = (snapshot: { value: string }): string | undefined =>
      snapshot.value === 'after' ? 'after' : undefined;
    const waits = Array.from({ length: 3 }, () => settle(actor, pick, { what: 'it', signal: abort.signal }));
    expect([open.size, listeners.size]).toEqual([3, 3]);
    actor.send({ type: 'go' });
    await Promise.all(waits);
    expect([open.size, listeners.size]).toEqual([0, 0]);
  });

  test('rejects when the actor fails', async () => {
    const failing = setup({}).createMachine({
      on: { go: { actions: () => expect.unreachable('thrown on purpose') } },
    });
    const actor = createActor(failing).start();
    const wait = settle(actor, () => undefined, { what: 'the actor' });
    actor.send({ type: 'go' });
    await expect(wait).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_ASSERTION' });
    await expect(settle(actor, () => undefined, { what: 'the actor' })).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_ASSERTION',
    });
  });
});
