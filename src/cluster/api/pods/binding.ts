/** pods/NAME/binding: puts a pod on a node. */
import { isObject, type Json } from '../../json.ts';
import { timestamp } from '../../times.ts';
import type { PodCondition, PodObject } from '../../types.ts';
import { type Call, keyOf } from '../context.ts';
import { stored } from '../read.ts';
import { badRequest, conflict } from '../status.ts';

export function bindPod(call: Call, body: Json): object {
  const target = isObject(body) && isObject(body['target']) ? body['target'] : undefined;
  const node = target?.['name'];
  const name = isObject(body) && isObject(body['metadata']) ? body['metadata']['name'] : undefined;
  if (name !== call.info.name) throw badRequest('name in URL does not match name in Binding object');
  if (typeof node !== 'string' || node === '') throw badRequest('target.name: Required value');
  const { context, definition } = call;
  const pod = stored(call) as PodObject;
  const refuse = (why: string): Error => conflict({ group: '', resource: 'pods/binding' }, pod.metadata.name, why);
  if (pod.metadata.deletionTimestamp !== undefined)
    throw refuse(`pod ${pod.metadata.name} is being deleted, cannot be assigned to a host`);
  if (pod.spec.nodeName !== undefined)
    throw refuse(`pod ${pod.metadata.name} is already assigned to node "${pod.spec.nodeName}"`);
  const scheduled: PodCondition = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: timestamp(context.clock.now()),
  };
  const others = (pod.status.conditions ?? []).filter(({ type }) => type !== scheduled.type);
  const { containers, ...spec } = pod.spec;
  context.store.put(definition.storage, keyOf(definition, pod.metadata.namespace, pod.metadata.name), {
    ...pod,
    spec: { containers, ...spec, nodeName: node },
    status: { ...pod.status, conditions: [...others, scheduled] },
  });
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
}
