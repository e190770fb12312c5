/**
 * The kubelet's side of pods/log: which instance's log is read, chosen from the status the kubelet told last
 * (kubernetes.md §6.7).
 */
import type { LogAnswer, LogOptions } from '../api/context.ts';
import { texts } from '../texts.ts';
import type { ContainerStatus, PodObject, PodStatus } from '../types.ts';
import type { ContainerRuntime } from './runtime.ts';

export interface LogRequest {
  readonly pod: PodObject;
  readonly container: string;
  readonly options: LogOptions;
  readonly signal: AbortSignal;
  readonly now: number;
}

export function readLog(runtime: ContainerRuntime, status: PodStatus | undefined, request: LogRequest): LogAnswer {
  const { pod, container, options, signal, now } = request;
  const shown = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const own = shown.find(({ name }) => name === container);
  const chosen = choose(own, container, pod.metadata.name, options.previous);
  if (chosen.refusal !== undefined) return { kind: 'refused', message: chosen.refusal };
  const instance = runtime.find(chosen.id);
  // The headers are out by then: the error is text in a body that looks like a line.
  if (instance === undefined) return { kind: 'stream', body: single(texts.logsGone(chosen.id)) };
  return { kind: 'stream', body: instance.log.read(options, now, signal) };
}

type Choice = { readonly id: string; readonly refusal?: undefined } | { readonly refusal: string };

function choose(status: ContainerStatus | undefined, name: string, pod: string, previous: boolean): Choice {
  if (status === undefined) return { refusal: texts.noLogs(name, pod) };
  const { state, lastState } = status;
  if (previous) {
    const id = lastState.terminated?.containerID;
    return id ? { id } : { refusal: texts.noPreviousLogs(name, pod) };
  }
  if (state.running !== undefined) return { id: status.containerID ?? '' };
  if (state.terminated !== undefined) {
    const id = state.terminated.containerID ?? lastState.terminated?.containerID;
    return id ? { id } : { refusal: texts.noLogsTerminated(name, pod) };
  }
  if (lastState.terminated?.containerID) return { id: lastState.terminated.containerID };
  return { refusal: waitingText(state.waiting?.reason, name, pod) };
}

function waitingText(reason: string | undefined, name: string, pod: string): string {
  switch (reason) {
    case 'ErrImagePull':
      return texts.waitingToStart(name, pod, "image can't be pulled");
    case 'ImagePullBackOff':
      return texts.waitingToStart(name, pod, 'trying and failing to pull image');
    case undefined:
      return texts.noLogsYet(name, pod);
    default:
      return texts.waitingToStart(name, pod, reason);
  }
}

async function* single(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
