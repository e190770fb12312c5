/** What stands between clients and the API server: it can be shut, and it breaks what is open. */
import { type ApiRequest, type ApiResponse, ConnectionLost, type Transport } from './transport.ts';

export class FrontDoor {
  readonly #inner: Transport;
  readonly #streams = new Set<() => void>();
  #open = true;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Rejects with ConnectionLost while shut. */
  readonly transport: Transport = async (request) => {
    if (!this.#open) throw new ConnectionLost('connect ECONNREFUSED');
    const response = await this.#inner(request);
    return typeof response.body === 'string' ? response : this.#tracked(request, response, response.body);
  };

  /** New requests are refused; open streams end cleanly, as those of a server that goes down. */
  shut(): void {
    this.#open = false;
    this.endStreams();
  }

  reopen(): void {
    this.#open = true;
  }

  endStreams(): void {
    for (const end of [...this.#streams]) end();
  }

  #tracked(request: ApiRequest, response: ApiResponse, body: AsyncIterable<string | Uint8Array>): ApiResponse {
    const pieces = body[Symbol.asyncIterator]();
    const guard = new Guarded(pieces, () => end());
    const end = (): void => {
      this.#streams.delete(end);
      request.signal.removeEventListener('abort', end);
      guard.leave();
      void pieces.return?.();
    };
    this.#streams.add(end);
    request.signal.addEventListener('abort', end, { once: true });
    // The client may have gone away before there was an answer.
    if (request.signal.aborted) end();
    return { ...response, body: guard };
  }
}

const over: IteratorReturnResult<undefined> = { value: undefined, done: true };

/**
 * Ends when its pieces do or when it is left, whatever its pieces wait for. (No race against a promise of the end: that
 * would remember every piece for as long as the stream lasts.)
 */
class Guarded<T> implements AsyncIterableIterator<T> {
  readonly #pieces: AsyncIterator<T>;
  readonly #onEnd: () => void;
  #isLeft = false;
  /** Of the reader that waits for a piece. */
  #settle: ((piece: IteratorResult<T>) => void) | undefined;

  constructor(pieces: AsyncIterator<T>, onEnd: () => void) {
    this.#pieces = pieces;
    this.#onEnd = onEnd;
  }

  leave(): void {
    this.#isLeft = true;
    this.#settle?.(over);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#isLeft) return Promise.resolve(over);
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      this.#pieces.next().then((piece) => {
        if (piece.done === true) this.#onEnd();
        resolve(piece);
      }, reject);
    });
  }

  return(): Promise<IteratorResult<T>> {
    this.#onEnd();
    return Promise.resolve(over);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
