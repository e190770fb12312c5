/**
 * Strategic merge: lists of objects are merged by the key their schema names, instead of being replaced.
 *
 * Directives: `$patch: delete|replace|merge`, `$deleteFromPrimitiveList/F`, `$setElementOrder/F`, `$retainKeys`.
 */
import { copy, equal, isObject, type Json, type JsonObject } from '../json.ts';
import { goPrinted } from './go-json.ts';
import { itemsOf, type Schema } from './schema.ts';
import { unclassified } from './status.ts';

const deleteFrom = '$deleteFromPrimitiveList/';
const elementOrder = '$setElementOrder/';

export function strategicMerge(target: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  const directive = patch['$patch'];
  if (directive === 'replace') return copy(without(patch, '$patch'));
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') {
    throw unclassified(`unknown patch type: ${String(directive)} in map: ${goPrinted(patch)}`);
  }
  const result = retained(target, patch['$retainKeys']);
  for (const [key, value] of Object.entries(patch)) {
    if (key === '$patch' || key === '$retainKeys' || key.startsWith(elementOrder)) continue;
    if (key.startsWith(deleteFrom)) removeValues(result, key.slice(deleteFrom.length), value);
    else if (value === null) delete result[key];
    else result[key] = mergedField(result[key], value, fieldSchema(schema, key));
  }
  for (const [key, order] of Object.entries(patch)) {
    if (key.startsWith(elementOrder)) sortElements(result, key.slice(elementOrder.length), order, schema);
  }
  return result;
}

function mergedField(before: Json | undefined, value: Json, schema: Schema | undefined): Json {
  if (isObject(value)) return strategicMerge(isObject(before) ? before : {}, value, schema);
  if (!Array.isArray(value)) return value;
  if (schema?.kind !== 'list' || schema.merge === undefined) return copy(value);
  const old = Array.isArray(before) ? before : [];
  return schema.merge === 'set' ? union(old, value) : mergedList(old, value, schema.merge, schema.items);
}

function mergedList(before: readonly Json[], patch: readonly Json[], mergeKey: string, items: Schema): Json[] {
  const entries = patch.filter(isObject);
  if (entries.length !== patch.length) {
    const lists = `[${goPrinted([...before])} ${goPrinted([...patch])}]`;
    throw unclassified(`list element types are not identical: ${lists}`);
  }
  const replaces = entries.some((entry) => entry['$patch'] === 'replace' && Object.keys(entry).length === 1);
  const result: Json[] = replaces ? [] : before.map(copy);
  for (const entry of entries) {
    if (entry['$patch'] === 'replace' && Object.keys(entry).length === 1) continue;
    const id = entry[mergeKey];
    if (id === undefined) {
      throw unclassified(`map: ${goPrinted(entry)} does not contain declared merge key: ${mergeKey}`);
    }
    const at = result.findIndex((one) => isObject(one) && equal(one[mergeKey], id));
    if (entry['$patch'] === 'delete') {
      if (at >= 0) result.splice(at, 1);
    } else if (at >= 0) result[at] = strategicMerge(result[at] as JsonObject, entry, items);
    else result.push(strategicMerge({}, entry, items));
  }
  return result;
}

function union(before: readonly Json[], added: readonly Json[]): Json[] {
  const result = [...before];
  for (const value of added) if (!result.some((one) => equal(one, value))) result.push(copy(value));
  return result;
}

function removeValues(result: JsonObject, field: string, values: Json): void {
  const list = result[field];
  if (!Array.isArray(list) || !Array.isArray(values)) return;
  result[field] = list.filter((one) => !values.some((value) => equal(one, value)));
}

function sortElements(result: JsonObject, field: string, order: Json, schema: Schema | undefined): void {
  const list = result[field];
  const listSchema = fieldSchema(schema, field);
  if (!Array.isArray(list) || !Array.isArray(order) || listSchema?.kind !== 'list') return;
  const key = listSchema.merge === 'set' ? undefined : listSchema.merge;
  const id = (value: Json): Json | undefined => (key !== undefined && isObject(value) ? value[key] : value);
  const rank = (value: Json): number => {
    const at = order.findIndex((one) => equal(id(one), id(value)));
    return at < 0 ? order.length : at;
  };
  result[field] = list
    .map((value, at) => ({ value, at }))
    .sort((a, b) => rank(a.value) - rank(b.value) || a.at - b.at)
    .map(({ value }) => value);
}

function retained(target: JsonObject, keys: Json | undefined): JsonObject {
  if (!Array.isArray(keys)) return { ...target };
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

function without(object: JsonObject, key: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

function fieldSchema(schema: Schema | undefined, key: string): Schema | undefined {
  return schema === undefined ? undefined : itemsOf(schema, key);
}
