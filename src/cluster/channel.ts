/** A queue that one reader empties as an async iterable: the body of a watch or of a followed log. */
export class Channel<T> implements AsyncIterableIterator<T> {
  readonly #items: T[] = [];
  readonly #onClose: () => void;
  #waiting: ((result: IteratorResult<T>) => void) | undefined;
  #ended = false;
  #closed = false;

  /** `onClose` runs once, when the reader has left or has read the end. */
  constructor(onClose: () => void = () => undefined) {
    this.#onClose = onClose;
  }

  /** What is queued and not read. */
  get size(): number {
    return this.#items.length;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(item: T): void {
    if (this.#ended) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#items.push(item);
    else waiting({ value: item, done: false });
  }

  /** What is queued can still be read. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) waiting(this.#close());
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#items.length > 0) return Promise.resolve({ value: this.#items.shift() as T, done: false });
    if (this.#ended) return Promise.resolve(this.#close());
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  return(): Promise<IteratorResult<T>> {
    this.#items.length = 0;
    this.end();
    return Promise.resolve(this.#close());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #close(): IteratorReturnResult<undefined> {
    if (!this.#closed) {
      this.#closed = true;
      this.#onClose();
    }
    return { value: undefined, done: true };
  }
}
