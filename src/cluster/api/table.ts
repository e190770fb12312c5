/** The tables that `kubectl get` asks for instead of objects. */
import type { ApiRequest } from '../transport.ts';
import type { ApiObject } from '../types.ts';
import { columnsOf } from './columns.ts';
import type { Call } from './context.ts';

/** Whether the client prefers a Table of meta.k8s.io/v1 over objects. */
export function tableRequested({ headers }: ApiRequest): boolean {
  const first = (headers['accept'] ?? '').split(',')[0] ?? '';
  return first.includes('as=Table') && first.includes('g=meta.k8s.io');
}

export function tableText(call: Call, objects: readonly ApiObject[], metadata: object): string {
  return JSON.stringify(table(call, objects, metadata));
}

/** A table's rows carry the metadata of their objects, as kubectl asks for. */
export function table(call: Call, objects: readonly ApiObject[], metadata: object): object {
  const { kind, toStored } = call.definition;
  const columns = columnsOf(kind);
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
      cells: columns.map(({ cell }) => cell(toStored?.(object) ?? object, now)),
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
