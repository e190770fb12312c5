/** A pod's cells in a table (k8s `printPod`). */
import type { Container, ContainerStatus, PodObject } from '../../types.ts';
import { age } from '../age.ts';

interface Summary {
  readonly reason: string;
  readonly ready: number;
  readonly restarts: number;
  /** When the last instance before a restart ended, in milliseconds since the epoch. */
  readonly restartedAt: number | undefined;
}

export const podColumns = {
  ready(pod: PodObject): string {
    // A bookmark's row is that of a pod with nothing in it.
    const { initContainers = [], containers } = pod.spec;
    return `${summary(pod).ready}/${(containers ?? []).length + initContainers.filter(isSidecar).length}`;
  },
  status(pod: PodObject): string {
    const { metadata, status } = pod;
    if (metadata.deletionTimestamp === undefined) return summary(pod).reason;
    if (status.reason === 'NodeLost') return 'Unknown';
    return status.phase === 'Succeeded' || status.phase === 'Failed' ? summary(pod).reason : 'Terminating';
  },
  restarts(pod: PodObject, now: number): string {
    const { restarts, restartedAt } = summary(pod);
    return restarts > 0 && restartedAt !== undefined ? `${restarts} (${age(now - restartedAt)} ago)` : String(restarts);
  },
  readinessGates({ spec: { ['readinessGates']: gates }, status: { conditions = [] } }: PodObject): string {
    if (!Array.isArray(gates) || gates.length === 0) return '<none>';
    const isTrue = ({ conditionType }: { conditionType: string }): boolean =>
      conditions.some(({ type, status }) => type === conditionType && status === 'True');
    return `${gates.filter(isTrue).length}/${gates.length}`;
  },
} as const;

function summary(pod: PodObject): Summary {
  const init = initSummary(pod);
  const initialized = pod.status.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True');
  if (init.unfinished && initialized !== true) return init;
  const sidecars = (pod.status.initContainerStatuses ?? []).filter(({ name }) => isSidecar(initContainer(pod, name)));
  return mainSummary(pod, { ...init, ...restartsOf(sidecars) });
}

function initSummary(pod: PodObject): Summary & { readonly unfinished: boolean } {
  const { initContainers = [] } = pod.spec;
  const seen: ContainerStatus[] = [];
  let ready = 0;
  let reason = ownReason(pod);
  let unfinished = false;
  for (const [at, status] of (pod.status.initContainerStatuses ?? []).entries()) {
    seen.push(status);
    const { terminated, waiting } = status.state;
    if (terminated?.exitCode === 0) continue;
    if (isSidecar(initContainer(pod, status.name)) && status.started === true) {
      if (status.ready) ready += 1;
      continue;
    }
    if (terminated !== undefined) reason = `Init:${endReason(terminated)}`;
    else if (waiting?.reason !== undefined && waiting.reason !== 'PodInitializing') reason = `Init:${waiting.reason}`;
    else reason = `Init:${at}/${initContainers.length}`;
    unfinished = true;
    break;
  }
  return { reason, ready, unfinished, ...restartsOf(seen) };
}

function mainSummary({ status }: PodObject, init: Summary): Summary {
  const statuses = status.containerStatuses ?? [];
  let { reason } = init;
  let failure = '';
  let running = 0;
  for (const { state, ready } of [...statuses].reverse()) {
    if (state.waiting?.reason !== undefined) reason = state.waiting.reason;
    else if (state.terminated !== undefined) {
      reason = endReason(state.terminated);
      if (state.terminated.exitCode !== 0) failure = reason;
    } else if (ready && state.running !== undefined) running += 1;
  }
  if (reason === 'Completed') reason = withOthers(status, running > 0, failure);
  const main = restartsOf(statuses);
  const restartedAt = latest([init.restartedAt, main.restartedAt]);
  return { reason, ready: init.ready + running, restarts: init.restarts + main.restarts, restartedAt };
}

/** The first container is done: what of the rest. */
function withOthers({ conditions = [] }: PodObject['status'], isRunning: boolean, failure: string): string {
  const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  if (isRunning && isReady) return 'Running';
  if (failure !== '') return failure;
  return isRunning ? 'NotReady' : 'Completed';
}

function ownReason({ status }: PodObject): string {
  const gated = status.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  return gated === true ? 'SchedulingGated' : (status.reason ?? status.phase ?? '');
}

function endReason({ reason, signal, exitCode }: { reason?: string; signal?: number; exitCode: number }): string {
  if (reason) return reason;
  return signal ? `Signal:${signal}` : `ExitCode:${exitCode}`;
}

function restartsOf(statuses: readonly ContainerStatus[]): Pick<Summary, 'restarts' | 'restartedAt'> {
  return {
    restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    restartedAt: latest(
      statuses.map(({ lastState }) =>
        lastState.terminated?.finishedAt ? Date.parse(lastState.terminated.finishedAt) : undefined,
      ),
    ),
  };
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function initContainer({ spec }: PodObject, name: string): Container | undefined {
  return spec.initContainers?.find((container) => container.name === name);
}

function isSidecar(container: Container | undefined): boolean {
  return container?.restartPolicy === 'Always';
}
