/** The tables that `kubectl get` asks for instead of objects. */
import type { ApiRequest } from '../transport.ts';
import type { ApiObject } from '../types.ts';
import { type Column, columnsOf } from './columns.ts';
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
export function table(
  call: Call,
  objects: readonly ApiObject[],
  metadata: object,
  { describesColumns = true }: { readonly describesColumns?: boolean } = {},
): object {
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
    columnDefinitions: describesColumns ? columns.map(description) : null,
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(toStored?.(object) ?? object, now)),
      ...rowConditions(object),
      object: includedObject(call, object),
    })),
  };
}

/** The table of one watch frame: only the first of a stream describes its columns. */
export class WatchTables {
  readonly #call: Call;
  #described = false;

  constructor(call: Call) {
    this.#call = call;
  }

  text(object: ApiObject): string {
    const describesColumns = !this.#described;
    this.#described = true;
    return JSON.stringify(table(this.#call, [object], object.metadata, { describesColumns }));
  }
}

function description({ name, type, format = '', priority = 0 }: Column): object {
  return { name, type, format, description: name, priority };
}

/** By which clients sort out what is over. */
function rowConditions({ kind, ['status']: status }: ApiObject): object {
  if (kind !== 'Pod') return {};
  const phase = (status as { phase?: string } | undefined)?.phase ?? '';
  const message = podOutcomes[phase];
  return message === undefined ? {} : { conditions: [{ type: 'Completed', status: 'True', reason: phase, message }] };
}

const podOutcomes: Readonly<Record<string, string>> = {
  Succeeded: 'The pod has completed successfully.',
  Failed: 'The pod failed.',
};

function includedObject({ request }: Call, object: ApiObject): object | null {
  const included = request.query.get('includeObject');
  if (included === 'Object') return object;
  if (included === 'None') return null;
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}
