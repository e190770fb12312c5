/** Which pods have to go so that a more important one fits (k8s `DefaultPreemption`, without disruption budgets). */
import type { PodObject } from '../types.ts';
import { type NodeObject, type NodeState, obstacle } from './fit.ts';

export interface Preemption {
  readonly node: NodeObject;
  readonly victims: readonly PodObject[];
}

function priorityOf({ spec }: PodObject): number {
  return Number(spec['priority'] ?? 0);
}

/** Undefined when no node would have room without the pods of lower priority on it. */
export function preemption(pod: PodObject, states: readonly NodeState[]): Preemption | undefined {
  for (const state of states) {
    if (obstacle(pod, state)?.isOfPods !== true) continue;
    const victims = victimsOn(pod, state);
    if (victims.length > 0) return { node: state.node, victims };
  }
  return undefined;
}

/** As few as possible: the more important ones are let off first, and of equals the older. */
function victimsOn(pod: PodObject, { node, pods }: NodeState): readonly PodObject[] {
  const lower = pods.filter((one) => priorityOf(one) < priorityOf(pod));
  let kept = pods.filter((one) => !lower.includes(one));
  if (obstacle(pod, { node, pods: kept }) !== undefined) return [];
  const ordered = [...lower].sort((a, b) => priorityOf(b) - priorityOf(a) || createdAt(a) - createdAt(b));
  return ordered.filter((one) => {
    if (obstacle(pod, { node, pods: [...kept, one] }) !== undefined) return true;
    kept = [...kept, one];
    return false;
  });
}

function createdAt({ metadata }: PodObject): number {
  return Date.parse(metadata.creationTimestamp);
}
