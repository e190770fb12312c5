/** AbortSignals as reasons to cancel. */

/** `AbortSignal.timeout()` aborts with a TimeoutError: then it was a time limit that ran out, not the caller's wish. */
export function cancelReason(signal: AbortSignal): 'caller' | 'timeout' {
  const reason: unknown = signal.reason;
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'caller';
}

/** Calls `cancel` when the signal aborts, or at once when it has. Gives back how to end that; idempotent. */
export function onAbort(signal: AbortSignal | undefined, cancel: (reason: 'caller' | 'timeout') => void): () => void {
  if (signal === undefined) return () => undefined;
  const listener = (): void => cancel(cancelReason(signal));
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
