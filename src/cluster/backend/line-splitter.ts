/** Cuts a stream of bytes into lines, as the container runtime does before it stamps them. */
export class LineSplitter {
  readonly #give: (line: Uint8Array) => void;
  #rest: Buffer[] = [];

  constructor(give: (line: Uint8Array) => void) {
    this.#give = give;
  }

  push(bytes: Buffer): void {
    let from = 0;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      this.#flush(bytes.subarray(from, at + 1));
      from = at + 1;
    }
    if (from < bytes.length) this.#rest.push(bytes.subarray(from));
  }

  /** What is left has no newline at its end. */
  end(): void {
    if (this.#rest.length > 0) this.#flush(Buffer.alloc(0));
  }

  #flush(last: Buffer): void {
    const line = this.#rest.length === 0 ? last : Buffer.concat([...this.#rest, last]);
    this.#rest = [];
    this.#give(line);
  }
}
