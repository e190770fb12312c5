/** Lets undici's requests go to a server in this process as calls: no socket, no port, and time only as its clock says. */
import { Dispatcher } from 'undici';
import type { ApiRequest, ApiResponse, Transport } from '../../src/cluster/index.ts';

export class MemoryDispatcher extends Dispatcher {
  readonly #transport: Transport;
  readonly #exchanges = new Set<Exchange>();
  #isDead = false;

  constructor(transport: Transport) {
    super();
    this.#transport = transport;
  }

  /** Requests and streams that are not over. */
  get open(): number {
    return this.#exchanges.size;
  }

  /** As the death of the process: what was sent may still take effect, and nobody is told. */
  die(): void {
    this.#isDead = true;
    for (const exchange of [...this.#exchanges]) exchange.abort(reset('the process is dead'));
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = new Exchange(handler);
    this.#exchanges.add(exchange);
    const run = exchange.run(this.#isDead ? refused : this.#transport, requestOf(options, exchange.signal));
    void run.finally(() => this.#exchanges.delete(exchange));
    return true;
  }
}

const refused: Transport = () => Promise.reject(reset('the process is dead'));

function reset(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNRESET' });
}

function requestOf({ path, method, headers, body }: Dispatcher.DispatchOptions, signal: AbortSignal): ApiRequest {
  const [pathname = '', query = ''] = path.split('?', 2);
  return {
    method,
    path: pathname,
    query: new URLSearchParams(query),
    headers: headers as Record<string, string>,
    body: typeof body === 'string' ? Buffer.from(body) : undefined,
    signal,
  };
}

class Exchange implements Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #gone = new AbortController();
  #resumed: (() => void) | undefined;
  #isOver = false;
  paused = false;
  reason: Error | null = null;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  get aborted(): boolean {
    return this.reason !== null;
  }

  /** Aborts when the client has gone away. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.#resumed?.();
  }

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.reason = reason;
    this.#gone.abort(reason);
    this.resume();
    this.#handler.onResponseError?.(this, reason);
  }

  async run(transport: Transport, request: ApiRequest): Promise<void> {
    this.#handler.onRequestStart?.(this, null);
    try {
      const { status, headers, body } = await this.#unlessGone(transport(request));
      this.#handler.onResponseStart?.(this, status, { ...headers }, '');
      await this.#pass(typeof body === 'string' ? once(body) : body);
      if (this.#isOver) return;
      this.#isOver = true;
      this.#handler.onResponseEnd?.(this, {});
    } catch (error) {
      this.abort(reset(error instanceof Error ? error.message : String(error)));
    }
  }

  async #pass(body: Exclude<ApiResponse['body'], string>): Promise<void> {
    const pieces = body[Symbol.asyncIterator]();
    try {
      while (!this.#isOver) {
        const piece = await this.#unlessGone(pieces.next());
        if (piece.done === true) return;
        this.#handler.onResponseData?.(this, Buffer.from(piece.value));
        if (this.paused) {
          await new Promise<void>((resolve) => {
            this.#resumed = resolve;
          });
        }
      }
    } finally {
      await pieces.return?.();
    }
  }

  /** What nobody waits for any more still takes place. */
  #unlessGone<T>(result: Promise<T>): Promise<T> {
    result.catch(() => undefined);
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(this.reason ?? reset('gone'));
      if (this.signal.aborted) return leave();
      this.signal.addEventListener('abort', leave, { once: true });
      result.then(resolve, reject).finally(() => this.signal.removeEventListener('abort', leave));
    });
  }
}

async function* once(body: string): AsyncGenerator<string, void, undefined> {
  if (body !== '') yield body;
}
