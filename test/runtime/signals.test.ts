/** A signal cancels once, for the reason it was aborted for, and is let go. */
import { getEventListeners } from 'node:events';
import { expect, it, vi } from 'vitest';
import { onAbort } from '../../src/runtime/signals.ts';

it('an abort is the caller’s wish', () => {
  const controller = new AbortController();
  const cancel = vi.fn();
  onAbort(controller.signal, cancel);
  controller.abort();
  expect(cancel.mock.calls).toEqual([['caller']]);
});

it('a time-out is a time-out, also when it is over already', () => {
  const cancel = vi.fn();
  onAbort(AbortSignal.abort(new DOMException('late', 'TimeoutError')), cancel);
  expect(cancel.mock.calls).toEqual([['timeout']]);
});

it('after its end nothing cancels and no listener is left', () => {
  const controller = new AbortController();
  const cancel = vi.fn();
  const end = onAbort(controller.signal, cancel);
  end();
  end();
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  controller.abort();
  expect(cancel).not.toHaveBeenCalled();
});

it('no signal never cancels', () => {
  expect(() => onAbort(undefined, () => expect.unreachable())()).not.toThrow();
});
