/** Reads tar archives with a parser of its own, so that the writer is not checked by itself. */

export interface TarFile {
  readonly name: string;
  readonly mode: number;
  readonly uid: number;
  readonly mtime: number;
  readonly data: Buffer;
}

/** The entries in their order. Throws on a wrong checksum and on anything after the end. */
export function readTar(archive: Buffer): TarFile[] {
  const files: TarFile[] = [];
  let at = 0;
  while (archive[at] !== 0) {
    const header = Buffer.from(archive.subarray(at, at + 512));
    const text = (from: number, to: number) => header.toString('latin1', from, to).replace(/[\0 ].*$/s, '');
    const sum = Number.parseInt(text(148, 156), 8);
    header.fill(0x20, 148, 156);
    if (header.reduce((total, byte) => total + byte, 0) !== sum) throw new Error(`wrong checksum at ${at}`);
    const octal = (from: number, to: number) => Number.parseInt(text(from, to), 8);
    const size = octal(124, 136);
    files.push({
      name: text(0, 100),
      mode: octal(100, 108),
      uid: octal(108, 116),
      mtime: octal(136, 148),
      data: archive.subarray(at + 512, at + 512 + size),
    });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  if (archive.length - at < 1024 || archive.subarray(at).some((byte) => byte !== 0))
    throw new Error('no end of archive');
  return files;
}
