/** How a pod ends as a whole: the phase that stays, and the kubelet's own verdict on it. */
import { texts } from '../texts.ts';
import { timestamp } from '../times.ts';
import type { PodPhase, PodStatus } from '../types.ts';
import { isTerminal } from './phase.ts';
import type { StatusInput } from './status-input.ts';

/** Why the kubelet ends a pod: eviction, shutdown. */
export interface PodVerdict {
  readonly reason: string;
  readonly message: string;
  /** `TerminationByKubelet` where the kubelet disrupts a pod that did nothing wrong. */
  readonly disruption?: string;
}

type Outcome = Pick<PodStatus, 'phase' | 'reason' | 'message'>;

/**
 * What was over stays over. The reason of an eviction is kept only while the phase is the same: a pod that is evicted and
 * whose containers all end with 0 becomes Succeeded, and nothing of the eviction is left but its conditions.
 */
export function podOutcome({ pod, old, overDeadline }: StatusInput, computed: PodPhase): Outcome {
  if (overDeadline) return { phase: 'Failed', reason: 'DeadlineExceeded', message: texts.deadlineExceeded };
  const before = [old, pod.status].find(({ phase }) => isTerminal(phase));
  const phase = isTerminal(computed) ? computed : (before?.phase ?? computed);
  if (phase !== old.phase) return { phase };
  const reason = old.reason ?? pod.status.reason;
  const message = old.message ?? pod.status.message;
  return { phase, ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
}

/** As the kubelet marks a pod that it ends as a whole, before its containers are stopped. */
export function endedStatus(status: PodStatus, { reason, message, disruption }: PodVerdict, now: number): PodStatus {
  const conditions = status.conditions ?? [];
  const ended: PodStatus = { ...status, phase: 'Failed', reason, message };
  if (disruption === undefined) return ended;
  const type = 'DisruptionTarget';
  const condition = { type, status: 'True', lastProbeTime: null, lastTransitionTime: timestamp(now) } as const;
  return { ...ended, conditions: [{ ...condition, reason: disruption, message }, ...conditions] };
}
