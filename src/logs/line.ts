/** The lines of a log, as they are handed out. */

/** Where a line stands in its log. Opaque; give it back as `from` to go on after that line, also in another process. */
export type LogPosition = string;

export interface LogLine {
  /** Without the line break. Empty for a gap. */
  readonly text: string;
  /** RFC 3339 with nanoseconds, the node's clock and zone, as the kubelet wrote it. */
  readonly at: string;
  readonly position: LogPosition;
  /** A piece of a line over 1 MiB, and not its last: the next line goes on with the same one. */
  readonly partial?: true;
  /** Instead of text: lines may be missing here. */
  readonly gap?: LogGap;
}

export interface LogGap {
  /** Time of the last line before, null when there was none. */
  readonly after: string | null;
  /** Time of the first line after, null when none can be read any more. */
  readonly before: string | null;
  /** `rotated`: the kubelet serves only the newest file · `unavailable`: the log could not be read to its end. */
  readonly reason: 'rotated' | 'unavailable';
  /** The server's words, when it gave any. */
  readonly message: string | null;
}
