/** Applies the three kinds of patches that the API server accepts to a copy of an object. */
import { applyPatch, type Operation } from 'rfc6902';
import { copy, isObject, type Json, type JsonObject } from '../json.ts';
import { patchTypes } from './body.ts';
import { goKind, goPrinted } from './go-json.ts';
import type { Mismatch, Schema } from './schema.ts';
import { badRequest, type FieldError, failure, fieldError, unsupportedMediaType } from './status.ts';
import { strategicMerge } from './strategic-merge.ts';

/** The server's bound on the operations of one JSON patch. */
const maximumOperations = 10_000;

export interface Patched {
  readonly object: JsonObject;
  /** What is said when the object turns out to be of wrong types. */
  readonly wrong: (mismatch: Mismatch) => FieldError;
}

/** `contentType` may carry parameters. Throws 400, 415 or 422. */
export function patched(object: JsonObject, contentType: string, body: Json, schema: Schema): Patched {
  const type = contentType.split(';')[0]?.trim().toLowerCase();
  if (type === patchTypes.json) return withText(jsonPatched(object, body));
  if (type === patchTypes.merge) return withText(mergePatched(object, mergePatch(body)));
  if (type !== patchTypes.strategic) throw unsupportedMediaType(Object.values(patchTypes));
  const patch = strategicPatch(body);
  return {
    object: strategicMerge(object, patch, schema),
    wrong: ({ conversion }) => fieldError.invalid('patch', goPrinted(patch), conversion),
  };
}

function withText(object: JsonObject): Patched {
  return { object, wrong: ({ message }) => fieldError.invalid('patch', JSON.stringify(object), message) };
}

function strategicPatch(body: Json): JsonObject {
  if (body === null) return {};
  if (isObject(body)) return body;
  throw badRequest(`json: cannot unmarshal ${goKind(body)} into Go value of type map[string]interface {}`);
}

function mergePatch(body: Json): JsonObject {
  if (isObject(body)) return body;
  if (body === null) throw badRequest('Invalid JSON Patch');
  const text = `json: cannot unmarshal ${goKind(body)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding patch: ${text}`);
}

function jsonPatched(object: JsonObject, body: Json): JsonObject {
  const operations = body ?? [];
  if (!Array.isArray(operations)) {
    const text = `json: cannot unmarshal ${goKind(operations)} into Go value of type []handlers.jsonPatchOp`;
    throw badRequest(`error decoding patch: ${text}`);
  }
  if (operations.length > maximumOperations) {
    const text = `The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${operations.length}`;
    throw failure(413, 'RequestEntityTooLarge', text);
  }
  const result = copy(object);
  const refuse = (): Error =>
    failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  if (!operations.every(isOperation)) throw refuse();
  const errors = applyPatch(result, operations);
  if (errors.some((error) => error !== null)) throw refuse();
  return result;
}

const operationNames = ['add', 'remove', 'replace', 'move', 'copy', 'test'];

function isOperation(value: Json): value is Json & Operation {
  if (!isObject(value)) return false;
  const { op, path, from } = value as Record<string, Json | undefined>;
  if (typeof op !== 'string' || !operationNames.includes(op) || typeof path !== 'string') return false;
  if (op === 'move' || op === 'copy') return typeof from === 'string';
  return op === 'remove' || 'value' in value;
}

/** RFC 7396: null removes, objects merge, everything else replaces. */
function mergePatched(target: JsonObject, patch: JsonObject): JsonObject {
  const result = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const before = result[key];
    if (value === null) delete result[key];
    else result[key] = isObject(value) ? mergePatched(isObject(before) ? before : {}, value) : copy(value);
  }
  return result;
}
