/** pods/NAME/eviction: a delete that respects disruption budgets and marks the pod as disrupted. */
import { isObject, type Json } from '../../json.ts';
import { timestamp } from '../../times.ts';
import type { ApiObject, PodCondition, PodObject } from '../../types.ts';
import { type Call, keyOf } from '../context.ts';
import { deleteObject } from '../delete.ts';
import { goKind } from '../go-json.ts';
import { deleteOptions } from '../options.ts';
import { stored } from '../read.ts';
import { badRequest, StatusError } from '../status.ts';

export function evictPod(call: Call, body: Json): object {
  const { context, definition, info } = call;
  const name = isObject(body) && isObject(body['metadata']) ? body['metadata']['name'] : undefined;
  if (name !== info.name) throw badRequest('name in URL does not match name in Eviction object');
  const pod = stored(call) as PodObject;
  const given = isObject(body) ? (body['deleteOptions'] ?? undefined) : undefined;
  if (given !== undefined && !isObject(given)) {
    const text = `json: cannot unmarshal ${goKind(given)} into Go struct field Eviction.deleteOptions of type v1.DeleteOptions`;
    throw badRequest(`Eviction in version "v1" cannot be handled as a Eviction: ${text}`);
  }
  const options = deleteOptions(call.request.query, given);
  const ended = pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
  if (!ended && pod.metadata.deletionTimestamp === undefined) {
    refuseByBudget(call, pod);
    if (!options.dryRun) {
      const key = keyOf(definition, pod.metadata.namespace, pod.metadata.name);
      context.store.put(definition.storage, key, disrupted(pod, context.clock.now()));
    }
  }
  deleteObject(call, options);
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
}

function disrupted(pod: PodObject, now: number): PodObject {
  const condition: PodCondition = {
    type: 'DisruptionTarget',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  const others = (pod.status.conditions ?? []).filter(({ type }) => type !== condition.type);
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}

interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

interface Budget extends ApiObject {
  spec: {
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    selector?: LabelSelector;
  };
}

function refuseByBudget({ context }: Call, pod: PodObject): void {
  const { namespace = '', labels = {} } = pod.metadata;
  const budgets = context.store.list('poddisruptionbudgets.policy', `${namespace}/`) as Budget[];
  for (const budget of budgets) {
    const covers = (own: Readonly<Record<string, string>>): boolean => isSelected(own, budget.spec.selector);
    if (!covers(labels)) continue;
    const pods = (context.store.list('pods', `${namespace}/`) as PodObject[]).filter((one) =>
      covers(one.metadata.labels ?? {}),
    );
    const healthy = pods.filter(
      ({ status, metadata }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined,
    );
    const needed = neededHealthy(budget, pods.length);
    if (healthy.length - 1 >= needed) continue;
    const message = `The disruption budget ${budget.metadata.name} needs ${needed} healthy pods and has ${healthy.length} currently`;
    throw new StatusError({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      reason: 'TooManyRequests',
      details: { causes: [{ reason: 'DisruptionBudget', message }] },
      code: 429,
    });
  }
}

/** An empty selector takes every pod, none takes no pod. */
function isSelected(labels: Readonly<Record<string, string>>, selector: LabelSelector | undefined): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!Object.entries(matchLabels).every(([key, value]) => labels[key] === value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labels[key];
    const isListed = value !== undefined && values.includes(value);
    switch (operator) {
      case 'In':
        return isListed;
      case 'NotIn':
        return !isListed;
      case 'Exists':
        return value !== undefined;
      default:
        return value === undefined;
    }
  });
}

function neededHealthy({ spec }: Budget, total: number): number {
  const count = (value: number | string): number =>
    typeof value === 'string' && value.endsWith('%')
      ? Math.ceil((Number.parseInt(value, 10) / 100) * total)
      : Number(value);
  if (spec.maxUnavailable !== undefined) return total - count(spec.maxUnavailable);
  return count(spec.minAvailable ?? 1);
}
