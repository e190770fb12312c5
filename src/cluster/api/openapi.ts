/** OpenAPI v3 as far as kubectl needs it: which operations validate fields, and the schemas for `kubectl explain`. */

import type { Profile } from '../profile.ts';
import { apiVersionOf, definitions, type ResourceDefinition } from './resources.ts';
import type { ObjectSchema, Schema } from './schema.ts';

/** The document for a path below /openapi/v3; undefined for other paths. */
export function openApi(path: string, profile: Profile): object | undefined {
  if (path === '/openapi/v3') return { paths: index() };
  const place = path.startsWith('/openapi/v3/') ? path.slice('/openapi/v3/'.length) : undefined;
  const own = definitions.filter((definition) => placeOf(definition) === place);
  return own.length === 0 ? undefined : document(own, profile);
}

/** All of them, one for each group and version. */
export function openApiDocuments(profile: Profile): object[] {
  const places = [...new Set(definitions.map(placeOf))];
  return places.map((place) =>
    document(
      definitions.filter((one) => placeOf(one) === place),
      profile,
    ),
  );
}

function index(): object {
  const places = [...new Set(definitions.map(placeOf))];
  return Object.fromEntries(places.map((place) => [place, { serverRelativeURL: `/openapi/v3/${place}?hash=1` }]));
}

function placeOf(definition: ResourceDefinition): string {
  return definition.group === '' ? 'api/v1' : `apis/${apiVersionOf(definition)}`;
}

function document(own: readonly ResourceDefinition[], { gitVersion }: Profile): object {
  const schemas: Record<string, object> = {};
  const paths: Record<string, object> = {};
  for (const definition of own) {
    const name = schemaName(definition, definition.schema);
    addSchema(schemas, definition, definition.schema);
    schemas[name] = { ...schemas[name], 'x-kubernetes-group-version-kind': [groupVersionKind(definition)] };
    Object.assign(paths, pathsOf(definition, name));
  }
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: gitVersion },
    paths,
    components: { schemas },
  };
}

function pathsOf(definition: ResourceDefinition, schema: string): Record<string, object> {
  const { namespaced, resource } = definition;
  const root = `/${placeOf(definition)}/${namespaced ? 'namespaces/{namespace}/' : ''}${resource}`;
  const gvk = groupVersionKind(definition);
  const content = { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
  const operation = (action: string, writes: boolean): object => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk,
    ...(writes && {
      parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
        name,
        in: 'query',
        schema: { type: 'string', uniqueItems: true },
      })),
      requestBody: { content },
    }),
    responses: { 200: { description: 'OK', content } },
  });
  return {
    [root]: { get: operation('list', false), post: operation('post', true) },
    [`${root}/{name}`]: {
      get: operation('get', false),
      put: operation('put', true),
      patch: operation('patch', true),
      delete: operation('delete', false),
    },
  };
}

function groupVersionKind({ group, version, kind }: ResourceDefinition): object {
  return { group, version, kind };
}

function schemaName({ group }: ResourceDefinition, { type }: ObjectSchema): string {
  if (type === 'ObjectMeta' || type === 'OwnerReference') return `io.k8s.apimachinery.pkg.apis.meta.v1.${type}`;
  const owner = group === '' ? 'core' : (group.split('.')[0] ?? group);
  return `io.k8s.api.${owner}.v1.${type}`;
}

function addSchema(schemas: Record<string, object>, definition: ResourceDefinition, schema: ObjectSchema): string {
  const name = schemaName(definition, schema);
  if (schemas[name] !== undefined) return name;
  // Before its fields: a type may hold itself.
  schemas[name] = {};
  const properties = Object.entries(schema.fields).map(([key, field]) => [key, property(schemas, definition, field)]);
  const required = requiredFields[schema.type];
  schemas[name] = {
    description: schema.type,
    type: 'object',
    ...(required && { required }),
    properties: Object.fromEntries(properties),
  };
  return name;
}

/** Clients that validate before they send look for these. */
const requiredFields: Readonly<Record<string, readonly string[]>> = {
  PodSpec: ['containers'],
  Container: ['name'],
  ContainerPort: ['containerPort'],
  EnvVar: ['name'],
  VolumeMount: ['name', 'mountPath'],
  Volume: ['name'],
  KeyToPath: ['key', 'path'],
  ConfigMapKeySelector: ['key'],
  SecretKeySelector: ['key'],
  ObjectFieldSelector: ['fieldPath'],
  ResourceFieldSelector: ['resource'],
  PodSchedulingGate: ['name'],
  OwnerReference: ['apiVersion', 'kind', 'name', 'uid'],
  Event: ['metadata'],
  PolicyRule: ['verbs'],
  RoleBinding: ['roleRef'],
  ClusterRoleBinding: ['roleRef'],
  RoleRef: ['apiGroup', 'kind', 'name'],
  Subject: ['kind', 'name'],
};

function property(schemas: Record<string, object>, definition: ResourceDefinition, schema: Schema): object {
  switch (schema.kind) {
    case 'object':
      return { allOf: [{ $ref: `#/components/schemas/${addSchema(schemas, definition, schema)}` }], default: {} };
    case 'list': {
      const { merge } = schema;
      return {
        type: 'array',
        items: property(schemas, definition, schema.items),
        ...(merge !== undefined && { 'x-kubernetes-patch-strategy': 'merge' }),
        ...(merge !== undefined && merge !== 'set' && { 'x-kubernetes-patch-merge-key': merge }),
      };
    }
    case 'map':
      return { type: 'object', additionalProperties: property(schemas, definition, schema.values) };
    case 'integer':
      return { type: 'integer', format: 'int64' };
    case 'boolean':
      return { type: 'boolean' };
    case 'bytes':
      return { type: 'string', format: 'byte' };
    case 'time':
      return { type: 'string', format: 'date-time' };
    case 'intOrString':
      return { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] };
    case 'quantity':
    case 'string':
      return { type: 'string' };
    case 'any':
      return { 'x-kubernetes-preserve-unknown-fields': true };
  }
}
