/**
 * The one way to wait for an actor: `settle` resolves with what `pick` finds in a snapshot, now or later.
 *
 * Promises: what already holds resolves at once, also on an actor that has ended; an actor that ended without it, or
 * ends so while waiting, rejects with `ERR_PODWRIGHT_STOPPED`; an abort rejects with the signal's reason; and whatever
 * the ending, no subscription and no listener is left. (xstate's own `waitFor` and `toPromise` hang on stopped actors.)
 */
import type { AnyActorRef, SnapshotFrom } from 'xstate';
import { PodwrightError } from '../errors.ts';

export function settle<TActor extends AnyActorRef, R>(
  actor: TActor,
  pick: (snapshot: SnapshotFrom<TActor>) => R | undefined,
  options: { readonly signal?: AbortSignal; readonly what: string },
): Promise<R> {
  const { signal, what } = options;
  return new Promise((resolve, reject) => {
    const snapshot: SnapshotFrom<TActor> = actor.getSnapshot();
    const picked = pick(snapshot);
    if (picked !== undefined) return resolve(picked);
    if (signal?.aborted) return reject(signal.reason);
    if ((snapshot as { status: string }).status !== 'active') return reject(stopped(what, snapshot));
    const end = (finish: () => void): void => {
      subscription.unsubscribe();
      signal?.removeEventListener('abort', onAbort);
      finish();
    };
    const onAbort = (): void => end(() => reject(signal?.reason));
    const subscription = actor.subscribe({
      next: (next: SnapshotFrom<TActor>) => {
        const found = pick(next);
        if (found !== undefined) end(() => resolve(found));
      },
      error: (error: unknown) => end(() => reject(failed(what, error))),
      complete: () => end(() => reject(stopped(what, actor.getSnapshot()))),
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function stopped(what: string, snapshot: unknown): PodwrightError {
  const { status, error } = snapshot as { status: string; error?: unknown };
  return status === 'error'
    ? failed(what, error)
    : new PodwrightError('ERR_PODWRIGHT_STOPPED', `${what} ended without it`);
}

function failed(what: string, cause: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_ASSERTION', `${what} failed`, { cause });
}
