/** The log endpoint of an API server before one container, as the kubelet serves it, with faults to order. */
import { expect, onTestFinished } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import {
  type FollowLogOptions,
  followLog,
  type LogEnd,
  type LogInstance,
  type LogLine,
} from '../../src/logs/follow.ts';
import { type ApiServer, type Exchange, startApiServer, writeKubeConfig } from '../kube/api-server.ts';

/** Ends a response: after so many bytes of it, cleanly or not, or never. */
export interface Cut {
  readonly afterBytes: number;
  readonly how: 'reset' | 'end' | 'hang';
}

export interface Entry {
  readonly seconds: number;
  readonly bytes: Buffer;
}

interface Reader {
  readonly exchange: Exchange;
  sent: number;
  readonly cut: Cut | undefined;
}

export class LogServer {
  readonly api: ApiServer;
  readonly client: KubeClient;
  /** How the next responses end; a response without one is served to its end. */
  readonly cuts: Cut[] = [];
  /** What `which` tells the follower, besides `previous` being asked for. */
  which: 'current' | 'previous' | 'gone' = 'current';
  /** The newest file of the instance that is followed and, once it was started again, of the next one. */
  file: Entry[] = [];
  next: Entry[] | null = null;
  #readers: Reader[] = [];
  #start: (instance: LogInstance | null) => void = () => undefined;
  #end: (end: LogEnd) => void = () => undefined;
  readonly #started = new Promise<LogInstance | null>((resolve) => {
    this.#start = resolve;
  });
  readonly #ended = new Promise<LogEnd>((resolve) => {
    this.#end = resolve;
  });
  #isRunning = true;

  constructor(api: ApiServer, client: KubeClient) {
    this.api = api;
    this.client = client;
    api.answer = (exchange) => this.#serve(exchange);
  }

  /** Lines as they stand in the file: `TIME TEXT`. */
  append(...lines: readonly string[]): void {
    for (const line of lines) this.appendAt(Date.parse(line.slice(0, 19).concat('Z')) / 1000, Buffer.from(`${line}\n`));
  }

  /** Whole lines of one second, or the beginning of one. */
  appendAt(seconds: number, bytes: Buffer): void {
    this.file.push({ seconds, bytes });
    for (const reader of this.#readers) this.#send(reader, bytes);
  }

  /** Cuts every follower there is. Returns how many. */
  cutAll(): number {
    const readers = this.#readers;
    this.#readers = [];
    for (const { exchange } of readers) exchange.reset();
    return readers.length;
  }

  /** Only the newest file can be read; open readers go on with it. */
  rotate(): void {
    this.file = [];
  }

  start(): void {
    this.#start({ containerID: 'containerd://1' });
  }

  neverStart(): void {
    this.#start(null);
  }

  /** The process ends: readers come to the end of the file. The status tells it with `tellEnd`. */
  terminate(): void {
    this.#isRunning = false;
    for (const { exchange } of this.#readers) exchange.end();
    this.#readers = [];
  }

  tellEnd(end: LogEnd = 'terminated'): void {
    this.#end(end);
  }

  follow(clock: Clock, options: Partial<FollowLogOptions> = {}): AsyncGenerator<LogLine, void, undefined> {
    return followLog({
      client: this.client,
      namespace: 'builds',
      pod: 'x',
      container: 'step',
      source: {
        started: () => this.#started,
        ended: () => this.#ended,
        which: () => this.which,
      },
      clock,
      random: () => 0.5,
      ...options,
    });
  }

  #serve(exchange: Exchange): void {
    expect(exchange.path).toBe('/api/v1/namespaces/builds/pods/x/log');
    expect(exchange.query.get('container')).toBe('step');
    expect(exchange.query.get('timestamps')).toBe('true');
    exchange.open();
    const isOfNext = this.next !== null && exchange.query.get('previous') !== 'true';
    const content = since(isOfNext ? (this.next ?? []) : this.file, exchange.query.get('sinceTime'));
    const reader: Reader = { exchange, sent: 0, cut: this.cuts.shift() };
    if (!this.#send(reader, content)) return;
    if (exchange.query.get('follow') === 'true' && this.#isRunning) this.#readers.push(reader);
    else exchange.end();
  }

  /** False when the cut was reached: nothing is to be sent any more. */
  #send(reader: Reader, bytes: Buffer): boolean {
    const { exchange, cut } = reader;
    if (cut === undefined || reader.sent + bytes.length <= cut.afterBytes) {
      reader.sent += bytes.length;
      exchange.write(bytes);
      return true;
    }
    exchange.write(bytes.subarray(0, Math.max(0, cut.afterBytes - reader.sent)));
    this.#readers = this.#readers.filter((each) => each !== reader);
    if (cut.how === 'end') exchange.end();
    if (cut.how === 'reset') setImmediate(() => exchange.reset());
    return false;
  }
}

/** The kubelet drops single lines that are older, wherever they stand. */
function since(entries: readonly Entry[], time: string | null): Buffer {
  const from = time === null ? 0 : Date.parse(time) / 1000;
  return Buffer.concat(entries.filter(({ seconds }) => seconds >= from).map(({ bytes }) => bytes));
}

export async function startLogServer(): Promise<LogServer> {
  const api = await startApiServer();
  const client = await connect({ kubeConfig: await writeKubeConfig(api.url) });
  onTestFinished(() => client.close());
  return new LogServer(api, client);
}

/** Real time, a hundred times faster: for tests that need many pauses, none of exact length. */
export const fastClock: Clock = {
  now: () => Date.now() * 100,
  schedule(delayMs, callback) {
    const handle = setTimeout(callback, delayMs / 100);
    return { cancel: () => clearTimeout(handle) };
  },
};

/** 2026-01-01 in seconds. */
export const epoch = 1_767_225_600;

export const second = (seconds: number, text: string): string =>
  `${new Date((epoch + seconds) * 1000).toISOString().replace('Z', '000000Z')} ${text}`;

export const texts = (lines: readonly LogLine[]): string[] =>
  lines.map(({ text, gap }) => (gap === undefined ? text : `<gap ${gap.reason}>`));

export const queries = ({ api }: LogServer): Record<string, string>[] =>
  api.requests.map(({ query }) => {
    const { container: _container, timestamps: _timestamps, ...rest } = Object.fromEntries(query);
    return rest;
  });

/** Reads on its own, so that a test can act meanwhile. */
export function reading(lines: AsyncIterable<LogLine>): { readonly got: LogLine[]; readonly done: Promise<void> } {
  const got: LogLine[] = [];
  const done = (async () => {
    for await (const line of lines) got.push(line);
  })();
  return { got, done };
}
