/** Whether a pod can go to a node, and if not, why, in the scheduler's words (the filters of kube-scheduler). */
import { amountOf, countedResources, podRequest } from '../requests.ts';
import type { ApiObject, PodObject, Toleration } from '../types.ts';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface NodeObject extends ApiObject {
  spec: { unschedulable?: boolean; taints?: readonly Taint[] };
  status: { allocatable?: Record<string, string> };
}

/** A node and the pods that take room on it. */
export interface NodeState {
  readonly node: NodeObject;
  readonly pods: readonly PodObject[];
}

export interface Obstacle {
  readonly reasons: readonly string[];
  /** Other pods are in the way: without them there would be room. */
  readonly isOfPods: boolean;
}

/** The first filter that the node does not pass; undefined when it passes all. */
export function obstacle(pod: PodObject, { node, pods }: NodeState): Obstacle | undefined {
  const lasting = (reason: string): Obstacle => ({ reasons: [reason], isOfPods: false });
  const closed = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  if (node.spec.unschedulable === true && !tolerates(pod, closed)) return lasting('node(s) were unschedulable');
  const taint = node.spec.taints?.find((one) => one.effect !== 'PreferNoSchedule' && !tolerates(pod, one));
  if (taint !== undefined) return lasting('node(s) had untolerated taint(s)');
  if (!isSelected(pod, node)) return lasting("node(s) didn't match Pod's node affinity/selector");
  return shortage(pod, node, pods);
}

function shortage(pod: PodObject, { status }: NodeObject, pods: readonly PodObject[]): Obstacle | undefined {
  const reasons: string[] = [];
  let isOfPods = true;
  for (const resource of countedResources) {
    const wanted = podRequest(pod.spec, resource);
    if (wanted === 0) continue;
    const has = amountOf(status.allocatable?.[resource], resource);
    const used = pods.reduce((sum, { spec }) => sum + podRequest(spec, resource), 0);
    if (wanted + used <= has) continue;
    reasons.push(`Insufficient ${resource}`);
    if (wanted > has) isOfPods = false;
  }
  return reasons.length === 0 ? undefined : { reasons, isOfPods };
}

function tolerates({ spec }: PodObject, taint: Taint): boolean {
  return (spec.tolerations ?? []).some((one) => isTolerated(one, taint));
}

function isTolerated({ key = '', operator = 'Equal', value = '', effect = '' }: Toleration, taint: Taint): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (operator === 'Equal' && key !== '' && value === (taint.value ?? ''));
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

interface NodeAffinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly {
        readonly matchExpressions?: readonly Requirement[];
        readonly matchFields?: readonly Requirement[];
      }[];
    };
  };
}

function isSelected({ spec }: PodObject, { metadata }: NodeObject): boolean {
  const labels = metadata.labels ?? {};
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false;
  const affinity = spec['affinity'] as NodeAffinity | undefined;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return true;
  // One of the terms has to match; one without anything in it matches nothing.
  return (required.nodeSelectorTerms ?? []).some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    const fields = { 'metadata.name': metadata.name };
    return matchExpressions.every((one) => isMet(one, labels)) && matchFields.every((one) => isMet(one, fields));
  });
}

function isMet({ key, operator, values = [] }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const found = labels[key];
  switch (operator) {
    case 'In':
      return found !== undefined && values.includes(found);
    case 'NotIn':
      return found === undefined || !values.includes(found);
    case 'Exists':
      return found !== undefined;
    case 'DoesNotExist':
      return found === undefined;
    case 'Gt':
      return Number(found) > Number(values[0]);
    case 'Lt':
      return Number(found) < Number(values[0]);
    default:
      return false;
  }
}
