/** Conditions of pods, as those write them that are clients of the API server and no kubelet. */
import { timestamp } from '../times.ts';
import type { PodCondition, PodObject } from '../types.ts';
import type { ControllerOptions } from './options.ts';

/** What is said, and since when if not since now. */
export interface Said {
  readonly type: string;
  readonly status: PodCondition['status'];
  readonly reason: string;
  readonly message: string;
  readonly since?: string | null | undefined;
}

/** With the generation that it is said of, from the version on that tells that. */
export function podCondition(
  { metadata: { generation } }: PodObject,
  { type, status, reason, message, since }: Said,
  { clock, profile }: Pick<ControllerOptions, 'clock' | 'profile'>,
): PodCondition {
  return {
    type,
    ...(profile.observedGeneration && generation !== undefined && { observedGeneration: generation }),
    status,
    lastProbeTime: null,
    lastTransitionTime: since ?? timestamp(clock.now()),
    reason,
    message,
  };
}

/** That the pod is about to be ended by others than its owner. */
export function disruptionTarget(
  pod: PodObject,
  { reason, message }: Pick<Said, 'reason' | 'message'>,
  options: Pick<ControllerOptions, 'clock' | 'profile'>,
): PodCondition {
  return podCondition(pod, { type: 'DisruptionTarget', status: 'True', reason, message }, options);
}
