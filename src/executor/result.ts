/** How a build and its steps ended, and whose doing it was. */
import type { Cause, SettledOutcome } from '../../machines/outcome.ts';
import { isSuccess } from '../../machines/outcome.ts';
import type { PodwrightError } from '../errors.ts';
import type { RemovalReport } from '../runtime/contract.ts';

/** `error`: not the build's own doing, so that running it again may help. */
export type BuildOutcome = 'succeeded' | 'failed' | 'canceled' | 'error';
/** `skipped` never ran, by rule or because of what came before; `detached` ran on when the build had ended. */
export type StepStatus = BuildOutcome | 'skipped' | 'detached';

export interface StepResult {
  readonly kind: 'step' | 'plugin' | 'service';
  readonly name: string;
  /** Empty without stages. */
  readonly stage: string;
  /** From 1 for steps, 0 for services. */
  readonly number: number;
  readonly image: string;
  readonly status: StepStatus;
  /** Its failure does not fail the build. */
  readonly continues: boolean;
  /** Why it was skipped; null when it was not. */
  readonly reason: string | null;
  /** Null when it was never asked for, or has no verdict. */
  readonly outcome: SettledOutcome | null;
  /** Milliseconds of the runtime's clock; null when it never ran. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface BuildResult {
  readonly id: string;
  readonly outcome: BuildOutcome;
  /** In the order of the file: plugins, services, steps. */
  readonly steps: readonly StepResult[];
  /** The failure of the runtime that ended the build; null when steps decided. */
  readonly error: PodwrightError | null;
  /** Whether the time limit of the whole build ended it. */
  readonly timedOut: boolean;
  /** What became of the pod; null when there was none, or it was to be kept. */
  readonly removal: RemovalReport | null;
  readonly startedAt: number;
  readonly endedAt: number;
  /** How often it was run again because of the infrastructure. */
  readonly retries: number;
}

/** Causes that say nothing about the build itself. */
const infrastructure: ReadonlySet<Cause> = new Set([
  'evicted',
  'preempted',
  'nodeLost',
  'nodeShutdown',
  'podDeleted',
  'rejected',
  'placeholderLost',
  'unknown',
]);

/** Endings after which no container of the pod can run any more. */
const podEndings: ReadonlySet<Cause> = new Set([
  'evicted',
  'preempted',
  'nodeLost',
  'nodeShutdown',
  'podDeleted',
  'rejected',
  'deadlineExceeded',
]);

export function statusOf(outcome: SettledOutcome): Exclude<BuildOutcome, 'error'> | 'error' {
  if (isSuccess(outcome)) return 'succeeded';
  switch (outcome.outcome) {
    case 'pullFailed':
      return 'failed';
    case 'canceled':
      return statusOfCancel(outcome);
    case 'terminated':
      return infrastructure.has(outcome.cause) ? 'error' : 'failed';
  }
}

/** A step that took too long is its own doing; one whose pod found no place is not. */
function statusOfCancel(outcome: Extract<SettledOutcome, { outcome: 'canceled' }>): BuildOutcome {
  if (outcome.reason === 'caller') return 'canceled';
  return outcome.phase === 'run' || outcome.phase === 'pull' ? 'failed' : 'error';
}

export function endsPod(outcome: SettledOutcome): boolean {
  return outcome.outcome === 'terminated' && podEndings.has(outcome.cause);
}
