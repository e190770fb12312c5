/**
 * The shapes of API objects: what decoding accepts, what a strategic merge does, what OpenAPI says, from one table.
 *
 * Fields are in the order in which the API server writes them.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import { quantityProblem } from '../quantity.ts';
import { goKind } from './go-json.ts';

export type Schema =
  | { readonly kind: 'string' | 'integer' | 'boolean' | 'time' | 'quantity' | 'intOrString' | 'bytes' | 'any' }
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
/** Base64. */
export const bytes: Schema = { kind: 'bytes' };
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

/** A value of the wrong type. The message is that of Go's decoder. */
export class Mismatch extends Error {
  /** In the words of a strategic merge patch, which converts values instead of decoding them. */
  readonly conversion: string;

  constructor(message: string, conversion: string) {
    super(message);
    this.name = 'Mismatch';
    this.conversion = conversion;
  }
}

/**
 * A clean copy: unknown fields and nulls dropped, fields in order, what is always written filled in. Throws Mismatch.
 */
export function decode(schema: ObjectSchema, value: Json): Decoded {
  const unknown: string[] = [];
  const decoded = decodeValue(schema, value, { path: '', shown: '', type: schema.type, unknown });
  return { object: decoded as JsonObject, unknown };
}

interface Place {
  readonly path: string;
  /** As Go's errors show it: without places in lists and keys of maps. */
  readonly shown: string;
  /** The Go type that holds the field. */
  readonly type: string;
  readonly unknown: string[];
}

function decodeValue(schema: Schema, value: Json, place: Place): Json {
  switch (schema.kind) {
    case 'any':
      return value;
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, schema, place);
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
    case 'bytes':
      if (!fits(schema.kind, value)) throw mismatch(value, schema, place);
      return schema.kind === 'quantity' ? String(value) : value;
  }
}

function decodeMap(values: Schema, value: Json, place: Place): Json {
  if (!isObject(value)) throw mismatch(value, { kind: 'map', values }, place);
  const result: JsonObject = {};
  for (const [key, entry] of Object.entries(value)) {
    if (entry !== null) result[key] = decodeValue(values, entry, { ...place, path: `${place.path}.${key}` });
  }
  return result;
}

function decodeObject(schema: ObjectSchema, value: Json, place: Place): Json {
  if (!isObject(value)) throw mismatch(value, schema, place);
  const at = (key: string, path = place.path): string => (path === '' ? key : `${path}.${key}`);
  const result: JsonObject = {};
  for (const [key, field] of Object.entries(schema.fields)) {
    const entry = value[key];
    if (entry !== undefined && entry !== null) {
      const inner = { ...place, path: at(key), shown: at(key, place.shown), type: schema.type };
      result[key] = decodeValue(field, entry, inner);
    } else if (key in schema.always) result[key] = schema.always[key] ?? null;
  }
  for (const key of Object.keys(value)) if (!Object.hasOwn(schema.fields, key)) place.unknown.push(at(key));
  return result;
}

type Plain = Exclude<Schema['kind'], 'any' | 'list' | 'map' | 'object'>;

function fits(kind: Plain, value: Json): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'bytes':
      return typeof value === 'string' && corruptByte(value) === undefined;
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value);
    case 'time':
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    case 'quantity':
      return isScalar(value) && quantityProblem(String(value)) === undefined;
    case 'intOrString':
      return isScalar(value);
  }
}

function isScalar(value: Json): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function goType(schema: Schema): string {
  switch (schema.kind) {
    case 'object':
      return `v1.${schema.type}`;
    case 'integer':
      return 'int64';
    case 'boolean':
      return 'bool';
    case 'bytes':
      return '[]uint8';
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

function mismatch(value: Json, schema: Schema, { shown, type }: Place): Mismatch {
  const conversion = conversionText(value, schema);
  if (schema.kind === 'time' && typeof value === 'string') {
    const text = `parsing time "${value}" as "2006-01-02T15:04:05Z07:00": cannot parse "${value}" as "2006"`;
    return new Mismatch(text, conversion);
  }
  const problem = schema.kind === 'quantity' && isScalar(value) ? quantityProblem(String(value)) : undefined;
  if (problem !== undefined) return new Mismatch(problem, problem);
  if (schema.kind === 'bytes' && typeof value === 'string') {
    return new Mismatch(`illegal base64 data at input byte ${corruptByte(value) ?? 0}`, conversion);
  }
  const found = schema.kind === 'integer' && typeof value === 'number' ? `number ${value}` : goKind(value);
  const field = shown === '' ? '' : `Go struct field ${type}.${shown} of type `;
  return new Mismatch(`json: cannot unmarshal ${found} into ${field}${goType(schema)}`, conversion);
}

function conversionText(value: Json, schema: Schema): string {
  const found = goConverted(value);
  if (schema.kind === 'list') return `cannot restore slice from ${found}`;
  if (schema.kind === 'map') return `cannot restore map from ${found}`;
  if (schema.kind === 'object') return `cannot restore struct from: ${found}`;
  return `cannot convert ${found} to ${goType(schema)}`;
}

function goConverted(value: Json): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  if (Array.isArray(value)) return 'slice';
  return isObject(value) ? 'map' : goKind(value);
}

/** Where a text stops being base64, as Go counts; undefined for one that is. */
function corruptByte(text: string): number | undefined {
  const clean = text.replace(/[\r\n]/g, '');
  const wrong = clean.search(/[^A-Za-z0-9+/=]/);
  if (wrong >= 0) return wrong;
  const padding = clean.search(/=/);
  const body = padding < 0 ? clean.length : padding;
  const isWhole = clean.length % 4 === 0 && clean.length - body <= 2 && /^=*$/.test(clean.slice(body));
  return isWhole ? undefined : body;
}
