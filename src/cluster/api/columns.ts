/** The columns of the tables of each kind, and how their cells are read (k8s `pkg/printers/internalversion`). */
import { isObject } from '../json.ts';
import type { ApiObject, PodObject } from '../types.ts';
import { ageSince } from './age.ts';
import { podColumns } from './pods/columns.ts';

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly format?: string;
  /** 1 is shown with `-o wide` only. */
  readonly priority?: number;
  readonly cell: (object: ApiObject, now: number) => string | number;
}

/** Cells are read from objects as they are stored. */
export function columnsOf(kind: string): readonly Column[] {
  return columnsByKind[kind] ?? [nameColumn, createdColumn];
}

const text = (name: string, cell: Column['cell']): Column => ({ name, type: 'string', cell });
const wide = (name: string, cell: Column['cell']): Column => ({ name, type: 'string', priority: 1, cell });

const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  cell: ({ metadata }) => metadata.name ?? '',
};
const ageColumn = text('Age', ({ metadata }, now) => ageSince(metadata.creationTimestamp, now));
/** Of kinds without columns of their own. */
const createdColumn: Column = {
  name: 'Created At',
  type: 'string',
  format: 'date',
  cell: ({ metadata }) => metadata.creationTimestamp,
};

const columnsByKind: Readonly<Record<string, readonly Column[]>> = {
  Pod: [
    nameColumn,
    text('Ready', (pod) => podColumns.ready(pod as PodObject)),
    text('Status', (pod) => podColumns.status(pod as PodObject)),
    text('Restarts', (pod, now) => podColumns.restarts(pod as PodObject, now)),
    ageColumn,
    wide('IP', (pod) => (pod as PodObject).status.podIP ?? '<none>'),
    wide('Node', (pod) => (pod as PodObject).spec.nodeName ?? '<none>'),
    wide('Nominated Node', (pod) => (pod as PodObject).status.nominatedNodeName || '<none>'),
    wide('Readiness Gates', (pod) => podColumns.readinessGates(pod as PodObject)),
  ],
  Event: [
    text('Last Seen', (event, now) => lastSeen(event, now)),
    text('Type', (event) => string(event, 'type')),
    text('Reason', (event) => string(event, 'reason')),
    text('Object', (event) => eventObject(event)),
    wide('Subobject', (event) => string(event, 'involvedObject', 'fieldPath')),
    wide('Source', (event) => eventSource(event)),
    text('Message', (event) => string(event, 'message').trim()),
    wide('First Seen', (event, now) => firstSeen(event, now)),
    wide('Count', (event) => eventCount(event)),
    { ...nameColumn, priority: 1 },
  ],
  Namespace: [nameColumn, text('Status', (namespace) => string(namespace, 'status', 'phase')), ageColumn],
  Node: [
    nameColumn,
    text('Status', (node) => nodeStatus(node)),
    text('Roles', (node) => nodeRoles(node)),
    ageColumn,
    text('Version', (node) => string(node, 'status', 'nodeInfo', 'kubeletVersion')),
    wide('Internal-IP', (node) => nodeAddress(node, 'InternalIP')),
    wide('External-IP', (node) => nodeAddress(node, 'ExternalIP')),
    wide('OS-Image', (node) => string(node, 'status', 'nodeInfo', 'osImage') || '<unknown>'),
    wide('Kernel-Version', (node) => kernelVersion(node)),
    wide('Container-Runtime', (node) => string(node, 'status', 'nodeInfo', 'containerRuntimeVersion') || '<unknown>'),
  ],
  Secret: [nameColumn, text('Type', (secret) => string(secret, 'type')), text('Data', dataCount), ageColumn],
  ConfigMap: [nameColumn, text('Data', dataCount), ageColumn],
  ServiceAccount: [nameColumn, ageColumn],
  PriorityClass: [
    nameColumn,
    { name: 'Value', type: 'integer', cell: ({ ['value']: value }) => Number(value ?? 0) },
    text('Global-Default', ({ ['globalDefault']: isDefault }) => String(isDefault === true)),
    ageColumn,
    text('PreemptionPolicy', (one) => string(one, 'preemptionPolicy')),
  ],
  PodDisruptionBudget: [
    nameColumn,
    text('Min Available', (budget) => string(budget, 'spec', 'minAvailable') || 'N/A'),
    text('Max Unavailable', (budget) => string(budget, 'spec', 'maxUnavailable') || 'N/A'),
    {
      name: 'Allowed Disruptions',
      type: 'integer',
      cell: (budget) => Number(string(budget, 'status', 'disruptionsAllowed')),
    },
    ageColumn,
  ],
  Lease: [nameColumn, text('Holder', (lease) => string(lease, 'spec', 'holderIdentity')), ageColumn],
  RoleBinding: bindingColumns(),
  ClusterRoleBinding: bindingColumns(),
};

function bindingColumns(): readonly Column[] {
  const subjects = (kind: string) => (binding: ApiObject) => subjectNames(binding, kind);
  return [
    nameColumn,
    text('Role', (binding) => `${string(binding, 'roleRef', 'kind')}/${string(binding, 'roleRef', 'name')}`),
    ageColumn,
    wide('Users', subjects('User')),
    wide('Groups', subjects('Group')),
    wide('ServiceAccounts', subjects('ServiceAccount')),
  ];
}

function subjectNames({ ['subjects']: subjects }: ApiObject, kind: string): string {
  if (!Array.isArray(subjects)) return '';
  return subjects
    .filter((subject) => isObject(subject) && subject['kind'] === kind)
    .map(({ namespace, name }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : String(name)))
    .join(', ');
}

/** The text at a path of fields; empty when there is none. */
function string(object: ApiObject, ...path: readonly string[]): string {
  let value: unknown = object;
  for (const field of path) value = isObject(value) ? value[field] : undefined;
  return value === undefined || value === null ? '' : String(value);
}

function dataCount({ ['data']: data, ['binaryData']: binary }: ApiObject): number {
  return Object.keys(data ?? {}).length + Object.keys(binary ?? {}).length;
}

function firstSeen(event: ApiObject, now: number): string {
  return ageSince(string(event, 'firstTimestamp') || string(event, 'eventTime'), now);
}

function lastSeen(event: ApiObject, now: number): string {
  const seen = string(event, 'series', 'lastObservedTime') || string(event, 'lastTimestamp');
  return seen === '' ? firstSeen(event, now) : ageSince(seen, now);
}

function eventCount(event: ApiObject): number {
  // A single Event of events.k8s.io has no count.
  return Number(string(event, 'series', 'count') || string(event, 'count')) || 1;
}

function eventObject(event: ApiObject): string {
  const kind = string(event, 'involvedObject', 'kind').toLowerCase();
  const name = string(event, 'involvedObject', 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function eventSource(event: ApiObject): string {
  const component = string(event, 'source', 'component') || string(event, 'reportingComponent');
  const host = string(event, 'source', 'host') || string(event, 'reportingInstance');
  return host === '' ? component : `${component}, ${host}`;
}

function list({ ['status']: status }: ApiObject, field: string): Record<string, unknown>[] {
  const value = isObject(status) ? status[field] : undefined;
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function nodeStatus(node: ApiObject): string {
  const ready = list(node, 'conditions').find(({ type }) => type === 'Ready');
  const status = ready === undefined ? 'Unknown' : ready['status'] === 'True' ? 'Ready' : 'NotReady';
  return string(node, 'spec', 'unschedulable') === 'true' ? `${status},SchedulingDisabled` : status;
}

const rolePrefix = 'node-role.kubernetes.io/';

function nodeRoles({ metadata: { labels = {} } }: ApiObject): string {
  const roles = Object.entries(labels).flatMap(([key, value]) => {
    if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
    return key === 'kubernetes.io/role' ? [value] : [];
  });
  return (
    roles
      .filter((role) => role !== '')
      .sort()
      .join(',') || '<none>'
  );
}

function nodeAddress(node: ApiObject, type: string): string {
  const found = list(node, 'addresses').find((address) => address['type'] === type);
  return found === undefined ? '<none>' : String(found['address']);
}

function kernelVersion(node: ApiObject): string {
  const version = string(node, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>';
  const architecture = string(node, 'status', 'nodeInfo', 'architecture');
  return architecture === '' ? version : `${version} (${architecture})`;
}
