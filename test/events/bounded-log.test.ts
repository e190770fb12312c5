// Every reader gets every entry after its start once and in order, or is told that it was too slow.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedLog } from '../../src/events/bounded-log.ts';

test('a late reader gets the past and then what comes, without a gap or a repeat', async () => {
  const log = aLog(100);
  fill(log, 5);
  const got: number[] = [];
  const reading = (async () => {
    for await (const { seq } of log.cursor().entries()) got.push(seq);
  })();
  for (let i = 0; i < 5; i++) {
    fill(log, 3);
    await Promise.resolve();
  }
  log.close();
  await reading;
  expect(got).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
});

test('a reader resumes after a sequence number', () => {
  const log = aLog(100);
  fill(log, 10);
  expect(seqs(log.cursor(7).take(10))).toEqual([8, 9, 10]);
  expect(seqs(log.cursor(10).take(10))).toEqual([]);
});

test('a sequence number that was never given out is refused', () => {
  const log = aLog(100);
  fill(log, 3);
  expect(() => log.cursor(4)).toThrow(expect.objectContaining({ code: 'ERR_PODWRIGHT_USAGE' }));
});

test('the bounds drop the oldest entries, by number and by bytes, and keep at least one', () => {
  const byNumber = aLog(3);
  fill(byNumber, 10);
  expect([byNumber.first, byNumber.last]).toEqual([8, 10]);
  const byBytes = new BoundedLog<string>({ maxEntries: 100, maxBytes: 25 });
  fill(byBytes, 10);
  expect([byBytes.first, byBytes.last, byBytes.bytes]).toEqual([9, 10, 20]);
  byBytes.append(() => ({ value: 'long', bytes: 1000 }));
  expect([byBytes.first, byBytes.last]).toEqual([11, 11]);
});

test('a reader who fell behind is told how many entries it missed', async () => {
  const log = aLog(3);
  fill(log, 1);
  const cursor = log.cursor();
  fill(log, 9);
  expect(cursor.take(10)).toEqual({ kind: 'lagged', missed: 7, first: 8 });
  await expect(async () => {
    for await (const _ of log.cursor(0).entries());
  }).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_READER_LAGGED', details: { missed: 7, first: 8 } });
});

test('a reader of a closed log reads to the end and then learns that it is the end', () => {
  const log = aLog(10);
  fill(log, 2);
  const cursor = log.cursor();
  log.close();
  expect(seqs(cursor.take(10))).toEqual([1, 2]);
  expect(cursor.take(10)).toEqual({ kind: 'closed' });
});

test('who stops waiting leaves nothing behind', async () => {
  const log = aLog(10);
  const controller = new AbortController();
  const waits = [log.cursor().changed(controller.signal), log.cursor().changed(controller.signal)];
  expect(log.waiting).toBe(2);
  controller.abort();
  await Promise.all(waits);
  expect(log.waiting).toBe(0);
});

test('a read stops at about its bytes, and gives at least one entry', () => {
  const log = aLog(100);
  fill(log, 10);
  expect(seqs(log.cursor().take(10, 25))).toEqual([1, 2, 3]);
  expect(seqs(log.cursor().take(10, 1))).toEqual([1]);
});

test('whatever the order of appends and reads, each reader sees a run of numbers without a hole', () => {
  const moves = fc.array(
    fc.oneof(
      fc.record({ append: fc.integer({ min: 1, max: 400 }) }),
      fc.record({ reader: fc.nat(3), max: fc.integer({ min: 1, max: 300 }) }),
    ),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(moves, fc.integer({ min: 1, max: 1500 }), (all, maxEntries) => {
      const log = aLog(maxEntries);
      const readers = [0, 1, 2, 3].map(() => ({ cursor: log.cursor(), next: 1, lagged: false }));
      for (const move of all) {
        if ('append' in move) {
          fill(log, move.append);
          expect(log.last - log.first + 1).toBeLessThanOrEqual(maxEntries);
          continue;
        }
        const reader = readers[move.reader];
        if (reader === undefined || reader.lagged) continue;
        const reading = reader.cursor.take(move.max);
        if (reading.kind === 'lagged') {
          expect(reading.missed).toBe(log.first - reader.next);
          reader.lagged = true;
        }
        for (const seq of seqs(reading)) expect(seq).toBe(reader.next++);
      }
    }),
  );
});

function aLog(maxEntries: number): BoundedLog<string> {
  return new BoundedLog({ maxEntries, maxBytes: 1_000_000 });
}

function fill(log: BoundedLog<string>, count: number): void {
  for (let i = 0; i < count; i++) log.append((seq) => ({ value: `entry ${seq}`, bytes: 10 }));
}

function seqs(reading: ReturnType<ReturnType<typeof aLog>['read']>): readonly number[] {
  return reading.kind === 'entries' ? reading.entries.map(({ seq }) => seq) : [];
}
