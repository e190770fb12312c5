/**
 * OpenAPI v2, which older kubectls validate with: made of the documents of v3, as JSON or in the protobuf form of
 * gnostic (`openapiv2/OpenAPIv2.proto`), the only one that kubectl asks for.
 */
import { isObject, type Json, type JsonObject } from '../json.ts';
import type { Profile } from '../profile.ts';
import type { ApiRequest, ApiResponse } from '../transport.ts';
import { openApiDocuments } from './openapi.ts';

const path = '/openapi/v2';
/** Asked for with an `@` by old clients, which cannot parse it in an answer. */
const protobufForm = /application\/com\.github\.proto-openapi\.spec\.v2[.@]v1\.0\+protobuf/;
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** Undefined for other paths. */
export function openApiV2(request: ApiRequest, profile: Profile): ApiResponse | undefined {
  if (request.path !== path) return undefined;
  const known = documents.get(profile.gitVersion) ?? document(profile);
  documents.set(profile.gitVersion, known);
  if (!protobufForm.test(request.headers['accept'] ?? '')) {
    return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(known) };
  }
  return { status: 200, headers: { 'content-type': protobufType }, body: pieces(documentBytes(known)) };
}

/** By version: they are asked for often, and large. */
const documents = new Map<string, JsonObject>();

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function document(profile: Profile): JsonObject {
  const paths: JsonObject = {};
  const definitions: JsonObject = {};
  for (const one of openApiDocuments(profile) as JsonObject[]) {
    const { components } = one as { components?: { schemas: JsonObject } };
    for (const [name, schema] of Object.entries(components?.schemas ?? {})) definitions[name] = converted(schema);
    for (const [name, item] of entries(one['paths'])) paths[name] = pathItem(item);
  }
  return { swagger: '2.0', info: { title: 'Kubernetes', version: profile.gitVersion }, paths, definitions };
}

/** A schema of v3 as one of v2. */
function converted(schema: Json): JsonObject {
  if (!isObject(schema)) return {};
  const { allOf, oneOf, default: _default, properties, items, additionalProperties, $ref, ...rest } = schema;
  const reference = $ref ?? (Array.isArray(allOf) && isObject(allOf[0]) ? allOf[0]['$ref'] : undefined);
  if (typeof reference === 'string') return { $ref: reference.replace('#/components/schemas/', '#/definitions/') };
  const result: JsonObject = { ...rest };
  if (oneOf !== undefined) result['type'] = 'string';
  if (items !== undefined) result['items'] = converted(items);
  if (additionalProperties !== undefined) result['additionalProperties'] = converted(additionalProperties);
  if (properties !== undefined) {
    result['properties'] = Object.fromEntries(entries(properties).map(([name, one]) => [name, converted(one)]));
  }
  return result;
}

function pathItem(item: Json): JsonObject {
  return Object.fromEntries(
    entries(item).map(([method, operation]) => {
      const { requestBody: _body, responses: _responses, parameters, ...rest } = operation as JsonObject;
      const plain = (Array.isArray(parameters) ? parameters : []).map((one) => {
        const { schema: _schema, ...parameter } = one as JsonObject;
        return { ...parameter, type: 'string' };
      });
      return [method, { ...rest, parameters: plain, responses: { 200: { description: 'OK' } } }];
    }),
  );
}

function entries(value: Json | undefined): [string, Json][] {
  return isObject(value) ? Object.entries(value) : [];
}

function documentBytes({ swagger, info, paths, definitions }: JsonObject): Uint8Array {
  const { title, version } = info as JsonObject;
  return joined(
    text(1, swagger),
    message(2, text(1, title), text(2, version)),
    message(8, ...named(2, paths, pathBytes)),
    message(9, ...named(1, definitions, schemaBytes)),
  );
}

const methodNumbers: Readonly<Record<string, number>> = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

function pathBytes(item: Json): Uint8Array {
  return joined(
    ...entries(item).map(([method, operation]) => {
      const { parameters } = operation as { parameters: JsonObject[] };
      const queries = parameters.map(({ in: place, name, type }) =>
        // Item, parameter, no body, of the query.
        message(8, message(1, message(2, message(3, text(2, place), text(4, name), text(6, type))))),
      );
      return message(methodNumbers[method] ?? 0, ...queries, ...extensions(13, operation));
    }),
  );
}

function schemaBytes(schema: Json): Uint8Array {
  const { $ref, format, description, type, items, additionalProperties, properties, required } = schema as JsonObject;
  return joined(
    text(1, $ref),
    text(2, format),
    text(4, description),
    ...(Array.isArray(required) ? required.map((name) => text(19, name)) : []),
    ...(additionalProperties === undefined ? [] : [message(21, message(1, schemaBytes(additionalProperties)))]),
    ...(type === undefined ? [] : [message(22, text(1, type))]),
    ...(items === undefined ? [] : [message(23, message(1, schemaBytes(items)))]),
    ...(properties === undefined ? [] : [message(25, ...named(1, properties, schemaBytes))]),
    ...extensions(31, schema),
  );
}

/** Vendor extensions carry their values as YAML, which JSON is. */
function extensions(number: number, holder: Json): Uint8Array[] {
  const own = entries(holder).filter(([name]) => name.startsWith('x-'));
  return own.map(([name, value]) => message(number, text(1, name), message(2, text(2, JSON.stringify(value)))));
}

function named(number: number, values: Json | undefined, bytes: (value: Json) => Uint8Array): Uint8Array[] {
  return entries(values).map(([name, value]) => message(number, text(1, name), message(2, bytes(value))));
}

/** Nothing for what is not there. */
function text(number: number, value: Json | undefined): Uint8Array {
  return typeof value === 'string' ? delimited(number, Buffer.from(value)) : new Uint8Array();
}

function message(number: number, ...parts: readonly Uint8Array[]): Uint8Array {
  return delimited(number, joined(...parts));
}

function delimited(number: number, bytes: Uint8Array): Uint8Array {
  return joined(varint(number * 8 + 2), varint(bytes.length), bytes);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  return Uint8Array.from([...bytes, rest]);
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
