/**
 * Bytes of a log response, cut into lines: whatever the chunks, never in the middle of a character, and never more than
 * a piece in memory.
 */

/** Longer lines come in pieces. */
export const longestPiece = 1024 * 1024;
const lineFeed = 10;

/** A line, or a part of one that is too long. Line breaks are left out. */
export interface LinePiece {
  readonly bytes: Buffer;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** Where a line is cut depends on the line alone, so that a second reading gives the same pieces. */
export class LineSplitter {
  #rest: Buffer = Buffer.alloc(0);
  #isFirst = true;

  push(chunk: Uint8Array): LinePiece[] {
    const fresh = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let bytes = this.#rest.length === 0 ? fresh : Buffer.concat([this.#rest, fresh]);
    const pieces: LinePiece[] = [];
    for (;;) {
      const end = bytes.indexOf(lineFeed);
      const length = end === -1 ? bytes.length : end;
      if (length > longestPiece) {
        const cut = characterStart(bytes, longestPiece);
        pieces.push({ bytes: bytes.subarray(0, cut), isFirst: this.#isFirst, isLast: false });
        bytes = bytes.subarray(cut);
        this.#isFirst = false;
      } else if (end === -1) {
        this.#rest = bytes;
        return pieces;
      } else {
        pieces.push({ bytes: bytes.subarray(0, end), isFirst: this.#isFirst, isLast: true });
        bytes = bytes.subarray(end + 1);
        this.#isFirst = true;
      }
    }
  }

  /** What came after the last line break, as the last piece of its line; null when nothing did. */
  get rest(): LinePiece | null {
    if (this.#rest.length === 0 && this.#isFirst) return null;
    return { bytes: this.#rest, isFirst: this.#isFirst, isLast: true };
  }
}

/** The start of the UTF-8 character that holds the byte at `index`; bytes that are no UTF-8 are cut anywhere. */
function characterStart(bytes: Buffer, index: number): number {
  for (let start = index; start > index - 4; start--) {
    if (!isContinuation(bytes[start])) return start;
  }
  return index;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0b1100_0000) === 0b1000_0000;
}
