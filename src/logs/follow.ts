/**
 * The log of one container instance: every line once and in order, from the first byte to the last, whatever happens
 * to the connection.
 */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Logger } from '../logger.ts';

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

/** The run of a container that is to be followed. */
export interface LogInstance {
  readonly containerID: string;
}

/** What the follower must be told, because the log itself cannot say it. */
export interface LogSource {
  /**
   * Resolves once the pod's status shows the instance (its own containerID, running or terminated): before that the
   * log is another one's. null when it will never run. Must reject when the signal aborts.
   */
  started(signal: AbortSignal): Promise<LogInstance | null>;
  /** Resolves once that instance is known to have terminated, or its pod is gone. Must reject when the signal aborts. */
  ended(signal: AbortSignal): Promise<void>;
  /**
   * Which of the container's logs is the instance's: `previous` once the container was started again after it, `gone`
   * when the pod is deleted or the instance is two or more back. Asked before each request.
   */
  which(): 'current' | 'previous' | 'gone';
}

export interface FollowLogOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly source: LogSource;
  /** Go on after this line. */
  readonly from?: LogPosition;
  readonly clock: Clock;
  readonly random?: () => number;
  readonly logger?: Logger;
  readonly signal?: AbortSignal;
}
