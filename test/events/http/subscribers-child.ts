// Many subscribers in a process of their own: node subscribers-child.ts URL READERS STALLED
// Prints `connected` when all are, `at N` when every reader has read event N (every 50), and one JSON line when every
// reader's stream has ended; then it reads what the stalled ones got, and prints that.
import { connect, type Socket } from 'node:net';

const [url = '', readers = '0', stalled = '0'] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const sockets: Socket[] = [];

interface Seen {
  last: number;
  faults: number;
  /** The end of a chunk that may be half an id. */
  rest: string;
}

/** How many readers have come to each multiple of 50. */
const reached = new Map<number, number>();

const total = Number(readers) + Number(stalled);
const connected = Array.from({ length: total }, (_, index) => subscribe(index < Number(readers)));
const seen = await Promise.all(connected.map(({ head }) => head)).then(() => {
  process.stdout.write('connected\n');
  return Promise.all(connected.map(({ done }) => done));
});
const read = seen.filter((one) => one !== null);
const lasts = [...new Set(read.map(({ last }) => last))];
process.stdout.write(`${JSON.stringify({ lasts, faults: read.reduce((sum, { faults }) => sum + faults, 0) })}\n`);

// The stalled ones begin to read only now: what is their last word?
const late = await Promise.all(sockets.map(lastWord));
process.stdout.write(`${JSON.stringify({ late })}\n`);
process.exit(0);

function subscribe(isReader: boolean): { head: Promise<void>; done: Promise<Seen | null> } {
  const socket = connect(Number(port), hostname);
  socket.write(`GET /v3/events HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  const head = new Promise<void>((resolve) => socket.once('data', () => resolve()));
  if (!isReader) {
    sockets.push(socket);
    return { head: head.then(() => void socket.pause()), done: Promise.resolve(null) };
  }
  const state: Seen = { last: 0, faults: 0, rest: '' };
  const done = new Promise<Seen>((resolve) => {
    socket.on('data', (chunk: Buffer) => take(state, chunk.toString('latin1')));
    socket.on('data', (chunk: Buffer) => {
      if (chunk.subarray(-5).toString() === '0\r\n\r\n') resolve(state);
    });
    socket.on('close', () => resolve(state));
  });
  return { head, done };
}

function take(state: Seen, chunk: string): void {
  const text = state.rest + chunk;
  let end = 0;
  for (const match of text.matchAll(/id: [\w-]+:(\d+)\n/g)) {
    const seq = Number(match[1]);
    if (seq !== 0 && seq !== state.last + 1) state.faults++;
    state.last = seq;
    if (seq % 50 === 0 && seq > 0) {
      const count = (reached.get(seq) ?? 0) + 1;
      reached.set(seq, count);
      if (count === Number(readers)) process.stdout.write(`at ${seq}\n`);
    }
    end = match.index + match[0].length;
  }
  state.rest = text.slice(Math.max(end, text.length - 80));
}

/** Reads a stalled stream to its end: the name of the last event in it. */
function lastWord(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let tail = '';
    socket.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('latin1')).slice(-4000);
      if (tail.endsWith('0\r\n\r\n')) resolve(/event: (\w+)\n(?![\s\S]*event: )/.exec(tail)?.[1] ?? 'nothing');
    });
    socket.on('close', () => resolve('cut off'));
    socket.resume();
  });
}
