/** The bodies of requests: which media types are taken, how they are read, and what is said about bad ones. */
import { parseAllDocuments } from 'yaml';
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { ApiRequest } from '../transport.ts';
import { goKind, syntaxError } from './go-json.ts';
import { decodeProtobuf, protobufType } from './protobuf.ts';
import { badRequest, failure, unsupportedMediaType } from './status.ts';

const jsonType = 'application/json';
const yamlType = 'application/yaml';

/** What the real server takes for objects. */
const objectTypes = [jsonType, yamlType, protobufType];

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** The object of a create or an update; `kind` is what must come. Throws 400 and 415. */
export function objectBody(request: ApiRequest, kind: string): JsonObject {
  const bytes = request.body ?? new Uint8Array();
  try {
    return typedObject(request);
  } catch (error) {
    if (!(error instanceof UnknownKind)) throw error;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${error.message} (${summary(bytes)})`,
    );
  }
}

/** DeleteOptions, which may be left out altogether. Throws 400 and 415. */
export function optionsBody(request: ApiRequest): JsonObject | undefined {
  if (request.body === undefined || request.body.length === 0) return undefined;
  let options: JsonObject;
  try {
    options = typedObject(request);
  } catch (error) {
    if (error instanceof UnknownKind) throw badRequest(error.message);
    throw error;
  }
  const { kind = 'DeleteOptions', apiVersion = 'v1' } = options;
  if (kind !== 'DeleteOptions') throw badRequest(unregistered(String(kind), String(apiVersion)));
  return options;
}

export const unregistered = (kind: string, version: string): string =>
  `no kind "${kind}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`;

/** A patch as it came, by its media type. Throws 400 and 415. */
export function patchBody(request: ApiRequest): Json {
  const type = mediaType(request);
  const known: readonly string[] = Object.values(patchTypes);
  // Server-side apply is not served; a client that asks for it is told so by the list of what is.
  if (type === 'application/apply-patch+yaml') throw unsupportedMediaType(known);
  if (!known.includes(type ?? '')) throw failure(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  const text = new TextDecoder().decode(request.body ?? new Uint8Array());
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw badRequest(`${type === patchTypes.strategic ? '' : 'error decoding patch: '}${syntaxError(text)}`);
  }
}

class UnknownKind extends Error {}

const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function typedObject(request: ApiRequest): JsonObject {
  const value = untyped(request);
  const unknown = (why: string): Error =>
    new UnknownKind(`couldn't get version/kind; json parse error: json: cannot unmarshal ${why}`);
  if (value === null) return {};
  if (!isObject(value)) throw unknown(`${goKind(value)} into Go value of type ${typeMeta}`);
  for (const field of ['apiVersion', 'kind']) {
    const type = value[field] ?? '';
    if (typeof type !== 'string') throw unknown(`${goKind(type)} into Go struct field .${field} of type string`);
  }
  return value;
}

function untyped(request: ApiRequest): Json {
  const body = request.body ?? new Uint8Array();
  switch (mediaType(request) ?? jsonType) {
    case jsonType:
      return fromJson(new TextDecoder().decode(body));
    case yamlType:
      return fromYaml(new TextDecoder().decode(body));
    case protobufType:
      return decodeProtobuf(body, objectTypes);
    default:
      throw unsupportedMediaType(objectTypes);
  }
}

function fromJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new UnknownKind(`couldn't get version/kind; json parse error: ${syntaxError(text)}`);
  }
}

/** The first document; what comes after it is not looked at. */
function fromYaml(text: string): Json {
  const [first] = parseAllDocuments(text);
  if (first === undefined) return null;
  const [error] = first.errors;
  const wrong = (why: string): Error => new UnknownKind(`error converting YAML to JSON: yaml: ${why}`);
  if (error !== undefined) throw wrong(error.message.split('\n')[0] ?? '');
  try {
    return first.toJS() as Json;
  } catch (failure) {
    // The one thing that can still be wrong: an alias that leads nowhere, or far too many of them.
    if (!(failure instanceof ReferenceError)) throw failure;
    throw wrong(/excessive/i.test(failure.message) ? 'document contains excessive aliasing' : failure.message);
  }
}

function mediaType({ headers }: ApiRequest): string | undefined {
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase();
}

const shownBytes = 30;

/** JSON as it is, other things in hexadecimal. */
function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return '<empty>';
  const shown = Buffer.from(bytes.subarray(0, shownBytes));
  const text = shown.toString(shown[0] === 0x7b ? 'utf8' : 'hex');
  return bytes.length > shownBytes ? `${text} ...` : text;
}
