/** Applies the three kinds of patches that the API server accepts to a copy of an object. */
import { applyPatch, type Operation } from 'rfc6902';
import { copy, isObject, type Json, type JsonObject } from '../json.ts';
import type { Schema } from './schema.ts';
import { badRequest, failure, unsupportedMediaType } from './status.ts';
import { strategicMerge } from './strategic-merge.ts';

const mediaTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** The server's bound on the operations of one JSON patch. */
const maximumOperations = 10_000;

/** `contentType` may carry parameters. Throws 400, 415 or 422. */
export function patched(object: JsonObject, contentType: string, body: Json, schema: Schema): JsonObject {
  const type = contentType.split(';')[0]?.trim();
  if (type === mediaTypes.json) return jsonPatched(object, body);
  if (type === mediaTypes.merge) return mergePatched(object, patchObject(body));
  if (type === mediaTypes.strategic) return strategicMerge(object, patchObject(body), schema);
  throw unsupportedMediaType(Object.values(mediaTypes));
}

function patchObject(body: Json): JsonObject {
  if (!isObject(body)) throw badRequest('error decoding patch: json: cannot unmarshal non-object into patch');
  return body;
}

function jsonPatched(object: JsonObject, body: Json): JsonObject {
  if (!Array.isArray(body))
    throw badRequest('error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch');
  if (body.length > maximumOperations) {
    const text = `The allowed maximum operations in a JSON patch is ${maximumOperations}, got ${body.length}`;
    throw failure(413, 'RequestEntityTooLarge', text);
  }
  const result = copy(object);
  const errors = applyPatch(result, body as unknown as Operation[]);
  if (errors.some((error) => error !== null)) {
    throw failure(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
  return result;
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
