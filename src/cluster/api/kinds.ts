/** The schemas of the kinds that the cluster serves, but for pods. */
import { typed } from './meta-kind.ts';
import {
  any,
  boolean,
  bytes,
  integer,
  intOrString,
  list,
  map,
  type ObjectSchema,
  object,
  quantity,
  string,
  time,
} from './schema.ts';

/** A kind of which only the metadata matters here. */
const kept = (type: string, fields: Readonly<Record<string, typeof any>>): ObjectSchema =>
  object(type, { ...typed, ...fields });

const objectReference = object('ObjectReference', {
  kind: string,
  namespace: string,
  name: string,
  uid: string,
  apiVersion: string,
  resourceVersion: string,
  fieldPath: string,
});

const eventSource = object('EventSource', { component: string, host: string });
const eventSeries = object('EventSeries', { count: integer, lastObservedTime: time });

export const event = object(
  'Event',
  {
    ...typed,
    involvedObject: objectReference,
    reason: string,
    message: string,
    source: eventSource,
    firstTimestamp: time,
    lastTimestamp: time,
    count: integer,
    type: string,
    eventTime: time,
    series: eventSeries,
    action: string,
    related: objectReference,
    reportingComponent: string,
    reportingInstance: string,
  },
  {
    involvedObject: {},
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
  },
);

export const groupedEvent = object(
  'Event',
  {
    ...typed,
    eventTime: time,
    series: eventSeries,
    reportingController: string,
    reportingInstance: string,
    action: string,
    reason: string,
    regarding: objectReference,
    related: objectReference,
    note: string,
    type: string,
    deprecatedSource: eventSource,
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
    deprecatedCount: integer,
  },
  {
    eventTime: null,
    regarding: {},
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  },
);

export const namespace = object(
  'Namespace',
  {
    ...typed,
    spec: object('NamespaceSpec', { finalizers: list(string) }),
    status: object('NamespaceStatus', { phase: string, conditions: list(any, 'type') }),
  },
  { spec: {}, status: {} },
);

const nodeCondition = object('NodeCondition', {
  type: string,
  status: string,
  lastHeartbeatTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});

export const node = object(
  'Node',
  {
    ...typed,
    spec: object('NodeSpec', {
      podCIDR: string,
      podCIDRs: list(string, 'set'),
      providerID: string,
      unschedulable: boolean,
      taints: list(object('Taint', { key: string, value: string, effect: string, timeAdded: time })),
    }),
    status: object('NodeStatus', {
      capacity: map(quantity),
      allocatable: map(quantity),
      phase: string,
      conditions: list(nodeCondition, 'type'),
      addresses: list(object('NodeAddress', { type: string, address: string }), 'type'),
      daemonEndpoints: any,
      nodeInfo: any,
      images: list(any),
    }),
  },
  { spec: {}, status: {} },
);

export const secret = object('Secret', {
  ...typed,
  immutable: boolean,
  data: map(bytes),
  stringData: map(string),
  type: string,
});

export const configMap = object('ConfigMap', {
  ...typed,
  immutable: boolean,
  data: map(string),
  binaryData: map(bytes),
});

export const serviceAccount = kept('ServiceAccount', {
  secrets: any,
  imagePullSecrets: any,
  automountServiceAccountToken: any,
});

const policyRule = object('PolicyRule', {
  verbs: list(string),
  apiGroups: list(string),
  resources: list(string),
  resourceNames: list(string),
  nonResourceURLs: list(string),
});
const subject = object('Subject', { kind: string, apiGroup: string, name: string, namespace: string });
const roleReference = object('RoleRef', { apiGroup: string, kind: string, name: string });

export const role = object('Role', { ...typed, rules: list(policyRule) });
export const clusterRole = object('ClusterRole', { ...typed, rules: list(policyRule), aggregationRule: any });
export const roleBinding = object('RoleBinding', { ...typed, subjects: list(subject), roleRef: roleReference });
export const clusterRoleBinding = object('ClusterRoleBinding', roleBinding.fields);

const labelSelector = object('LabelSelector', {
  matchLabels: map(string),
  matchExpressions: list(object('LabelSelectorRequirement', { key: string, operator: string, values: list(string) })),
});

export const podDisruptionBudget = object(
  'PodDisruptionBudget',
  {
    ...typed,
    spec: object('PodDisruptionBudgetSpec', {
      minAvailable: intOrString,
      selector: labelSelector,
      maxUnavailable: intOrString,
      unhealthyPodEvictionPolicy: string,
    }),
    status: any,
  },
  { spec: {} },
);

export const priorityClass = object(
  'PriorityClass',
  { ...typed, value: integer, globalDefault: boolean, description: string, preemptionPolicy: string },
  { value: 0 },
);

export const lease = kept('Lease', { spec: any });

/** Of kinds of which there is nothing. */
export const unserved = kept('Object', { spec: any, status: any });
