/** The resources that are served: their names, schemas, and how each is made and changed. */
import type { ApiObject } from '../types.ts';
import { configMapStrategy, secretStrategy } from './data.ts';
import { eventFields, eventStrategy, groupedEventFields, toCoreEvent, toGroupedEvent } from './events.ts';
import * as kinds from './kinds.ts';
import { metadataErrors } from './names.ts';
import { podKind } from './pods/kind.ts';
import { priorityClassStrategy } from './pods/priority.ts';
import { podFields, podStrategy } from './pods/strategy.ts';
import type { ObjectSchema } from './schema.ts';
import type { SelectableFields } from './selectors.ts';
import type { Strategy } from './strategy.ts';

export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly schema: ObjectSchema;
  /** Its table in the store. Two definitions share one when they show the same objects. */
  readonly storage: string;
  /** Served from a watch cache: bookmarks are sent, and old revisions are refused in its words. */
  readonly cached: boolean;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources?: readonly string[];
  readonly fields: SelectableFields;
  readonly strategy: Strategy;
  /** Between the stored and the served form, where they differ. */
  readonly toServed?: (object: ApiObject) => ApiObject;
  readonly toStored?: (object: ApiObject) => ApiObject;
}

const allVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

const metadataFields: SelectableFields = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
};

function define(
  definition: Partial<ResourceDefinition> & Pick<ResourceDefinition, 'resource' | 'kind' | 'schema'>,
): ResourceDefinition {
  const { resource, kind, group = '' } = definition;
  return {
    group,
    version: 'v1',
    singular: kind.toLowerCase(),
    namespaced: true,
    storage: group === '' ? resource : `${resource}.${group}`,
    cached: true,
    verbs: allVerbs,
    strategy: {},
    ...definition,
    fields: { ...metadataFields, ...definition.fields },
  };
}

/** What is listed for clients that look for it, but cannot be made: it would do nothing here. */
const readOnly = { schema: kinds.unserved, verbs: ['get', 'list', 'watch'] } as const;

const rbac = { group: 'rbac.authorization.k8s.io' } as const;

export const definitions: readonly ResourceDefinition[] = [
  define({
    resource: 'pods',
    kind: 'Pod',
    schema: podKind,
    shortNames: ['po'],
    categories: ['all'],
    subresources: ['status', 'log', 'binding', 'eviction'],
    fields: podFields,
    strategy: podStrategy,
  }),
  define({
    resource: 'events',
    kind: 'Event',
    schema: kinds.event,
    shortNames: ['ev'],
    cached: false,
    fields: eventFields,
    strategy: eventStrategy,
  }),
  define({
    group: 'events.k8s.io',
    resource: 'events',
    kind: 'Event',
    schema: kinds.groupedEvent,
    shortNames: ['ev'],
    cached: false,
    storage: 'events',
    fields: groupedEventFields,
    strategy: eventStrategy,
    toServed: toGroupedEvent,
    toStored: toCoreEvent,
  }),
  define({
    resource: 'namespaces',
    kind: 'Namespace',
    schema: kinds.namespace,
    namespaced: false,
    shortNames: ['ns'],
    subresources: ['status', 'finalize'],
    fields: { 'status.phase': ({ ['status']: status }) => (status as { phase?: string } | undefined)?.phase ?? '' },
    strategy: {
      validateCreate: ({ metadata }) => metadataErrors(metadata, 'label'),
      prepareCreate(object) {
        object['spec'] = { finalizers: ['kubernetes'] };
        object['status'] = { phase: 'Active' };
        object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
      },
      prepareUpdate(next, old) {
        next['spec'] = old['spec'];
        next['status'] = old['status'];
      },
    },
  }),
  define({
    resource: 'nodes',
    kind: 'Node',
    schema: kinds.node,
    namespaced: false,
    shortNames: ['no'],
    subresources: ['status'],
    fields: {
      'spec.unschedulable': ({ ['spec']: spec }) =>
        String((spec as { unschedulable?: boolean } | undefined)?.unschedulable ?? false),
    },
  }),
  define({
    resource: 'secrets',
    kind: 'Secret',
    schema: kinds.secret,
    fields: { type: ({ ['type']: type }) => String(type ?? '') },
    strategy: secretStrategy,
  }),
  define({
    resource: 'configmaps',
    kind: 'ConfigMap',
    schema: kinds.configMap,
    shortNames: ['cm'],
    strategy: configMapStrategy,
  }),
  define({ resource: 'serviceaccounts', kind: 'ServiceAccount', schema: kinds.serviceAccount, shortNames: ['sa'] }),
  define({ ...readOnly, resource: 'services', kind: 'Service', shortNames: ['svc'], categories: ['all'] }),
  define({ ...readOnly, resource: 'resourcequotas', kind: 'ResourceQuota', shortNames: ['quota'] }),
  define({
    ...readOnly,
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    namespaced: false,
    shortNames: ['crd', 'crds'],
  }),
  define({ ...readOnly, resource: 'limitranges', kind: 'LimitRange', shortNames: ['limits'] }),
  define({ ...rbac, resource: 'roles', kind: 'Role', schema: kinds.role }),
  define({ ...rbac, resource: 'rolebindings', kind: 'RoleBinding', schema: kinds.roleBinding }),
  define({ ...rbac, resource: 'clusterroles', kind: 'ClusterRole', schema: kinds.clusterRole, namespaced: false }),
  define({
    ...rbac,
    resource: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
    schema: kinds.clusterRoleBinding,
    namespaced: false,
  }),
  define({
    group: 'policy',
    resource: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    schema: kinds.podDisruptionBudget,
    shortNames: ['pdb'],
  }),
  define({
    group: 'scheduling.k8s.io',
    resource: 'priorityclasses',
    kind: 'PriorityClass',
    schema: kinds.priorityClass,
    namespaced: false,
    shortNames: ['pc'],
    strategy: priorityClassStrategy,
  }),
  define({ group: 'coordination.k8s.io', resource: 'leases', kind: 'Lease', schema: kinds.lease }),
];

export function findDefinition(group: string, version: string, resource: string): ResourceDefinition | undefined {
  return definitions.find((one) => one.group === group && one.version === version && one.resource === resource);
}

/** `v1`, or `GROUP/v1` */
export function apiVersionOf({ group, version }: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`;
}
