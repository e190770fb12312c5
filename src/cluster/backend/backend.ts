/** The seam behind which containers live: how images come, and what a started container does. */
import type { Container, PodObject } from '../types.ts';

export interface ImageRecord {
  /** As shown in `status.imageID`: `sha256:…` for an imported image, `REPO@sha256:…` for a pulled one. */
  readonly imageID: string;
  readonly bytes: number;
}

/** What became of a pull; it took as long as the promise. */
export type PullOutcome =
  | { readonly ok: true; readonly image: ImageRecord }
  /** The text is the runtime's own, as it stands in `Failed to pull image "I": TEXT`. */
  | { readonly ok: false; readonly text: string };

export interface VolumeContent {
  /** Path below the mount → content; empty for an emptyDir. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export interface StartRequest {
  readonly pod: PodObject;
  readonly container: Container;
  /** The image that the spec names now. */
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly volumes: ReadonlyMap<string, VolumeContent>;
  /** One line with its newline, stamped with the time of the call; only the last one may lack the newline. */
  readonly output: (line: Uint8Array) => void;
  /** Once, after the last output. */
  readonly exited: (end: ContainerEnd) => void;
}

export interface ContainerEnd {
  readonly exitCode: number;
  /** Default: Completed for 0, else Error. */
  readonly reason?: string;
  /** The content of the termination log. */
  readonly message?: string;
}

/** A container that runs. Ending it is a no-op once it has ended. */
export interface RunningContainer {
  terminate(): void;
  kill(): void;
  /** Runs a command in it, beside what it does. Resolves when that has ended, be it by the signal or with the container. */
  exec(command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** Asks it over its network, as a probe does. */
  connect(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult>;
}

export interface NetworkRequest {
  readonly kind: 'tcpSocket' | 'httpGet';
  /** Default: the pod's. */
  readonly host?: string;
  readonly port: number;
  readonly path?: string;
  readonly scheme?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ExecResult {
  /** 0 is success. */
  readonly exitCode: number;
  /** Both streams, or what went wrong. */
  readonly output: string;
}

/** The container could not be started: it ends at once with 128 and reason StartError. */
export class StartFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StartFailure';
  }
}

/** What holds more than it may: a volume of the pod, or what the container writes to its own files. */
export type Overfilled =
  | { readonly volume: string; readonly container?: undefined }
  | { readonly container: string; readonly volume?: undefined };

export interface Backend {
  /** Why this pod can never run here; undefined when it can. */
  refusePod(pod: PodObject): string | undefined;
  /** The image if the node has it. */
  image(reference: string): ImageRecord | undefined;
  pull(reference: string, pod: PodObject): Promise<PullOutcome>;
  /** The node's image store loses what was pulled. */
  removeImages(): void;
  /** Rejects with StartFailure. */
  start(request: StartRequest): Promise<RunningContainer>;
  /** The pod is gone for good: what was kept for it can go. */
  removePod(uid: string): Promise<void>;
  /** Ends everything and leaves nothing. */
  dispose(): Promise<void>;
}
