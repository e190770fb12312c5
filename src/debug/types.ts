/**
 * What is told about containers that a debugger can attach to. Types only, plain JSON, nothing of Node: the events and
 * the inspector page use the same file.
 */

/** How one container is debugged, as the annotation says. */
export interface DebugConfig {
  /** The image as its owner calls it; empty when the annotation has none. */
  readonly artifact: string;
  /** `go`, `jvm`, `nodejs`, `python`, `netcore`, or any other word. */
  readonly runtime: string;
  readonly workingDir: string;
  /** Protocol (`dlv`, `jdwp`, `devtools`, `dap`, `pydevd`) → port in the container. */
  readonly ports: Readonly<Record<string, number>>;
}

/** One container instance that a debugger can attach to. */
export interface DebugTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly podUid: string;
  readonly container: string;
  /** Null where the cluster told none; then the restart count tells instances apart. */
  readonly containerID: string | null;
  readonly restartCount: number;
  readonly node: string | null;
  /** The image as its owner calls it; the container's image where the annotation names none. */
  readonly artifact: string;
  readonly image: string;
  readonly imageID: string;
  readonly runtime: string;
  readonly workingDir: string;
  readonly debugPorts: Readonly<Record<string, number>>;
  /** RFC 3339, the node's clock. */
  readonly startedAt: string | null;
}

/**
 * How an instance ended. `exited`: the kubelet showed its end. `restarted`: another instance was seen in its place.
 * `deleted`: its pod went. `closed`: we stopped looking; the container may go on.
 */
export type DebugEnd = 'exited' | 'restarted' | 'deleted' | 'closed';

export type DebugChange =
  | { readonly kind: 'started'; readonly target: DebugTarget }
  | {
      readonly kind: 'terminated';
      readonly target: DebugTarget;
      readonly cause: DebugEnd;
      /** null: not known, which is not 0. */
      readonly exitCode: number | null;
      readonly reason: string | null;
      readonly finishedAt: string | null;
    }
  /** An annotation asks for debugging and it cannot be had. */
  | {
      readonly kind: 'refused';
      readonly namespace: string;
      readonly pod: string;
      readonly podUid: string;
      /** null when the annotation as a whole is at fault. */
      readonly container: string | null;
      readonly message: string;
    };
