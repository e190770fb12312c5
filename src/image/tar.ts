/**
 * Tar archives whose bytes depend on names, modes and contents alone: no times, owners or machine names go in.
 */
import { assert } from '../assert.ts';

export interface TarEntry {
  /** At most 100 bytes of ASCII. A folder's name ends in `/` and it has no data. */
  readonly name: string;
  readonly mode: number;
  readonly data?: Uint8Array;
}

/** A POSIX (ustar) archive of the entries in their order, owned by root and from the epoch. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap(({ name, mode, data = new Uint8Array() }) => [
    header(name, mode, data.length),
    data,
    new Uint8Array(-data.length & (blockSize - 1)),
  ]);
  return Buffer.concat([...parts, new Uint8Array(2 * blockSize)]);
}

const blockSize = 512;

function header(name: string, mode: number, size: number): Buffer {
  assert(/^[\x21-\x7e]{1,100}$/.test(name), `"${name}" fits a tar header`);
  const block = Buffer.alloc(blockSize);
  block.write(name, 0);
  writeOctal(block, mode, 100, 8);
  writeOctal(block, 0, 108, 8);
  writeOctal(block, 0, 116, 8);
  writeOctal(block, size, 124, 12);
  writeOctal(block, 0, 136, 12);
  block.write(name.endsWith('/') ? '5' : '0', 156);
  block.write('ustar\0', 257);
  block.write('00', 263);
  // The checksum counts its own field as blanks.
  block.fill(' ', 148, 156);
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function writeOctal(block: Buffer, value: number, at: number, width: number): void {
  const digits = value.toString(8).padStart(width - 1, '0');
  assert(digits.length < width, `${value} fits ${width} octal digits`);
  block.write(`${digits}\0`, at);
}

function sumOf(block: Buffer): number {
  return block.reduce((sum, byte) => sum + byte, 0);
}
