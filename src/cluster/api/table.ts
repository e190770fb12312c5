/** The tables that `kubectl get` asks for instead of objects. */
import { isObject } from '../json.ts';
import type { ApiRequest } from '../transport.ts';
import type { ApiObject, PodObject } from '../types.ts';
import type { Call } from './context.ts';

/** Whether the client prefers a Table of meta.k8s.io/v1 over objects. */
export function tableRequested({ headers }: ApiRequest): boolean {
  const first = (headers['accept'] ?? '').split(',')[0] ?? '';
  return first.includes('as=Table') && first.includes('g=meta.k8s.io');
}

interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer';
  readonly format?: string;
  /** 1 is shown with `-o wide` only. */
  readonly priority?: number;
  readonly cell: (object: ApiObject, now: number) => string | number;
}

export function tableText(call: Call, objects: readonly ApiObject[], metadata: object): string {
  return JSON.stringify(table(call, objects, metadata));
}

/** A table's rows carry the metadata of their objects, as kubectl asks for. */
export function table(call: Call, objects: readonly ApiObject[], metadata: object): object {
  const columns = columnsOf(call.definition.kind);
  const now = call.context.clock.now();
  const { resourceVersion, continue: next, remainingItemCount } = metadata as Record<string, unknown>;
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {
      resourceVersion,
      ...(next !== undefined && { continue: next }),
      ...(remainingItemCount !== undefined && { remainingItemCount }),
    },
    columnDefinitions: columns.map(({ name, type, format = '', priority = 0 }) => ({
      name,
      type,
      format,
      description: name,
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, now)),
      object: includedObject(call, object),
    })),
  };
}

function includedObject({ request }: Call, object: ApiObject): object | null {
  const included = request.query.get('includeObject');
  if (included === 'Object') return object;
  if (included === 'None') return null;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', cell: ({ metadata }) => metadata.name };
const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  cell: ({ metadata }, now) => age(metadata.creationTimestamp, now),
};

const columnsByKind: Readonly<Record<string, readonly Column[]>> = {
  Pod: [
    nameColumn,
    { name: 'Ready', type: 'string', cell: (pod) => readyCount(pod as PodObject) },
    { name: 'Status', type: 'string', cell: (pod) => podStatusText(pod as PodObject) },
    { name: 'Restarts', type: 'string', cell: (pod) => String(restarts(pod as PodObject)) },
    ageColumn,
    { name: 'IP', type: 'string', priority: 1, cell: (pod) => (pod as PodObject).status.podIP ?? '<none>' },
    { name: 'Node', type: 'string', priority: 1, cell: (pod) => (pod as PodObject).spec.nodeName ?? '<none>' },
    { name: 'Nominated Node', type: 'string', priority: 1, cell: () => '<none>' },
    { name: 'Readiness Gates', type: 'string', priority: 1, cell: () => '<none>' },
  ],
  Event: [
    {
      name: 'Last Seen',
      type: 'string',
      cell: (event, now) => {
        const seen = event['lastTimestamp'] ?? event['deprecatedLastTimestamp'] ?? event['eventTime'];
        return typeof seen === 'string' ? age(seen, now) : '<unknown>';
      },
    },
    { name: 'Type', type: 'string', cell: (event) => String(event['type'] ?? '') },
    { name: 'Reason', type: 'string', cell: (event) => String(event['reason'] ?? '') },
    {
      name: 'Object',
      type: 'string',
      cell: (event) => {
        const about = event['involvedObject'] ?? event['regarding'];
        return isObject(about) ? `${String(about['kind'] ?? '').toLowerCase()}/${about['name']}` : '';
      },
    },
    { name: 'Message', type: 'string', cell: (event) => String(event['message'] ?? event['note'] ?? '').trim() },
    { ...nameColumn, priority: 1 },
  ],
  Namespace: [
    nameColumn,
    { name: 'Status', type: 'string', cell: ({ ['status']: status }) => phaseOf(status) },
    ageColumn,
  ],
  Node: [
    nameColumn,
    { name: 'Status', type: 'string', cell: ({ ['status']: status }) => nodeStatus(status) },
    { name: 'Roles', type: 'string', cell: () => '<none>' },
    ageColumn,
    { name: 'Version', type: 'string', cell: ({ ['status']: status }) => nodeVersion(status) },
  ],
  Secret: [
    nameColumn,
    { name: 'Type', type: 'string', cell: (secret) => String(secret['type'] ?? '') },
    { name: 'Data', type: 'integer', cell: ({ ['data']: data }) => Object.keys(data ?? {}).length },
    ageColumn,
  ],
  ConfigMap: [
    nameColumn,
    { name: 'Data', type: 'integer', cell: ({ ['data']: data }) => Object.keys(data ?? {}).length },
    ageColumn,
  ],
};

function columnsOf(kind: string): readonly Column[] {
  return columnsByKind[kind] ?? [nameColumn, ageColumn];
}

function readyCount({ spec, status }: PodObject): string {
  return `${(status.containerStatuses ?? []).filter(({ ready }) => ready).length}/${spec.containers.length}`;
}

function restarts({ status }: PodObject): number {
  return (status.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** As kubectl's own printer: the last container that has something to say wins over the phase. */
function podStatusText({ metadata, status }: PodObject): string {
  let text = status.reason ?? status.phase;
  for (const { state } of [...(status.containerStatuses ?? [])].reverse()) {
    const { waiting, terminated } = state;
    if (waiting?.reason !== undefined) text = waiting.reason;
    else if (terminated?.reason !== undefined) text = terminated.reason;
    else if (terminated !== undefined) text = `ExitCode:${terminated.exitCode}`;
  }
  if (text === 'Completed' && status.containerStatuses?.some(({ state, ready }) => ready && state.running)) {
    text = 'Running';
  }
  return metadata.deletionTimestamp === undefined ? text : 'Terminating';
}

function phaseOf(status: unknown): string {
  return isObject(status) ? String(status['phase'] ?? '') : '';
}

function nodeStatus(status: unknown): string {
  const conditions = isObject(status) && Array.isArray(status['conditions']) ? status['conditions'] : [];
  const ready = conditions.find((one) => isObject(one) && one['type'] === 'Ready');
  return isObject(ready) && ready['status'] === 'True' ? 'Ready' : 'NotReady';
}

function nodeVersion(status: unknown): string {
  const info = isObject(status) ? status['nodeInfo'] : undefined;
  return isObject(info) ? String(info['kubeletVersion'] ?? '') : '';
}

/** As kubectl writes durations: two units while the first is small. */
function age(since: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}
