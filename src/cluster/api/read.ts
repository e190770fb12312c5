/** GET of one object and LIST, with the rules for resourceVersion and paging. */
import { encode } from '../json.ts';
import type { ApiObject } from '../types.ts';
import { type Call, keyOf, prefixOf } from './context.ts';
import { syntaxError } from './go-json.ts';
import { type ListOptions, listOptions, versionProblem } from './options.ts';
import { apiVersionOf } from './resources.ts';
import { badRequest, expired, failure, futureVersion, notFound, StatusError, unclassified } from './status.ts';
import { tableRequested, tableText } from './table.ts';

/** The object as stored. Throws 404. */
export function stored(call: Call): ApiObject {
  const { context, definition, info } = call;
  const name = info.name ?? '';
  const object = context.store.get(definition.storage, keyOf(definition, info.namespace, name));
  if (object === undefined) throw notFound(definition, name);
  return object;
}

export function served({ definition }: Pick<Call, 'definition'>, object: ApiObject): ApiObject {
  return definition.toServed?.(object) ?? object;
}

/** The text of one object in an answer, or of the table that was asked for. */
export function objectText(call: Call, object: ApiObject): string {
  const shown = served(call, object);
  return tableRequested(call.request) ? tableText(call, [shown], shown.metadata) : encode(shown);
}

export function getObject(call: Call): string {
  const version = call.request.query.get('resourceVersion') ?? '';
  const problem = version === '' ? undefined : versionProblem(version);
  if (problem !== undefined) throw unclassified(problem);
  if (version !== '') refuseFuture(call, Number(version));
  return objectText(call, stored(call));
}

interface Snapshot {
  readonly number: number;
  readonly objects: readonly ApiObject[];
}

export function listObjects(call: Call): string {
  const options = listOptions(call);
  const page = options.continue === '' ? firstPage(call, options) : nextPage(call, options);
  const matching = page.snapshot.objects.filter(options.matches);
  const shown = page.limit > 0 ? matching.slice(0, page.limit) : matching;
  const left = matching.length - shown.length;
  const last = shown.at(-1);
  const metadata = {
    resourceVersion: String(page.snapshot.number),
    ...(left > 0 && last !== undefined && { continue: continueToken(page.snapshot.number, keyOfObject(call, last)) }),
    ...(left > 0 && !options.selects && { remainingItemCount: left }),
  };
  const items = shown.map((object) => served(call, object));
  if (tableRequested(call.request)) return tableText(call, items, metadata);
  const { definition } = call;
  const head = { kind: `${definition.kind}List`, apiVersion: apiVersionOf(definition), metadata };
  return `${JSON.stringify(head).slice(0, -1)},"items":[${items.map(itemText).join(',')}]}`;
}

/** Items carry neither kind nor apiVersion. */
function itemText(object: ApiObject): string {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return JSON.stringify(rest);
}

function firstPage(call: Call, options: ListOptions): { snapshot: Snapshot; limit: number } {
  const { context, definition } = call;
  const prefix = prefixOf(call);
  const { resourceVersion, resourceVersionMatch: match, limit } = options;
  const current = { number: context.store.current, objects: context.store.list(definition.storage, prefix) };
  if (resourceVersion === '') return { snapshot: current, limit };
  // Served by the watch cache, which does not page.
  if (resourceVersion === '0') return { snapshot: current, limit: definition.cached ? 0 : limit };
  const number = Number(resourceVersion);
  refuseFuture(call, number);
  const exact = match === 'Exact' || (match === '' && limit > 0);
  if (!exact) return { snapshot: current, limit };
  const objects = context.store.listAt(definition.storage, number, prefix);
  if (objects === undefined) throw expired('The resourceVersion for the provided list is too old.');
  return { snapshot: { number, objects }, limit };
}

function nextPage(call: Call, options: ListOptions): { snapshot: Snapshot; limit: number } {
  const { context, definition } = call;
  const { number, after } = parseContinue(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  // A token for an inconsistent continuation goes on at the present state.
  const version = number < 0 ? context.store.current : number;
  const objects = context.store.listAt(definition.storage, version, prefixOf(call));
  if (objects === undefined) throw expiredToken(after);
  const rest = objects.filter((object) => keyOfObject(call, object) > after);
  return { snapshot: { number: version, objects: rest }, limit: options.limit };
}

function keyOfObject({ definition }: Call, { metadata }: ApiObject): string {
  return keyOf(definition, metadata.namespace, metadata.name);
}

function continueToken(number: number, after: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: number, start: `${after}\0` })).toString('base64url');
}

function parseContinue(token: string): { number: number; after: string } {
  const invalid = (why: string): Error => badRequest(`invalid continue token: continue key is not valid: ${why}`);
  const wrongAt = token.search(/[^\w-]/);
  const corruptAt = wrongAt >= 0 ? wrongAt : token.length % 4 === 1 ? token.length - 1 : undefined;
  if (corruptAt !== undefined) throw invalid(`illegal base64 data at input byte ${corruptAt}`);
  const text = Buffer.from(token, 'base64url').toString();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw invalid(syntaxError(text));
  }
  const { rv, start } = (parsed ?? {}) as { rv?: unknown; start?: unknown };
  if (typeof rv !== 'number' || typeof start !== 'string')
    throw invalid('incorrect encoded start resourceVersion (version meta.k8s.io/v1)');
  return { number: rv, after: start.endsWith('\0') ? start.slice(0, -1) : start };
}

function expiredToken(after: string): StatusError {
  const text =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
  const { status } = failure(410, 'Expired', text);
  return new StatusError({ ...status, metadata: { continue: continueToken(-1, after) } });
}

function refuseFuture({ context }: Call, number: number): void {
  if (number > context.store.current) throw futureVersion(number, context.store.current);
}
