/** The kubelet's conditions of a pod, in the order in which it writes them (kubernetes.md §3.5, recordings). */
import { texts } from '../texts.ts';
import { timestamp } from '../times.ts';
import type { ContainerStatus, PodCondition, PodPhase } from '../types.ts';
import { isSidecar } from './restart.ts';
import type { StatusInput } from './status-input.ts';

interface ConditionInput extends StatusInput {
  readonly phase: PodPhase;
  readonly main: readonly ContainerStatus[];
  readonly init: readonly ContainerStatus[];
}

type Truth = Pick<PodCondition, 'status' | 'reason' | 'message'>;

const isTrue: Truth = { status: 'True' };

export function podConditions(input: ConditionInput): PodCondition[] {
  const { pod, profile } = input;
  const own: Record<string, Truth> = {
    PodReadyToStartContainers: sandboxReady(input),
    Initialized: initialized(input),
    Ready: ready(input),
    ContainersReady: ready(input),
    PodScheduled: isTrue,
  };
  const foreign = [...(input.old.conditions ?? []), ...(pod.status.conditions ?? [])].filter(
    ({ type }, at, all) => !(type in own) && all.findIndex((one) => one.type === type) === at,
  );
  const generation = profile.observedGeneration ? pod.metadata.generation : undefined;
  return [...foreign, ...Object.entries(own).map(([type, truth]) => condition(input, type, truth, generation))];
}

function condition(input: ConditionInput, type: string, truth: Truth, generation: number | undefined): PodCondition {
  const find = (list: readonly PodCondition[] | undefined): PodCondition | undefined =>
    list?.find((one) => one.type === type);
  const old = find(input.old.conditions) ?? find(input.pod.status.conditions);
  const since = old?.status === truth.status ? old.lastTransitionTime : undefined;
  return {
    type,
    ...(generation !== undefined && { observedGeneration: generation }),
    status: truth.status,
    lastProbeTime: null,
    lastTransitionTime: since ?? timestamp(input.now),
    ...(truth.reason !== undefined && { reason: truth.reason }),
    ...(truth.message !== undefined && { message: truth.message }),
  };
}

function sandboxReady({ sandbox, profile }: ConditionInput): Truth {
  if (sandbox?.ready === true) return isTrue;
  if (!profile.sandboxNotReadyTold) return { status: 'False' };
  const { sandboxNotReadyReason: reason, noSandbox, sandboxNotReady } = texts;
  return { status: 'False', reason, message: sandbox === undefined ? noSandbox : sandboxNotReady };
}

function initialized({ pod, init, phase }: ConditionInput): Truth {
  const open = (pod.spec.initContainers ?? []).filter((container) => {
    const status = init.find(({ name }) => name === container.name);
    return isSidecar(pod, container) ? status?.started !== true : status?.state.terminated?.exitCode !== 0;
  });
  if (phase === 'Succeeded') return { status: 'True', reason: 'PodCompleted' };
  if (open.length === 0) return isTrue;
  const names = open.map(({ name }) => name).join(' ');
  return {
    status: 'False',
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${names}]`,
  };
}

function ready({ pod, main, init, phase }: ConditionInput): Truth {
  if (phase === 'Failed') return { status: 'False', reason: 'PodFailed' };
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => isSidecar(pod, container));
  const watched = [
    ...sidecars.flatMap(({ name }) => init.find((status) => status.name === name) ?? []),
    ...pod.spec.containers.flatMap(({ name }) => main.find((status) => status.name === name) ?? []),
  ];
  const unready = watched.filter((status) => !status.ready).map(({ name }) => name);
  if (unready.length === 0) return isTrue;
  return {
    status: 'False',
    reason: 'ContainersNotReady',
    message: `containers with unready status: [${unready.join(' ')}]`,
  };
}
