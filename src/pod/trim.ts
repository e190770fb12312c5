/**
 * Cuts what the watches bring down to what is read of it, before it is kept: a cache of ten thousand pods should hold
 * neither their environment nor their managed fields.
 */
import type { ContainerSpec, KubeEvent, ObjectMeta, Pod } from './types.ts';

/** Keeps metadata without managed fields, names and images and restart rules of containers, and the whole status. */
export function trimPod(pod: Pod): Pod {
  const { metadata, spec, status } = pod;
  return {
    metadata: trimMeta(metadata),
    ...(spec === undefined ? {} : { spec: trimSpec(spec) }),
    ...(status === undefined ? {} : { status }),
  };
}

/** Keeps what `KubeEvent` names. */
export function trimEvent(event: KubeEvent): KubeEvent {
  return compact<KubeEvent>({
    metadata: trimMeta(event.metadata),
    involvedObject: event.involvedObject,
    reason: event.reason,
    message: event.message,
    type: event.type,
    count: event.count,
    series: event.series,
    firstTimestamp: event.firstTimestamp,
    lastTimestamp: event.lastTimestamp,
    eventTime: event.eventTime,
    reportingComponent: event.reportingComponent,
    source: event.source,
  });
}

/** What tells a known Event from a new one. A worker sees many thousands an hour, and reads each once. */
export function bareEvent({ metadata }: KubeEvent): KubeEvent {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { metadata: { name, namespace, uid, resourceVersion }, involvedObject: {} };
}

function trimMeta(meta: ObjectMeta): ObjectMeta {
  return compact<ObjectMeta>({
    name: meta.name,
    namespace: meta.namespace,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    generation: meta.generation,
    creationTimestamp: meta.creationTimestamp,
    deletionTimestamp: meta.deletionTimestamp,
    deletionGracePeriodSeconds: meta.deletionGracePeriodSeconds,
    labels: meta.labels,
    annotations: meta.annotations === undefined ? undefined : withoutCopies(meta.annotations),
  });
}

/** kubectl keeps a copy of the whole object in an annotation. */
const copyOfAll = 'kubectl.kubernetes.io/last-applied-configuration';

function withoutCopies(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return copyOfAll in all ? Object.fromEntries(Object.entries(all).filter(([key]) => key !== copyOfAll)) : all;
}

function trimSpec(spec: NonNullable<Pod['spec']>): NonNullable<Pod['spec']> {
  return compact<NonNullable<Pod['spec']>>({
    nodeName: spec.nodeName,
    restartPolicy: spec.restartPolicy,
    terminationGracePeriodSeconds: spec.terminationGracePeriodSeconds,
    activeDeadlineSeconds: spec.activeDeadlineSeconds,
    containers: spec.containers?.map(trimContainer),
    initContainers: spec.initContainers?.map(trimContainer),
  });
}

function trimContainer(container: ContainerSpec): ContainerSpec {
  return compact<ContainerSpec>({
    name: container.name,
    image: container.image,
    imagePullPolicy: container.imagePullPolicy,
    restartPolicy: container.restartPolicy,
    restartPolicyRules: container.restartPolicyRules,
  });
}

/** The object without its undefined members. */
function compact<T extends object>(members: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
