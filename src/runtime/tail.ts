/** The log of one step: what the follower must be told by the pod's status, put together. */
import type { Cause, Outcome } from '../../machines/outcome.ts';
import { followLog, type LogEnd, type LogInstance, type LogLine, type LogSource } from '../logs/follow.ts';
import type { PlannedContainer } from '../pod/plan.ts';
import { failedPullReasons, pullBackOffReason } from '../pod/reasons.ts';
import type { ContainerStatus, Pod } from '../pod/types.ts';
import type { ContainerSnapshotView } from './actors.ts';
import type { TailOptions } from './contract.ts';
import type { Core } from './core.ts';
import type { BuildRecord } from './record.ts';
import type { Waiters } from './waiters.ts';

export async function* tailContainer(
  core: Core,
  record: BuildRecord,
  container: PlannedContainer,
  options: TailOptions,
): AsyncGenerator<LogLine, void, undefined> {
  const { signal, from } = options;
  const lines = followLog({
    client: core.client,
    namespace: core.namespace,
    pod: record.handle.podName,
    container: container.containerName,
    source: logSource(record, container),
    clock: core.clock,
    logger: core.logger,
    ...(from === undefined ? {} : { from }),
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    yield* lines;
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

export function logSource(record: BuildRecord, container: PlannedContainer): LogSource {
  const { containerName } = container;
  return logSourceOf({
    containerName,
    waiters: record.waiters,
    view: () => record.actors.container(containerName),
    pod: () => record.pod,
    isGone: () => record.gone,
    willNotBegin: () => record.assemblyFailure !== undefined,
    wasAskedFor: () => record.asked.has(containerName),
  });
}

/** What tells a log follower about its container: the actor's view, and the pod as it was last seen. */
export interface LogSubject {
  readonly containerName: string;
  /** Checked after every change of the others. */
  readonly waiters: Waiters;
  readonly view: () => Pick<ContainerSnapshotView, 'containerID' | 'outcome'>;
  readonly pod: () => Pod | undefined;
  readonly isGone: () => boolean;
  /** The build could not be assembled: no step of it will ever be asked for. */
  readonly willNotBegin?: () => boolean;
  /** Whether the step may have run unseen. Default: it may not. */
  readonly wasAskedFor?: () => boolean;
}

export function logSourceOf(subject: LogSubject): LogSource {
  const { containerName, waiters, view, pod, isGone, willNotBegin, wasAskedFor } = subject;
  return {
    started: (signal) =>
      waiters.until<LogInstance | 'unseen' | null>(() => {
        const { containerID, outcome } = view();
        if (containerID !== null) return { containerID };
        if (outcome === null && !isGone()) return willNotBegin?.() === true ? null : undefined;
        const isUnseen = wasAskedFor?.() === true && mayHaveRunUnseen(outcome) && !isPulling(pod(), containerName);
        return isUnseen ? 'unseen' : null;
      }, signal),
    ended: (signal) =>
      waiters.until<LogEnd>(() => {
        const { outcome } = view();
        if (outcome?.outcome === 'canceled') return 'canceled';
        return isGone() || (outcome !== null && outcome.outcome !== 'running') ? 'terminated' : undefined;
      }, signal),
    which: () => {
      const { containerID } = view();
      const status = pod()?.status?.containerStatuses?.find(({ name }) => name === containerName);
      return isGone() || containerID === null ? 'gone' : whichLog(status, containerID);
    },
  };
}

/** The pod ended before its kubelet told what had become of the step. */
function mayHaveRunUnseen(outcome: Outcome | null): boolean {
  return outcome?.outcome === 'terminated' && unseenCauses.has(outcome.cause);
}

/** As the last that was seen of it. */
function isPulling(pod: Pod | undefined, containerName: string): boolean {
  const status = pod?.status?.containerStatuses?.find(({ name }) => name === containerName);
  const reason = status?.state?.waiting?.reason ?? '';
  return failedPullReasons.has(reason) || reason === pullBackOffReason;
}

const unseenCauses: ReadonlySet<Cause> = new Set([
  'evicted',
  'preempted',
  'deadlineExceeded',
  'nodeLost',
  'nodeShutdown',
  'podDeleted',
  'unknown',
]);

/** The kubelet serves the log of the instance in `state`, and with `previous` that of the one in `lastState`. */
function whichLog(status: ContainerStatus | undefined, containerID: string): 'current' | 'previous' | 'gone' {
  if (status?.lastState?.terminated?.containerID === containerID) return 'previous';
  const current = status?.state?.terminated?.containerID ?? status?.containerID;
  return current === undefined || current === '' || current === containerID ? 'current' : 'gone';
}
