/** A container that prints very much, over a connection that is cut again and again, and one rotation. */
import { expect } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { epoch, startLogServer } from './log-server.ts';

const linesPerBatch = 2_000;
/** A line each 10 µs: a hundred thousand a second. */
const batchesPerSecond = 50;

export interface Outcome {
  readonly lines: number;
  readonly cuts: number;
  readonly requests: number;
}

/** Fails unless all of `count` lines come, once and in order, and no gap is told. */
export async function readManyLines(count: number, cutEveryMs: number): Promise<Outcome> {
  const server = await startLogServer();
  const progress = { read: 0, written: 0, cuts: 0 };
  const reading = (async () => {
    for await (const { text, gap } of server.follow(systemClock)) {
      if (gap !== undefined || text !== `line ${progress.read}`)
        expect(`${text} ${gap?.message}`).toBe(`line ${progress.read}`);
      progress.read++;
    }
  })();
  // A reader that failed must not leave the writer waiting for it.
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  reading.then(over, over);
  const caughtUp = async (): Promise<void> => {
    while (progress.read < progress.written && !isOver) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  let isConnectionKept = false;
  const cutting = setInterval(() => {
    if (!isConnectionKept) progress.cuts += server.cutAll();
  }, cutEveryMs);
  const write = (): void => {
    const batch = Math.floor(progress.written / linesPerBatch);
    server.appendAt(epoch + Math.floor(batch / batchesPerSecond), batchOf(batch));
    progress.written += linesPerBatch;
  };
  server.start();
  // However fast the machine is: a connection that was read from is cut.
  write();
  await caughtUp();
  progress.cuts += server.cutAll();
  let hasRotated = false;
  while (progress.written < count && !isOver) {
    if (!hasRotated && progress.written >= count / 2) {
      // A reader that keeps up: it is connected, has what is in the old file, and begins with the new one.
      isConnectionKept = true;
      write();
      await caughtUp();
      server.rotate();
      hasRotated = true;
      write();
      await caughtUp();
      isConnectionKept = false;
    }
    write();
    if (progress.written - progress.read > 20 * linesPerBatch) await caughtUp();
    await new Promise((resolve) => setImmediate(resolve));
  }
  clearInterval(cutting);
  server.terminate();
  server.tellEnd();
  await reading;
  expect(progress.read).toBe(count);
  return { lines: progress.read, cuts: progress.cuts, requests: server.api.requests.length };
}

function batchOf(batch: number): Buffer {
  const seconds = new Date((epoch + Math.floor(batch / batchesPerSecond)) * 1000).toISOString().slice(0, 19);
  const first = (batch % batchesPerSecond) * linesPerBatch;
  const lines = Array.from({ length: linesPerBatch }, (_, index) => {
    const nanos = String((first + index) * 10_000).padStart(9, '0');
    return `${seconds}.${nanos}Z line ${batch * linesPerBatch + index}\n`;
  });
  return Buffer.from(lines.join(''));
}
