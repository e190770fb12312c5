/** HTTP as curl does it, on a bare socket: what was sent is seen byte for byte, and reading can stop at any moment. */
import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body so far. */
  body(): string;
  /** Resolves when the body satisfies `until`; rejects when the connection ends before. */
  until(until: (body: string) => boolean): Promise<string>;
  /** Resolves when the server has ended the body. */
  ended(): Promise<string>;
  close(): void;
  readonly socket: Socket;
}

export async function rawRequest(
  url: string,
  path: string,
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  } = {},
): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[|\]$/g, ''));
  const { method = 'GET', body = '' } = options;
  const headers = { Host: `${hostname}:${port}`, Accept: '*/*', ...options.headers };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  if (body !== '') lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return new Promise((resolve, reject) => {
    const reader = new Reader(socket);
    socket.on('error', reject);
    reader.onHead = () => {
      socket.off('error', reject);
      socket.on('error', () => reader.finish());
      resolve(reader);
    };
    socket.on('close', () => reject(new Error(`the connection closed before a response: ${reader.seen}`)));
  });
}

/** The JSON values of newline-delimited JSON; the last line must be whole. */
export function jsonLines(body: string): readonly unknown[] {
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

class Reader implements RawResponse {
  readonly socket: Socket;
  onHead: () => void = () => undefined;
  status = 0;
  headers: Readonly<Record<string, string>> = {};
  seen = '';
  #raw = Buffer.alloc(0);
  #body = '';
  #hasHead = false;
  #isEnded = false;
  readonly #waiters = new Set<() => void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('close', () => this.finish());
  }

  body(): string {
    return this.#body;
  }

  until(until: (body: string) => boolean): Promise<string> {
    return this.#wait(() => until(this.#body), true);
  }

  ended(): Promise<string> {
    return this.#wait(() => this.#isEnded, false);
  }

  close(): void {
    this.socket.destroy();
  }

  finish(): void {
    this.#isEnded = true;
    for (const waiter of [...this.#waiters]) waiter();
  }

  #wait(isDone: () => boolean, failsAtEnd: boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (isDone()) resolve(this.#body);
        else if (this.#isEnded && failsAtEnd) reject(new Error(`the body ended before: ${this.#body}`));
        else return;
        this.#waiters.delete(look);
      };
      this.#waiters.add(look);
      look();
    });
  }

  #read(chunk: Buffer): void {
    this.#raw = Buffer.concat([this.#raw, chunk]);
    if (!this.#hasHead) {
      const end = this.#raw.indexOf('\r\n\r\n');
      if (end === -1) return;
      this.#head(this.#raw.subarray(0, end).toString('latin1'));
      this.#raw = this.#raw.subarray(end + 4);
      this.#hasHead = true;
      this.onHead();
    }
    if (this.headers['transfer-encoding'] === 'chunked') this.#chunks();
    else this.#plain();
    for (const waiter of [...this.#waiters]) waiter();
  }

  #head(head: string): void {
    this.seen = head;
    const [statusLine = '', ...lines] = head.split('\r\n');
    this.status = Number(statusLine.split(' ')[1]);
    this.headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
  }

  #plain(): void {
    this.#body += this.#raw.toString();
    this.#raw = Buffer.alloc(0);
    const length = this.headers['content-length'];
    if (length !== undefined && Buffer.byteLength(this.#body) >= Number(length)) this.finish();
  }

  #chunks(): void {
    for (;;) {
      const end = this.#raw.indexOf('\r\n');
      if (end === -1) return;
      const size = Number.parseInt(this.#raw.subarray(0, end).toString('latin1'), 16);
      if (this.#raw.length < end + 2 + size + 2) return;
      if (size === 0) {
        this.finish();
        return;
      }
      this.#body += this.#raw.subarray(end + 2, end + 2 + size).toString();
      this.#raw = this.#raw.subarray(end + 2 + size + 2);
    }
  }
}
