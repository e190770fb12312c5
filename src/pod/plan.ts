/** A build's spec once everything is decided that Kubernetes wants decided: names, places, the placeholder. */
import type { BuildSpec, ContainerSpecRequest } from './build-spec.ts';

/** A spec with all names decided. */
export interface BuildPlan {
  readonly spec: BuildSpec;
  readonly owner: string;
  readonly namespace: string;
  readonly podName: string;
  readonly containers: readonly PlannedContainer[];
  readonly placeholder: PlaceholderOption;
}

/** One container of a build with the name it has in the pod. */
export interface PlannedContainer {
  /** The pipeline's name. */
  readonly name: string;
  readonly containerName: string;
  /** Its place among the containers. */
  readonly index: number;
  readonly request: ContainerSpecRequest;
}

export interface PlaceholderOption {
  readonly image: string;
  /** The exit code with which it ends on SIGTERM, when that is one no step uses; 0 is none, and the default. */
  readonly restartOn?: number;
  /** Whether the image is podwright's own, which brings the `entry` program; `restartOn` is 213 then. */
  readonly entry?: boolean;
}
