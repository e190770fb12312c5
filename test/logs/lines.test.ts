/** Lines come out whole and as they were, however the bytes are cut. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LinePiece, LineSplitter, longestPiece } from '../../src/logs/lines.ts';

function split(chunks: readonly Uint8Array[]): { pieces: LinePiece[]; rest: string | null } {
  const splitter = new LineSplitter();
  const pieces = chunks.flatMap((chunk) => splitter.push(chunk));
  return { pieces, rest: splitter.rest?.bytes.toString() ?? null };
}

test('lines do not depend on where the bytes are cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'é', '🙂', '\n', '\r', '\u2028'), maxLength: 60 });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 9 }), (whole, size) => {
      const bytes = Buffer.from(whole);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const { pieces, rest } = split(chunks);
      expect(pieces.map((piece) => `${piece.bytes}\n`).join('') + (rest ?? '')).toBe(whole);
      expect(pieces.every(({ isFirst, isLast }) => isFirst && isLast)).toBe(true);
    }),
  );
});

test('a long line is cut at the same characters whatever the chunks, and never inside of one', () => {
  const bytes = Buffer.from(`x${'🙂'.repeat(longestPiece / 3)}\nshort\n`);
  const cut = (size: number): string[] => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    return split(chunks).pieces.map(
      ({ bytes: piece, isFirst, isLast }) =>
        `${isFirst} ${isLast} ${piece.length} ${piece.toString().includes('\ufffd')}`,
    );
  };
  const expected = ['true false 1048573 false', 'false true 349528 false', 'true true 5 false'];
  for (const size of [4_099, 65_536, bytes.length]) expect(cut(size)).toEqual(expected);
});

test('bytes that are no UTF-8 are cut at the limit', () => {
  const { pieces } = split([Buffer.alloc(longestPiece + 1, 0x80)]);
  expect(pieces.map(({ bytes }) => bytes.length)).toEqual([longestPiece]);
});
