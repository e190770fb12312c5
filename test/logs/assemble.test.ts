/** Whatever the responses are cut to, the log comes out once and in order, and what is missing is told. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LogAssembler } from '../../src/logs/assemble.ts';
import type { LogLine } from '../../src/logs/line.ts';
import { longestPiece } from '../../src/logs/lines.ts';

/** A line of a container's log file; `nanos` since some second. */
interface FileLine {
  readonly nanos: bigint;
  readonly text: string;
}

const epoch = 1_767_225_600n * 1_000_000_000n;

function stamp(nanos: bigint): string {
  const all = epoch + nanos;
  const second = new Date(Number(all / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  return `${second}.${String(all % 1_000_000_000n).padStart(9, '0')}Z`;
}

/** What the kubelet sends: lines of the file from a whole second on, in the order of the file. */
function respond(file: readonly FileLine[], sinceTime: string | undefined): Buffer {
  const since = sinceTime === undefined ? 0n : BigInt(Date.parse(sinceTime)) * 1_000_000n;
  const lines = file.filter(({ nanos }) => epoch + nanos >= since);
  return Buffer.from(lines.map(({ nanos, text }) => `${stamp(nanos)} ${text}\n`).join(''));
}

const line = (ms: number, text: string): FileLine => ({ nanos: BigInt(ms) * 1_000_000n, text });
const texts = (lines: readonly LogLine[]): string[] =>
  lines.map(({ text, gap }) => (gap === undefined ? text : '<gap>'));

function read(assembler: LogAssembler, bytes: Uint8Array): LogLine[] {
  assembler.begin();
  return assembler.push(bytes);
}

test('a line carries its text, its time as written, and where to go on', () => {
  const assembler = new LogAssembler();
  const [first] = read(assembler, Buffer.from('2026-01-01T01:00:00.5+01:00 hällo  \n'));
  expect(first).toEqual({ text: 'hällo  ', at: '2026-01-01T01:00:00.5+01:00', position: assembler.position });
  expect(assembler.sinceTime).toBe('2026-01-01T00:00:00Z');
});

test('an empty line is a line', () => {
  expect(texts(read(new LogAssembler(), Buffer.from('2026-01-01T00:00:00Z \n2026-01-01T00:00:01Z\n')))).toEqual([
    '',
    '',
  ]);
});

test('lines of one time are told apart by their number, also after a cut', () => {
  const file = [line(0, 'a'), line(0, 'a'), line(0, 'a'), line(0, 'b')];
  const assembler = new LogAssembler();
  const bytes = respond(file, undefined);
  const first = read(assembler, bytes.subarray(0, bytes.length / 2));
  expect(texts(first)).toEqual(['a', 'a']);
  expect(texts(read(assembler, respond(file, assembler.sinceTime)))).toEqual(['a', 'b']);
});

test('the words of the kubelet in place of a line are a complaint, not a line', () => {
  const assembler = new LogAssembler();
  const lines = read(
    assembler,
    Buffer.from(`${stamp(0n)} real\nunable to retrieve container logs for containerd://1\n`),
  );
  expect(texts(lines)).toEqual(['real']);
  expect(assembler.complaint).toBe('unable to retrieve container logs for containerd://1');
  expect(texts(read(assembler, respond([line(0, 'real'), line(5, 'more')], assembler.sinceTime)))).toEqual(['more']);
  expect(assembler.complaint).toBeNull();
});

test('a container may print the words of the kubelet', () => {
  const assembler = new LogAssembler();
  expect(texts(read(assembler, respond([line(0, 'unable to retrieve container logs')], undefined)))).toHaveLength(1);
  expect(assembler.complaint).toBeNull();
});

test.each([
  ['', null],
  [`${stamp(1n)} no end`, null],
  [stamp(1n).slice(0, 12), null],
  ['failed to open log file "/x": no such file', 'failed to open log file "/x": no such file'],
])('what stands after the last line break is known for what it is: %j', (rest, complaint) => {
  const assembler = new LogAssembler();
  expect(texts(read(assembler, Buffer.from(`${stamp(0n)} a\n${rest}`)))).toEqual(['a']);
  expect(assembler.rest).toEqual({ length: rest.length, complaint });
});

test('a last line without an end is given out when asked for, and once', () => {
  const assembler = new LogAssembler();
  const bytes = Buffer.from(`${stamp(0n)} a\n${stamp(1n)} prompt> `);
  read(assembler, bytes);
  expect(texts(assembler.takeRest())).toEqual(['prompt> ']);
  expect(texts(read(assembler, Buffer.concat([bytes, Buffer.from('\n')])))).toEqual([]);
});

test('a line over the limit comes in pieces that are marked, and goes on after a cut between them', () => {
  const text = 'ä'.repeat(1.2 * longestPiece);
  const file = [line(0, 'before'), line(1, text), line(2, 'after')];
  const bytes = respond(file, undefined);
  const whole = read(new LogAssembler(), bytes);
  expect(whole.map(({ partial }) => partial ?? false)).toEqual([false, true, true, false, false]);
  expect(
    whole
      .slice(1, 4)
      .map(({ text: piece }) => piece)
      .join(''),
  ).toBe(text);
  expect(whole.every(({ text: piece }) => !piece.includes('\ufffd'))).toBe(true);

  const assembler = new LogAssembler();
  const first = read(assembler, bytes.subarray(0, 1.5 * longestPiece));
  expect(first).toHaveLength(2);
  const resumed = new LogAssembler(assembler.position);
  expect([...first, ...read(resumed, respond(file, resumed.sinceTime))]).toEqual(whole);
});

test('lines that were rotated away are told as a gap with the times around it', () => {
  const assembler = new LogAssembler();
  read(assembler, respond([line(0, 'a'), line(200, 'b')], undefined));
  const lines = read(assembler, respond([line(5_000, 'y'), line(5_001, 'z')], assembler.sinceTime));
  expect(texts(lines)).toEqual(['<gap>', 'y', 'z']);
  expect(lines[0]?.gap).toEqual({
    after: stamp(200_000_000n),
    before: stamp(5_000_000_000n),
    reason: 'rotated',
    message: null,
  });
  expect(
    texts(read(assembler, respond([line(5_000, 'y'), line(5_001, 'z'), line(5_002, '!')], assembler.sinceTime))),
  ).toEqual(['!']);
});

test('a rotation that left the last known line in the file loses and repeats nothing', () => {
  const file = [line(200, 'a'), line(201, 'b'), line(202, 'c'), line(203, 'd')];
  const assembler = new LogAssembler();
  read(assembler, respond(file.slice(0, 3), undefined));
  expect(texts(read(assembler, respond(file.slice(2), assembler.sinceTime)))).toEqual(['d']);
});

test.each([false, true])(
  'a file that was rotated among the last lines is read to its end (new process: %s)',
  (isNew) => {
    const file = [line(200, 'a'), line(201, 'b'), line(202, 'c'), line(202, 'd')];
    const before = new LogAssembler();
    read(before, respond(file, undefined));
    const assembler = isNew ? new LogAssembler(before.position) : before;
    const bytes = respond(file.slice(1), assembler.sinceTime);
    expect(read(assembler, bytes.subarray(0, -40))).toEqual([]);
    expect(assembler.isCaughtUp).toBe(false);
    expect(read(assembler, bytes)).toEqual([]);
    expect(assembler.isCaughtUp).toBe(true);
  },
);

test('a response that ends before the known lines were met proves nothing', () => {
  const file = [line(0, 'a'), line(1, 'b'), line(2, 'c')];
  const assembler = new LogAssembler();
  const bytes = respond(file, undefined);
  read(assembler, bytes);
  read(assembler, bytes.subarray(0, 60));
  expect(assembler.isCaughtUp).toBe(false);
  read(assembler, bytes);
  expect(assembler.isCaughtUp).toBe(true);
});

/** Lines whose times rise, with equal ones, quiet seconds, and two streams overtaking each other a little. */
const files = fc
  .array(
    fc.record({
      stepNanos: fc.oneof(
        fc.constant(0n),
        fc.bigInt(0n, 40_000_000n),
        fc.constant(1_500_000_000n),
        fc.constant(999_999_999n),
      ),
      backNanos: fc.oneof(
        { weight: 4, arbitrary: fc.constant(0n) },
        { weight: 1, arbitrary: fc.bigInt(0n, 90_000_000n) },
      ),
      text: fc
        .oneof(fc.constantFrom('', 'same', '2026-01-01T00:00:00Z '), fc.string({ unit: 'grapheme' }))
        .map((text) => text.replaceAll('\n', ' ')),
    }),
    { maxLength: 40 },
  )
  .map((steps) => {
    let now = 0n;
    return steps.map(({ stepNanos, backNanos, text }): FileLine => {
      now += stepNanos;
      return { nanos: now > backNanos ? now - backNanos : now, text };
    });
  });

/** How each response ends: after so many thousandths of its bytes, cut into chunks of so many bytes; in a new process or not. */
const cuts = fc.array(
  fc.record({
    permille: fc.nat(1000),
    chunk: fc.integer({ min: 1, max: 200 }),
    isNewProcess: fc.boolean(),
    grown: fc.nat(1000),
  }),
  { maxLength: 12 },
);

test('each line exactly once, in order, over any cuts, for a file that grows meanwhile', () => {
  fc.assert(
    fc.property(files, cuts, (file, responses) => {
      let assembler = new LogAssembler();
      const given: string[] = [];
      let written = 0;
      const end = { permille: 1000, chunk: 1 << 20, isNewProcess: true, grown: 1000 };
      for (const { permille, chunk, isNewProcess, grown } of [...responses, end]) {
        written = Math.max(written, Math.round((file.length * grown) / 1000));
        if (isNewProcess) assembler = new LogAssembler(assembler.position);
        const bytes = respond(file.slice(0, written), assembler.sinceTime);
        const sent = bytes.subarray(0, Math.round((bytes.length * permille) / 1000));
        assembler.begin();
        for (let at = 0; at < sent.length; at += chunk)
          given.push(...texts(assembler.push(sent.subarray(at, at + chunk))));
        expect(assembler.complaint).toBeNull();
      }
      expect(given).toEqual(file.map(({ text }) => text));
    }),
    { numRuns: 400 },
  );
});

test('with rotations nothing is repeated or out of order, and nothing is missing without a gap in its place', () => {
  const distinct = files.map((file) =>
    file.map(({ nanos }, index) => ({ nanos: nanos - (nanos % 64n) + BigInt(index), text: String(index) })),
  );
  fc.assert(
    fc.property(distinct, cuts, (file, responses) => {
      const assembler = new LogAssembler();
      const given: string[] = [];
      let from = 0;
      let written = 0;
      for (const { permille, grown, isNewProcess: isRotated } of responses) {
        if (isRotated) from = Math.max(from, Math.round((written * grown) / 1000));
        written = Math.max(written, Math.round((file.length * grown) / 1000));
        const bytes = respond(file.slice(from, written), assembler.sinceTime);
        given.push(...texts(read(assembler, bytes.subarray(0, Math.round((bytes.length * permille) / 1000)))));
        if (permille === 1000 && file[from] !== undefined && from < written) {
          expect(assembler.isCaughtUp, 'a file with the last line in it is read to its end').toBe(true);
        }
      }
      let expected = 0;
      let isGap = false;
      for (const text of given) {
        if (text === '<gap>') isGap = true;
        else {
          if (isGap || given[0] === text) expect(Number(text)).toBeGreaterThanOrEqual(expected);
          else expect(Number(text)).toBe(expected);
          expected = Number(text) + 1;
          isGap = false;
        }
      }
    }),
    { numRuns: 400 },
  );
});
