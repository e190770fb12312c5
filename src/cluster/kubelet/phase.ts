/** The phase of a pod from its containers' states (k8s `getPhase`, kubernetes.md §3.4). */
import type { ContainerStatus, PodObject, PodPhase } from '../types.ts';
import { isSidecar, restartsOn } from './restart.ts';

export interface PhaseInput {
  readonly pod: PodObject;
  readonly main: readonly ContainerStatus[];
  readonly init: readonly ContainerStatus[];
  /** Being deleted or evicted: nothing is started any more. */
  readonly terminal: boolean;
}

export function podPhase({ pod, main, init, terminal }: PhaseInput): PodPhase {
  const { containers, initContainers = [] } = pod.spec;
  const regular = initContainers.filter((container) => !isSidecar(pod, container));
  const statusOf = (list: readonly ContainerStatus[], name: string): ContainerStatus | undefined =>
    list.find((status) => status.name === name);
  for (const container of regular) {
    const end = statusOf(init, container.name)?.state.terminated;
    if (end === undefined) return 'Pending';
    if (end.exitCode !== 0 && !restartsOn(pod, container, end.exitCode)) return 'Failed';
    if (end.exitCode !== 0) return 'Pending';
  }
  let running = 0;
  let succeeded = 0;
  let stopped = 0;
  let restartable = false;
  for (const container of containers) {
    const status = statusOf(main, container.name);
    const { state, lastState } = status ?? { state: {}, lastState: {} };
    if (state.running !== undefined) running += 1;
    else if (state.terminated !== undefined) {
      stopped += 1;
      if (state.terminated.exitCode === 0) succeeded += 1;
      if (restartsOn(pod, container, state.terminated.exitCode)) restartable = true;
    } else if (lastState.terminated !== undefined) {
      stopped += 1;
      if (lastState.terminated.exitCode === 0) succeeded += 1;
      if (restartsOn(pod, container, lastState.terminated.exitCode)) restartable = true;
    } else return 'Pending';
  }
  if (running > 0 || (!terminal && sidecarRuns(pod, init))) return 'Running';
  if (stopped === 0) return 'Pending';
  if (!terminal && restartable) return 'Running';
  return succeeded === stopped ? 'Succeeded' : 'Failed';
}

/** It is stopped by a sync of its own before the pod counts as over. */
function sidecarRuns(pod: PodObject, init: readonly ContainerStatus[]): boolean {
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => isSidecar(pod, container));
  return sidecars.some(({ name }) => init.some((status) => status.name === name && status.state.running !== undefined));
}

export function isTerminal(phase: PodPhase): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
