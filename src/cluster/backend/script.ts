/**
 * Lives of images and containers as data: what the scripted back-end plays.
 *
 * Of the first matching script counts. Times are milliseconds, or ranges from which each is drawn.
 */
import type { Duration } from '../timings.ts';

export interface ImageScript {
  /** A reference; a `*` stands for any text. */
  readonly image: string;
  /** Already on the node. Default false. */
  readonly present?: boolean;
  readonly bytes?: number;
  /** What each pull does, in turn; the last one goes on for ever. Default: one that works at once. */
  readonly pulls?: readonly PullScript[];
  /** The node never keeps it: each pull brings a new image. */
  readonly fresh?: boolean;
  /** Of a container that runs the image's own command. */
  readonly life?: LifeScript;
}

export interface PullScript {
  readonly takes?: Duration;
  /**
   * The runtime's text: the pull fails with it. `{image}`, `{registry}`, `{repository}` and `{tag}` are replaced.
   * Absent: the pull works.
   */
  readonly fails?: string;
}

/** Which containers a life is for. All that is given must match. */
export interface LifeMatch {
  /** As in ImageScript. */
  readonly image?: string;
  readonly pod?: string;
  readonly container?: string;
  /** The last word of the container's command and args, e.g. the script given to a shell. */
  readonly command?: string;
  /**
   * What hooks and probes ask of the container, not what it runs itself. `command` is then the last word of theirs, or
   * `tcpSocket:PORT`, `httpGet:PORT/PATH`. Without a life of their own they succeed, but for those to a placeholder.
   */
  readonly exec?: boolean;
}

export interface MatchedLife extends LifeScript {
  readonly match: LifeMatch;
}

export interface LifeScript {
  /** The runtime cannot start it: exit code 128, reason StartError, this message. */
  readonly startError?: string;
  /** Until it ends by itself. Default: at once. */
  readonly runs?: Duration | 'forever';
  readonly exitCode?: number;
  /** Of each run in a container of that name, in turn; the last one goes on for ever. Before `exitCode`. */
  readonly exitCodes?: readonly number[];
  /** The variable whose value is the exit code; `exitCode` where it is not set. */
  readonly exitCodeFrom?: string;
  /** Default: Completed for 0, else Error. `OOMKilled` for one that goes over its memory. */
  readonly reason?: string;
  /** What it leaves in the termination log. */
  readonly message?: string;
  readonly output?: readonly OutputScript[];
  /** Default `ignore`: what a shell without a trap does as the first process of a container. */
  readonly onTerm?: 'ignore' | TermScript;
  /** Writes more into the volume than it may hold: the kubelet evicts the pod. */
  readonly overfills?: string;
  /** Writes more to its own files than its limit of ephemeral-storage: the kubelet evicts the pod. */
  readonly overfillsStorage?: boolean;
}

export interface TermScript {
  readonly exitCode: number;
  readonly after?: Duration;
  readonly output?: string;
}

export interface OutputScript {
  /** After the start. */
  readonly at: number;
  /** With its newline. `{n}` is the number of the repetition, from 1. */
  readonly text: string;
  readonly times?: number;
  /** Between repetitions. */
  readonly every?: number;
}

/** What really happened to a container: the truth that verdicts can be held against. */
export type Played = {
  readonly podUid: string;
  readonly pod: string;
  readonly container: string;
  readonly image: string;
  /** Counts the starts of all containers, from 1. */
  readonly run: number;
  /** Milliseconds of the cluster's clock. */
  readonly at: number;
} & PlayedEvent;

export type PlayedEvent =
  | { readonly what: 'started' }
  | { readonly what: 'wrote'; readonly text: string }
  /** `by`: its own life, the request to end (SIGTERM), or force. */
  | { readonly what: 'ended'; readonly exitCode: number; readonly by: 'itself' | 'request' | 'force' };

/** `*` stands for any text. */
export function fitsPattern(pattern: string, text: string): boolean {
  if (!pattern.includes('*')) return pattern === text;
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(text);
}
