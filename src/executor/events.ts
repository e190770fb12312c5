/**
 * What an executor tells while a build runs. Plain JSON; times are milliseconds of the runtime's clock.
 *
 * `build.prepared` comes first and `build.settled` last. Between the two, what concerns one step is in order:
 * `step.started`, its states and log lines, `step.settled`; a step that does not run has `step.skipped` alone.
 */
import type { Outcome } from '../../machines/outcome.ts';
import type { LogGap } from '../logs/follow.ts';
import type { RemovalReport, RuntimeHealth } from '../runtime/contract.ts';
import type { Plan } from './plan.ts';
import type { BuildResult, StepResult } from './result.ts';

export type ExecutorEvent =
  | BuildPrepared
  | BuildAssembled
  | BuildRetried
  | BuildRemoved
  | BuildSettled
  | StepStarted
  | StepState
  | StepLog
  | StepSkipped
  | StepSettled
  | ServiceReady
  | ClusterEvent
  | HealthChanged;

interface Timed {
  readonly at: number;
}

/** The build is known to the runtime; nothing is created yet. */
export interface BuildPrepared extends Timed {
  readonly type: 'build.prepared';
  readonly build: string;
  readonly namespace: string;
  readonly pod: string;
  readonly plan: Plan;
  /** Sentences on what the way steps are started cannot do for this build. */
  readonly limits: readonly string[];
}
/** The pod exists and all its containers wait for their step. */
export interface BuildAssembled extends Timed {
  readonly type: 'build.assembled';
  readonly node: string | null;
  /** Whether the kubelet tries a failed pull again. */
  readonly retriesPulls: boolean | null;
}
/** The infrastructure ended the build, and it is run again from its first step. */
export interface BuildRetried extends Timed {
  readonly type: 'build.retried';
  /** Of the new run, from 1. */
  readonly retry: number;
  readonly reason: string;
}
export interface BuildRemoved extends Timed {
  readonly type: 'build.removed';
  readonly report: RemovalReport;
}
export interface BuildSettled extends Timed {
  readonly type: 'build.settled';
  readonly result: BuildResult;
}

/** Which step; `container` is unique in the build. */
export interface StepRef {
  readonly kind: StepResult['kind'];
  readonly name: string;
  readonly stage: string;
  readonly number: number;
  readonly container: string;
}

/** The step is asked for. */
export interface StepStarted extends Timed {
  readonly type: 'step.started';
  readonly step: StepRef;
  readonly image: string;
}
export interface StepState extends Timed {
  readonly type: 'step.state';
  readonly step: StepRef;
  readonly state: 'pulling' | 'pullFailed' | 'running' | 'terminated' | 'canceled';
  readonly outcome: Outcome | null;
}
export interface StepLog extends Timed {
  readonly type: 'step.log';
  readonly step: StepRef;
  /** Secrets are masked. Without the line break. */
  readonly line: string;
  /** The node's clock, RFC 3339. */
  readonly time: string;
  /** The line goes on with the next one. */
  readonly partial: boolean;
  /** Instead of a line: lines are missing here. */
  readonly gap: LogGap | null;
}
export interface StepSkipped extends Timed {
  readonly type: 'step.skipped';
  readonly step: StepRef;
  readonly reason: string;
}
export interface StepSettled extends Timed {
  readonly type: 'step.settled';
  readonly step: StepRef;
  readonly result: StepResult;
}
/** The steps start: because the service is ready, or because they waited long enough for it. */
export interface ServiceReady extends Timed {
  readonly type: 'service.ready';
  readonly step: StepRef;
  readonly isReady: boolean;
  readonly readiness: string;
  readonly afterMs: number;
}
/** A Kubernetes Event of the pod. */
export interface ClusterEvent extends Timed {
  readonly type: 'kube.event';
  readonly reason: string;
  readonly message: string;
  readonly severity: string;
  /** The step it is about, if one. */
  readonly container: string | null;
}
/** The watches became better or worse; verdicts wait for them. */
export interface HealthChanged extends Timed {
  readonly type: 'health';
  readonly pods: RuntimeHealth['pods']['state'];
  readonly events: RuntimeHealth['events']['state'];
}
