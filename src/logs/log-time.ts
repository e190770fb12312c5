/** The time that the kubelet writes before each line: RFC 3339 with up to nine digits of a second, in the node's zone. */

export interface LogTime {
  /** Whole seconds since the epoch. */
  readonly seconds: number;
  readonly nanos: number;
}

export interface Timestamp {
  readonly time: LogTime;
  /** As it was written. */
  readonly text: string;
  /** Bytes until the line's own text begins. */
  readonly length: number;
}

const pattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)/;
const longestTimestamp = 40;

/** Log lines come many to a second. */
let known = { text: '', seconds: 0 };

/** null when the bytes do not begin with a time: then they are no line of a container. */
export function readTimestamp(bytes: Buffer): Timestamp | null {
  const match = pattern.exec(bytes.toString('latin1', 0, longestTimestamp));
  if (match === null) return null;
  const [whole, second = '', fraction = '', zone = 'Z'] = match;
  const secondText = second + zone;
  if (known.text !== secondText) known = { text: secondText, seconds: Date.parse(secondText) / 1000 };
  if (Number.isNaN(known.seconds)) return null;
  const time = { seconds: known.seconds, nanos: Number(fraction.padEnd(9, '0')) };
  return { time, text: whole.trimEnd(), length: whole.length };
}

/** Whether the bytes could be the beginning of a time that was cut off. */
export function mayBeginTimestamp(bytes: Buffer): boolean {
  return bytes.length < longestTimestamp && /^[\d\-T:.Z+]*$/.test(bytes.toString('latin1'));
}

export function compareTimes(a: LogTime, b: LogTime): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}

/** For `sinceTime`, of which the kubelet uses whole seconds. */
export function formatSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
}

export function formatTime({ seconds, nanos }: LogTime): string {
  return `${formatSeconds(seconds).slice(0, -1)}.${String(nanos).padStart(9, '0')}Z`;
}
