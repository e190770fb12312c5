/** Types first; the implementation follows. */
import type { InspectionEvent } from 'xstate';
import type { GracePolicy } from '../../machines/messages.ts';
import type { Outcome, Phase, SettledOutcome } from '../../machines/outcome.ts';
import type { Clock } from '../clock.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';

export type { GracePolicy } from '../../machines/messages.ts';

export type InspectionHandler = (event: InspectionEvent) => void;

/** A container that the build knows of. Others in the pod are seen and decide nothing. */
export interface ContainerPlan {
  readonly name: string;
  /** The step's own image is in the pod from the start: the create asks for it, no `request` follows. */
  readonly atStart?: boolean;
}

/** What the placeholder is, and what the server made of its rules. */
export interface StartFacts {
  /** As they stand in the pod's spec. Empty when every container has its own image from the start. */
  readonly placeholderImages: readonly string[];
  /** The code with which the placeholder ends on SIGTERM; 0 when absent. */
  readonly sigtermCode?: number;
  /** Whether the server kept the restart rules, so that the kubelet tries again. Default: read from the pod's spec. */
  readonly retries?: boolean;
}

export interface BuildActorsOptions {
  readonly id: string;
  readonly containers: readonly ContainerPlan[];
  readonly clock: Clock;
  readonly grace?: Partial<GracePolicy>;
  readonly inspect?: InspectionHandler;
}

/** One transition of one actor. `state` is its state's name, `previous` the one before. */
export type StateChange =
  | { readonly actor: 'build'; readonly at: number; readonly previous: BuildState; readonly state: BuildState }
  | {
      readonly actor: 'pod';
      readonly at: number;
      readonly previous: PodState;
      readonly state: PodState;
      readonly uid: string | null;
    }
  | {
      readonly actor: 'container';
      readonly container: string;
      readonly at: number;
      readonly previous: ContainerState;
      readonly state: ContainerState;
      /** Set from `running` on. */
      readonly outcome: Outcome | null;
    };

export type BuildState =
  | 'setup'
  | 'assembling'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'errored'
  | 'removed';
export type PodState = 'creating' | 'pending' | 'running' | 'ending' | 'gone';
export type ContainerState = 'pending' | 'pulling' | 'pullFailed' | 'running' | 'terminated' | 'canceled';

export interface ContainerSnapshotView {
  readonly name: string;
  readonly state: ContainerState;
  /** Whether the step was asked to run. */
  readonly requested: boolean;
  /** The runtime's clock at the moment it was asked. */
  readonly requestedAt: number | null;
  readonly outcome: Outcome | null;
  /** Of the step's own container, once it is known; never of the placeholder. */
  readonly containerID: string | null;
  readonly restartCount: number | null;
  /** The kubelet's reason while the container waits, and its words. */
  readonly waiting: { readonly reason: string; readonly message: string | null } | null;
  /** Whether its placeholder is known to wait: the container may be switched. */
  readonly placeholderRunning: boolean;
}

export interface PodSnapshotView {
  readonly state: PodState;
  readonly uid: string | null;
  readonly node: string | null;
  readonly phase: string | null;
  readonly cause: string | null;
  readonly message: string | null;
}

export interface BuildActorsApi {
  /** About to create the pod. */
  assembling(): void;
  created(pod: Pod, start: StartFacts): void;
  /** The build could not be assembled: everything that waits is rejected with `error`. */
  failed(error: unknown): void;
  /** The step was asked to run. Call it when the PATCH is sent. */
  request(container: string, image: string): void;
  observePod(pod: Pod): void;
  observeGone(pod: Pod, finalStateKnown: boolean): void;
  observeEvent(event: KubeEvent): void;
  cancel(reason: 'caller' | 'timeout', phase?: Phase, container?: string): void;
  conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void;
  removed(): void;
  launched(container: string, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  settled(container: string, options?: { readonly signal?: AbortSignal }): Promise<SettledOutcome>;
  container(name: string): ContainerSnapshotView;
  readonly pod: PodSnapshotView;
  readonly state: BuildState;
  subscribe(listener: (change: StateChange) => void): () => void;
  close(): void;
}

export declare class BuildActors implements BuildActorsApi {
  constructor(options: BuildActorsOptions);
  assembling(): void;
  created(pod: Pod, start: StartFacts): void;
  failed(error: unknown): void;
  request(container: string, image: string): void;
  observePod(pod: Pod): void;
  observeGone(pod: Pod, finalStateKnown: boolean): void;
  observeEvent(event: KubeEvent): void;
  cancel(reason: 'caller' | 'timeout', phase?: Phase, container?: string): void;
  conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void;
  removed(): void;
  launched(container: string, options?: { readonly signal?: AbortSignal }): Promise<Outcome>;
  settled(container: string, options?: { readonly signal?: AbortSignal }): Promise<SettledOutcome>;
  container(name: string): ContainerSnapshotView;
  get pod(): PodSnapshotView;
  get state(): BuildState;
  subscribe(listener: (change: StateChange) => void): () => void;
  close(): void;
}
