/** Times as the API writes them. */

/** RFC 3339 with the precision of metav1.Time: seconds. */
export function timestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** With the precision of metav1.MicroTime. The clock gives milliseconds. */
export function microTimestamp(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

/** RFC 3339 with nanoseconds in fixed width, as in logs. */
export function nanoTimestamp(ns: bigint): string {
  const ms = Number(ns / 1_000_000n);
  const rest = (ns % 1_000_000_000n).toString().padStart(9, '0');
  return `${new Date(ms).toISOString().slice(0, 19)}.${rest}Z`;
}

/** The suffix of an Event's name: its time in nanoseconds, in hex. `salt`, below a million, keeps names apart. */
export function eventSuffix(ms: number, salt: number): string {
  return (BigInt(Math.floor(ms)) * 1_000_000n + BigInt(salt)).toString(16);
}
