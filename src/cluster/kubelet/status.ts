/**
 * A pod's status as the kubelet makes it: from what the runtime showed when it last looked, and from what it said
 * before (k8s `generateAPIPodStatus`, `convertToAPIContainerStatuses`).
 */
import { texts } from '../texts.ts';
import { timestamp } from '../times.ts';
import type { Container, ContainerStatus, PodObject, PodStatus, TerminatedState } from '../types.ts';
import { podConditions } from './conditions.ts';
import { podOutcome } from './outcome.ts';
import { podPhase } from './phase.ts';
import { isSidecar, shouldRestart } from './restart.ts';
import type { InstanceView } from './runtime.ts';
import type { StartError, StatusInput } from './status-input.ts';

export function generateStatus(input: StatusInput): PodStatus {
  const { pod, old, profile, hostIP, address: ip } = input;
  const { spec } = pod;
  const main = spec.containers.map((container) => containerStatus(input, container, old.containerStatuses));
  const init = (spec.initContainers ?? []).map((one) => containerStatus(input, one, old.initContainerStatuses));
  const { phase, reason, message } = podOutcome(input, podPhase({ pod, main, init, terminal: input.terminal }));
  const generation = pod.metadata.generation;
  return {
    ...(profile.observedGeneration && generation !== undefined && { observedGeneration: generation }),
    phase,
    conditions: podConditions({ ...input, phase, main, init }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(ip !== undefined && { podIP: ip, podIPs: [{ ip }] }),
    startTime: timestamp(input.startTime),
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: main.sort((a, b) => (a.name < b.name ? -1 : 1)),
    qosClass: old.qosClass ?? pod.status.qosClass ?? 'BestEffort',
    ...(profile.podResources && podResources(pod)),
  };
}

function containerStatus(
  input: StatusInput,
  container: Container,
  olds: PodStatus['containerStatuses'],
): ContainerStatus {
  const { pod, instances, terminal } = input;
  const own = instances.filter(({ name }) => name === container.name);
  const newest = own.at(-1);
  const before = own.at(-2);
  const old = olds?.find(({ name }) => name === container.name);
  const status = newest === undefined ? missing(input, container, old) : present(input, container, newest, before);
  if (newest !== undefined && !input.profile.forgetsLastState) keepLastState(status, old);
  return terminal || !shouldRestart(pod, container, newest) ? status : waiting(input, container, status);
}

/** Of a container that has an instance. */
function present(
  { pod, tellsUser, health }: StatusInput,
  container: Container,
  newest: InstanceView,
  before: InstanceView | undefined,
): ContainerStatus {
  const { started, ready } = health(container, newest);
  const running = newest.state === 'running';
  // An init container is ready when it has done its work, a sidecar and a main one while they run.
  const once = (pod.spec.initContainers?.includes(container) ?? false) && !isSidecar(pod, container);
  const done = newest.state === 'exited' && newest.exitCode === 0;
  return {
    name: newest.name,
    state: stateOf(newest, container),
    lastState: before?.state === 'exited' ? { terminated: terminatedState(before, container) } : {},
    ready: once ? done : running && started && ready,
    restartCount: newest.restartCount,
    image: newest.image,
    imageID: newest.imageID,
    containerID: newest.id,
    started: running && started,
    ...resourcesOf(container),
    ...mountsOf(container),
    ...(tellsUser && { user: userOf(container) }),
  };
}

function userOf({ securityContext }: Container): object {
  const uid = securityContext?.runAsUser ?? 0;
  return { linux: { uid, gid: 0, supplementalGroups: [0] } };
}

function stateOf(instance: InstanceView, container: Container): ContainerStatus['state'] {
  switch (instance.state) {
    case 'created':
      return { waiting: {} };
    case 'running':
      return { running: { startedAt: timestamp(instance.startedAt ?? instance.createdAt) } };
    case 'exited':
      return { terminated: terminatedState(instance, container) };
  }
}

function terminatedState(instance: InstanceView, container: Container): TerminatedState {
  const { exitCode, reason, startedAt, finishedAt, id } = instance;
  const message = terminationMessage(instance, container);
  return {
    exitCode,
    reason,
    ...(message !== '' && { message }),
    startedAt: timestamp(startedAt ?? 0),
    finishedAt: timestamp(finishedAt ?? 0),
    containerID: id,
  };
}

const messageBytesMax = 4096;
const fallbackLines = 80;
const fallbackBytes = 2048;

function terminationMessage({ message, exitCode, log }: InstanceView, { terminationMessagePolicy }: Container): string {
  if (message !== '') return message.slice(-messageBytesMax);
  if (terminationMessagePolicy !== 'FallbackToLogsOnError' || exitCode === 0) return '';
  return log.tail(fallbackLines, fallbackBytes);
}

/** Of a container of which the runtime has no record. */
function missing(input: StatusInput, container: Container, old: ContainerStatus | undefined): ContainerStatus {
  if (old?.state.terminated !== undefined) return old;
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: defaultReason(input.pod) } },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image,
    imageID: '',
    started: false,
    ...mountsOf(container),
  };
  if (old?.state.running === undefined) return status;
  // It ran, and the record is gone: nobody knows how it ended.
  const unknown = unknownEnd(texts.statusUnknownDeleted);
  return { ...status, lastState: { terminated: unknown }, restartCount: status.restartCount + 1 };
}

function unknownEnd(message: string): TerminatedState {
  return { exitCode: 137, reason: 'ContainerStatusUnknown', message, startedAt: null, finishedAt: null };
}

function defaultReason({ spec }: PodObject): string {
  return (spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
}

/** An older end stays shown after the runtime has cleaned up its record. */
function keepLastState(status: ContainerStatus, old: ContainerStatus | undefined): void {
  if (status.lastState.terminated !== undefined || old === undefined) return;
  if (old.restartCount === status.restartCount) status.lastState = old.lastState;
}

/** What will be started again shows why it is not yet. */
function waiting(input: StatusInput, container: Container, status: ContainerStatus): ContainerStatus {
  const error = input.startErrors.get(container.name);
  const state = error === undefined ? undefined : { waiting: waitingOf(error) };
  if (status.state.terminated !== undefined) {
    if (state === undefined) return status;
    return { ...status, state, lastState: { terminated: status.state.terminated }, started: false };
  }
  return state === undefined ? status : { ...status, state };
}

function waitingOf({ reason, message }: StartError): { reason: string; message?: string } {
  return message === '' ? { reason } : { reason, message };
}

function resourcesOf({ resources = {} }: Container): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const { limits, requests } = resources;
  if (limits === undefined && requests === undefined) return { resources: {} };
  return {
    ...(requests !== undefined && { allocatedResources: requests }),
    resources: { ...(limits !== undefined && { limits }), ...(requests !== undefined && { requests }) },
  };
}

function mountsOf({ volumeMounts = [] }: Container): Pick<ContainerStatus, 'volumeMounts'> {
  if (volumeMounts.length === 0) return {};
  return {
    volumeMounts: volumeMounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      ...(readOnly === true && { readOnly, recursiveReadOnly: 'Disabled' }),
    })),
  };
}

function podResources({ spec }: PodObject): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const [only] = spec.containers.filter(({ resources }) => resources?.requests ?? resources?.limits);
  return only === undefined ? { resources: {} } : { ...resourcesOf(only) };
}

/**
 * What the status manager does to a pod that is over: no container stays open. Those that never had their turn, because
 * the pod was not initialized, stay waiting.
 */
export function closedStatus(status: PodStatus): PodStatus {
  const initialized = status.conditions?.some(({ type, status: value }) => type === 'Initialized' && value === 'True');
  if (initialized !== true) return status;
  const close = (one: ContainerStatus): ContainerStatus =>
    one.state.terminated !== undefined
      ? one
      : { ...one, state: { terminated: unknownEnd(texts.statusUnknownTerminated) }, ready: false, started: false };
  const main = status.containerStatuses?.map(close);
  return { ...status, ...(main && { containerStatuses: main }) };
}
