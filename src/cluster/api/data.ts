/** Secrets and ConfigMaps: what their keys and values may be, and what of them may still change. */
import { equal } from '../json.ts';
import type { ApiObject } from '../types.ts';
import { metadataErrors } from './names.ts';
import { type FieldError, fieldError } from './status.ts';
import type { Strategy } from './strategy.ts';

/** All values of an object together. */
const bytesMax = 1024 * 1024;

const keyForm = /^[-._a-zA-Z0-9]+$/;
const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

export const configMapStrategy: Strategy = {
  validateCreate: (object) => [...metadataErrors(object.metadata), ...dataErrors(object, ['data', 'binaryData'])],
  validateUpdate: (next, old) => [
    ...metadataErrors(next.metadata),
    ...dataErrors(next, ['data', 'binaryData']),
    ...immutableErrors(next, old, ['data', 'binaryData']),
  ],
};

export const secretStrategy: Strategy = {
  prepareCreate: encodeStringData,
  prepareUpdate: encodeStringData,
  validateCreate: (object) => [...metadataErrors(object.metadata), ...dataErrors(object, ['data'])],
  validateUpdate: (next, old) => [
    ...metadataErrors(next.metadata),
    ...dataErrors(next, ['data']),
    ...(next['type'] === old['type'] ? [] : [fieldError.invalid('type', String(next['type']), 'field is immutable')]),
    ...immutableErrors(next, old, ['data']),
  ],
};

function dataErrors(object: ApiObject, fields: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const field of fields) {
    for (const [key, value] of Object.entries((object[field] ?? {}) as Record<string, string>)) {
      bytes += value.length;
      const name = `${field}[${key}]`;
      if (key.length > 253) errors.push(fieldError.invalid(name, key, 'must be no more than 253 bytes'));
      if (!keyForm.test(key)) errors.push(fieldError.invalid(name, key, keyText));
      if (key === '.' || key === '..') errors.push(fieldError.invalid(name, key, `must not be '${key}'`));
      else if (key.startsWith('..')) errors.push(fieldError.invalid(name, key, "must not start with '..'"));
    }
  }
  if (bytes > bytesMax) {
    errors.push({
      reason: 'FieldValueTooLong',
      field: 'data',
      message: `Too long: may not be more than ${bytesMax} bytes`,
    });
  }
  return errors;
}

function immutableErrors(next: ApiObject, old: ApiObject, fields: readonly string[]): FieldError[] {
  if (old['immutable'] !== true) return [];
  const text = 'field is immutable when `immutable` is set';
  const changed = fields.filter((field) => !equal(next[field], old[field]));
  return [...(next['immutable'] === true ? [] : ['immutable']), ...changed].map((field) =>
    fieldError.forbidden(field, text),
  );
}

/** `stringData` is a convenience of writing: it ends up in `data`. */
function encodeStringData(object: ApiObject): void {
  const { ['stringData']: plain, ['data']: data } = object;
  delete object['stringData'];
  object['type'] ??= 'Opaque';
  if (plain === undefined) return;
  const encoded = Object.entries(plain as Record<string, string>).map(([key, value]) => [
    key,
    Buffer.from(value).toString('base64'),
  ]);
  object['data'] = { ...(data as object | undefined), ...Object.fromEntries(encoded) };
}
