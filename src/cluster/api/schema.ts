/**
 * The shapes of API objects: what decoding accepts, what a strategic merge does, what OpenAPI says, from one table.
 *
 * Fields are in the order in which the API server writes them.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import { badRequest } from './status.ts';

export type Schema =
  | { readonly kind: 'string' | 'integer' | 'boolean' | 'time' | 'quantity' | 'intOrString' | 'any' }
  | { readonly kind: 'list'; readonly items: Schema; readonly merge?: string }
  | { readonly kind: 'map'; readonly values: Schema }
  | ObjectSchema;

export interface ObjectSchema {
  readonly kind: 'object';
  /** The Go type, as in the texts of decoding errors. */
  readonly type: string;
  readonly fields: Readonly<Record<string, Schema>>;
  /** What Go writes for these fields even when they are not set. */
  readonly always: Readonly<Record<string, Json>>;
}

export const string: Schema = { kind: 'string' };
export const integer: Schema = { kind: 'integer' };
export const boolean: Schema = { kind: 'boolean' };
export const time: Schema = { kind: 'time' };
export const quantity: Schema = { kind: 'quantity' };
export const intOrString: Schema = { kind: 'intOrString' };
/** Kept as it comes: parts of the API that nothing here looks at. */
export const any: Schema = { kind: 'any' };
export const map = (values: Schema): Schema => ({ kind: 'map', values });

/** `merge`: the key by which a strategic merge finds the element, or `set` for a list of plain values. */
export const list = (items: Schema, merge?: string): Schema => ({
  kind: 'list',
  items,
  ...(merge !== undefined && { merge }),
});

export const object = (
  type: string,
  fields: Readonly<Record<string, Schema>>,
  always: Readonly<Record<string, Json>> = {},
): ObjectSchema => ({ kind: 'object', type, fields, always });

export function itemsOf(schema: Schema, key: string): Schema | undefined {
  if (schema.kind === 'object') return schema.fields[key];
  if (schema.kind === 'map') return schema.values;
  return undefined;
}

export interface Decoded {
  readonly object: JsonObject;
  /** Paths of the fields that the schema does not know; they were dropped. */
  readonly unknown: readonly string[];
}

/**
 * A clean copy: unknown fields and nulls dropped, fields in order, what is always written filled in. Throws 400 for a
 * value of the wrong type, in the words of the API server.
 */
export function decode(schema: ObjectSchema, kind: string, value: Json): Decoded {
  const unknown: string[] = [];
  const decoded = decodeValue(schema, value, { kind, path: '', type: schema.type, unknown });
  return { object: decoded as JsonObject, unknown };
}

interface Place {
  readonly kind: string;
  readonly path: string;
  /** The Go type that holds the field. */
  readonly type: string;
  readonly unknown: string[];
}

function decodeValue(schema: Schema, value: Json, place: Place): Json {
  switch (schema.kind) {
    case 'any':
      return value;
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, `[]${goType(schema.items)}`, place);
      return value.map((entry, at) => decodeValue(schema.items, entry, { ...place, path: `${place.path}[${at}]` }));
    case 'map':
      return decodeMap(schema.values, value, place);
    case 'object':
      return decodeObject(schema, value, place);
    case 'string':
    case 'integer':
    case 'boolean':
    case 'time':
    case 'quantity':
    case 'intOrString':
      if (!fits(schema.kind, value)) throw mismatch(value, goType(schema), place);
      return schema.kind === 'quantity' ? String(value) : value;
  }
}

function decodeMap(values: Schema, value: Json, place: Place): Json {
  if (!isObject(value)) throw mismatch(value, `map[string]${goType(values)}`, place);
  const result: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) {
    if (entry !== null) result[key] = decodeValue(values, entry, { ...place, path: `${place.path}.${key}` });
  }
  return result;
}

function decodeObject(schema: ObjectSchema, value: Json, place: Place): Json {
  if (!isObject(value)) throw mismatch(value, schema.type, place);
  const at = (key: string): string => (place.path === '' ? key : `${place.path}.${key}`);
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(schema.fields)) {
    const entry = value[key];
    if (entry !== undefined && entry !== null) {
      result[key] = decodeValue(field, entry, { ...place, path: at(key), type: schema.type });
    } else if (key in schema.always) result[key] = schema.always[key] ?? null;
  }
  for (const key of Object.keys(value)) if (!(key in schema.fields)) place.unknown.push(at(key));
  return result;
}

function fits(kind: 'string' | 'integer' | 'boolean' | 'time' | 'quantity' | 'intOrString', value: Json): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'time':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    case 'quantity':
    case 'intOrString':
      return typeof value === 'string' || typeof value === 'number';
  }
}

function goType(schema: Schema): string {
  switch (schema.kind) {
    case 'object':
      return `v1.${schema.type}`;
    case 'integer':
      return 'int64';
    case 'boolean':
      return 'bool';
    case 'time':
      return 'v1.Time';
    case 'quantity':
      return 'resource.Quantity';
    case 'intOrString':
      return 'intstr.IntOrString';
    case 'list':
      return `[]${goType(schema.items)}`;
    case 'map':
      return `map[string]${goType(schema.values)}`;
    case 'string':
    case 'any':
      return 'string';
  }
}

function mismatch(value: Json, wanted: string, { kind, path, type }: Place): Error {
  const found = Array.isArray(value) ? 'array' : isObject(value) ? 'object' : value === null ? 'null' : typeof value;
  const name = found === 'boolean' ? 'bool' : found;
  const field = path === '' ? '' : `Go struct field ${type}.${path.replace(/\[\d+\]/g, '')} of type `;
  return badRequest(
    `${kind} in version "v1" cannot be handled as a ${kind}: json: cannot unmarshal ${name} into ${field}${wanted}`,
  );
}
