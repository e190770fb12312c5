/** DELETE: at once, or gracefully for pods that run (k8s `rest.BeforeDelete` and the pod strategy). */
import { timestamp } from '../times.ts';
import type { ApiObject, PodObject } from '../types.ts';
import { type Call, keyOf, prefixOf } from './context.ts';
import { type DeleteOptions, listOptions } from './options.ts';
import { stored } from './read.ts';
import { conflict, forbidden } from './status.ts';

/** The object after the delete took effect: marked, or gone. Throws 404 and 409. */
export function deleteObject(call: Call, options: DeleteOptions): ApiObject {
  const object = stored(call);
  checkPreconditions(call, object, options);
  return remove(call, object, options);
}

export function deleteCollection(call: Call, options: DeleteOptions): ApiObject[] {
  const { matches } = listOptions(call);
  const { context, definition } = call;
  return context.store
    .list(definition.storage, prefixOf(call))
    .filter(matches)
    .map((object) => remove(call, object, options));
}

function checkPreconditions({ definition }: Call, { metadata }: ApiObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options;
  // Here the storage names the kind where others name the resource.
  const target = { group: definition.group, resource: definition.kind };
  const refuse = (what: string, wanted: string, found: string, how: string): Error =>
    conflict(
      target,
      metadata.name,
      `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${found}). The object might have been ${how}`,
    );
  if (uid !== undefined && uid !== metadata.uid) throw refuse('UID', uid, metadata.uid, 'deleted and then recreated');
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw refuse('ResourceVersion', resourceVersion, metadata.resourceVersion, 'modified');
  }
}

function remove(call: Call, object: ApiObject, options: DeleteOptions): ApiObject {
  const { definition } = call;
  if (options.dryRun) return object;
  if (definition.kind === 'Namespace') return terminateNamespace(call, object);
  const grace = definition.kind === 'Pod' ? podGrace(object as PodObject, options.gracePeriodSeconds) : 0;
  const { finalizers = [], deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined && grace > 0) return shorten(call, object, grace);
  if (grace > 0) return mark(call, object, grace);
  if (finalizers.length > 0) {
    // It stays for whoever holds it, but its containers need no time any more.
    const waits = deletionTimestamp !== undefined && object.metadata.deletionGracePeriodSeconds === 0;
    return waits ? object : mark(call, object, 0);
  }
  // Watchers of a pod see the mark with grace 0 before it goes; other objects just go.
  const last = definition.kind === 'Pod' ? mark(call, object, 0) : object;
  call.context.store.remove(definition.storage, keyOfObject(call, last));
  return last;
}

/** Seconds; 0 when nothing of the pod can be running. */
function podGrace({ spec, status }: PodObject, wanted: number | undefined): number {
  if (spec.nodeName === undefined || status.phase === 'Succeeded' || status.phase === 'Failed') return 0;
  return wanted ?? spec.terminationGracePeriodSeconds ?? 30;
}

function mark(call: Call, object: ApiObject, grace: number): ApiObject {
  const { context, definition } = call;
  const { metadata } = object;
  const first = metadata.deletionTimestamp === undefined;
  const raises = first && metadata.generation !== undefined;
  return context.store.put(definition.storage, keyOfObject(call, object), {
    ...object,
    metadata: {
      ...metadata,
      ...(raises && { generation: (metadata.generation ?? 0) + 1 }),
      // In the future while there is grace.
      deletionTimestamp: timestamp(context.clock.now() + grace * 1000),
      deletionGracePeriodSeconds: grace,
    },
  });
}

/**
 * A second delete can only shorten. What is stored then is a grace of 1 and the present time, whatever shorter grace was
 * asked for; the stop under way is not shortened by it (recorded: delete-twice).
 */
function shorten(call: Call, object: ApiObject, grace: number): ApiObject {
  const { context, definition } = call;
  const before = object.metadata.deletionGracePeriodSeconds ?? 0;
  if (grace >= before) return object;
  const now = context.clock.now();
  const startedAt = Date.parse(object.metadata.deletionTimestamp ?? '') - before * 1000;
  const left = Math.floor((startedAt + grace * 1000 - now) / 1000);
  return context.store.put(definition.storage, keyOfObject(call, object), {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: timestamp(left > 0 ? startedAt + grace * 1000 : now),
      deletionGracePeriodSeconds: left > 0 ? grace : 1,
    },
  });
}

const immortal = new Set(['default', 'kube-system', 'kube-public']);

function terminateNamespace(call: Call, object: ApiObject): ApiObject {
  const { context, definition } = call;
  const { name } = object.metadata;
  if (immortal.has(name)) throw forbidden(definition, name, 'this namespace may not be deleted');
  if (object.metadata.deletionTimestamp !== undefined) return object;
  return context.store.put(definition.storage, name, {
    ...object,
    metadata: { ...object.metadata, deletionTimestamp: timestamp(context.clock.now()) },
    status: { phase: 'Terminating' },
  });
}

function keyOfObject({ definition }: Call, { metadata }: ApiObject): string {
  return keyOf(definition, metadata.namespace, metadata.name);
}
