/**
 * Bytes of a watch response, turned into frames: the one place that knows the wire form (JSON, one object a line).
 *
 * A frame that cannot be read is told as `malformed`, never skipped: nobody knows which change it carried. A line
 * without its end is not a frame; the watch goes on from the version before it.
 */
import type { KubeObject, KubeStatus } from './resource.ts';
import { isStatus } from './status.ts';

export type WatchFrame<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string }
  | { readonly type: 'ERROR'; readonly status: KubeStatus }
  | { readonly type: 'malformed'; readonly reason: string };

/** etcd refuses objects over 1.5 MiB and the API server requests over 3 MiB: no honest frame is longer. */
export const longestLine = 8 * 1024 * 1024;
const excerptLength = 80;
const lineFeed = 10;

/** Takes chunks as they come and gives the frames that they complete. */
export class FrameDecoder<T extends KubeObject> {
  /** The beginning of a line whose end has not come. */
  #pending: Buffer[] = [];
  #pendingLength = 0;

  push(chunk: Uint8Array): WatchFrame<T>[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const frames: WatchFrame<T>[] = [];
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      const line = this.#take(bytes.subarray(start, end));
      start = end + 1;
      if (line.length > 0) frames.push(readFrame<T>(line));
    }
    this.#keep(bytes.subarray(start));
    if (this.#pendingLength > longestLine) {
      frames.push({ type: 'malformed', reason: `a line is longer than ${longestLine} bytes` });
    }
    return frames;
  }

  #take(rest: Buffer): string {
    if (this.#pendingLength === 0) return rest.toString('utf8');
    const line = Buffer.concat([...this.#pending, rest]).toString('utf8');
    this.#pending = [];
    this.#pendingLength = 0;
    return line;
  }

  #keep(rest: Buffer): void {
    if (rest.length === 0) return;
    this.#pending.push(rest);
    this.#pendingLength += rest.length;
  }
}

function readFrame<T extends KubeObject>(line: string): WatchFrame<T> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return malformed('not JSON', line);
  }
  if (!isRecord(value) || !isRecord(value['object'])) return malformed('no watch event', line);
  const { type, object } = value;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return isKubeObject<T>(object) ? { type, object } : malformed('an object without its identity', line);
    case 'BOOKMARK':
      return isRecord(object['metadata']) && typeof object['metadata']['resourceVersion'] === 'string'
        ? { type, resourceVersion: object['metadata']['resourceVersion'] }
        : malformed('a bookmark without a resourceVersion', line);
    case 'ERROR':
      return isStatus(object) ? { type, status: object } : malformed('an error without a Status', line);
    default:
      return malformed('an unknown type of event', line);
  }
}

function malformed(reason: string, line: string): { readonly type: 'malformed'; readonly reason: string } {
  return { type: 'malformed', reason: `${reason}: ${line.slice(0, excerptLength)}` };
}

/** What the store needs, of lists as of frames: the rest of an object is its reader's business. */
export function isKubeObject<T extends KubeObject>(value: unknown): value is T {
  if (!isRecord(value)) return false;
  const { metadata } = value;
  return (
    isRecord(metadata) &&
    typeof metadata['name'] === 'string' &&
    typeof metadata['uid'] === 'string' &&
    typeof metadata['resourceVersion'] === 'string'
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
