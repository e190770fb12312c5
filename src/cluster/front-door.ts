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
    let wake: () => void = () => undefined;
    const ended = new Promise<IteratorReturnResult<undefined>>((resolve) => {
      wake = () => resolve({ value: undefined, done: true });
    });
    const end = (): void => {
      this.#streams.delete(end);
      request.signal.removeEventListener('abort', end);
      wake();
      void pieces.return?.();
    };
    this.#streams.add(end);
    request.signal.addEventListener('abort', end, { once: true });
    // The client may have gone away before there was an answer.
    if (request.signal.aborted) end();
    return { ...response, body: guarded(pieces, ended, end) };
  }
}

/** Ends when its pieces do or when it is told to, whatever its pieces wait for. */
function guarded<T>(
  pieces: AsyncIterator<T>,
  ended: Promise<IteratorReturnResult<undefined>>,
  end: () => void,
): AsyncIterableIterator<T> {
  return {
    async next() {
      const piece = await Promise.race([ended, pieces.next()]);
      if (piece.done === true) end();
      return piece;
    },
    async return() {
      end();
      return { value: undefined, done: true };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
