/** CREATE, UPDATE and PATCH of objects and of their status. */
import { copy, equal, isObject, type Json, type JsonObject } from '../json.ts';
import { timestamp } from '../times.ts';
import type { ApiObject, ObjectMeta, PodObject } from '../types.ts';
import { unregistered } from './body.ts';
import { type Call, keyOf } from './context.ts';
import { metadataErrors } from './names.ts';
import { isDryRun } from './options.ts';
import { patched } from './patch.ts';
import { admitPriority } from './pods/priority.ts';
import { unbuilt } from './pods/unbuilt.ts';
import { stored } from './read.ts';
import { apiVersionOf, definitions, type ResourceDefinition } from './resources.ts';
import { decode, Mismatch } from './schema.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  fieldError,
  forbidden,
  invalid,
  modifiedMeanwhile,
  notFound,
  noUniqueName,
  unclassified,
} from './status.ts';

/** How often a name is made from generateName before giving up. */
const generatedNames = 8;
const longestBase = 58;

/** Throws 400, 403, 404, 409, 422. */
export function createObject(call: Call, body: Json): ApiObject {
  const { context, definition } = call;
  const object = decodedBody(call, body);
  object.metadata = createMetadata(call, object.metadata);
  if (definition.kind === 'Pod') admitPriority(object as PodObject, context.store);
  definition.strategy.prepareCreate?.(object, context);
  if (definition.kind === 'Pod') refuseUnknownAccount(call, object as PodObject);
  const errors = definition.strategy.validateCreate?.(object, context) ?? metadataErrors(object.metadata);
  if (errors.length > 0) throw invalid(definition.kind, definition.group, object.metadata.name, errors);
  refuseClosedNamespace(call, object.metadata.name);
  if (definition.kind === 'Pod') {
    const refusal = unbuilt(object as PodObject) ?? context.refusePod(object as PodObject);
    if (refusal !== undefined) throw forbidden(definition, object.metadata.name, refusal);
  }
  const key = keyOf(definition, object.metadata.namespace, object.metadata.name);
  if (context.store.get(definition.storage, key) !== undefined) throw alreadyExists(definition, object.metadata.name);
  if (isDryRun(call.request.query)) return object;
  return context.store.put(definition.storage, key, toStored(call, object));
}

export function updateObject(call: Call, body: Json): ApiObject {
  const { name = '' } = call.info;
  const metadata = isObject(body) && isObject(body['metadata']) ? body['metadata'] : {};
  if (!metadata['name']) {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  const old = stored(call);
  return replace(call, old, decodedBody(call, body));
}

/** Throws 400, 404, 409, 415, 422, and 500 where the real server does. */
export function patchObject(call: Call, body: Json): ApiObject {
  const { definition, request } = call;
  const old = stored(call);
  const before = (definition.toServed?.(old) ?? old) as unknown as JsonObject;
  const { object, wrong } = patched(before, request.headers['content-type'] ?? '', body, definition.schema);
  try {
    return replace(call, old, decoded(call, object));
  } catch (error) {
    // What a patch makes of an object is checked as a value of the patch.
    if (!(error instanceof Mismatch)) throw error;
    throw invalid('', '', '', [wrong(error)]);
  }
}

/** Writes nothing when nothing changed. */
function replace(call: Call, old: ApiObject, wanted: ApiObject): ApiObject {
  const { context, definition, info } = call;
  const next = toStored(call, wanted);
  checkIdentity(call, next.metadata, old.metadata);
  next.metadata = keptMetadata(next.metadata, old.metadata);
  if (info.subresource === 'status') {
    const { ['status']: status } = next;
    Object.assign(next, { ...copy(old), status });
    definition.strategy.prepareStatus?.(next, old);
    const errors = definition.strategy.validateStatus?.(next, old) ?? [];
    if (errors.length > 0) throw invalid(definition.kind, definition.group, old.metadata.name, errors);
  } else {
    definition.strategy.prepareUpdate?.(next, old, context);
    const errors = definition.strategy.validateUpdate?.(next, old, context) ?? metadataErrors(next.metadata);
    if (errors.length > 0) throw invalid(definition.kind, definition.group, old.metadata.name, errors);
  }
  if (equal(next, old) || isDryRun(call.request.query)) return next;
  const key = keyOf(definition, old.metadata.namespace, old.metadata.name);
  const written = context.store.put(definition.storage, key, next);
  const { deletionTimestamp, finalizers = [] } = written.metadata;
  const lastWent = finalizers.length === 0 && (old.metadata.finalizers ?? []).length > 0;
  if (deletionTimestamp === undefined || !lastWent) return written;
  // What only waited for its finalizers goes now; a pod may still have containers, and goes when the kubelet says so.
  const grace = written.metadata.deletionGracePeriodSeconds ?? 0;
  return grace === 0 && definition.kind !== 'Namespace' ? context.store.remove(definition.storage, key) : written;
}

function decodedBody(call: Call, body: Json): ApiObject {
  try {
    return decoded(call, body);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    const { kind } = call.definition;
    throw badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${error.message}`);
  }
}

/** Throws Mismatch, too. */
function decoded(call: Call, body: Json): ApiObject {
  const { definition, info, request, warnings } = call;
  const { kind } = definition;
  const apiVersion = apiVersionOf(definition);
  if (!isObject(body)) throw badRequest(`couldn't get version/kind; json parse error: the body is no object`);
  refuseOtherKind(definition, String(body['kind'] ?? kind), String(body['apiVersion'] ?? apiVersion));
  const { object, unknown } = decode(definition.schema, { ...body, kind, apiVersion });
  if (unknown.length > 0) {
    const validation = request.query.get('fieldValidation') ?? 'Warn';
    const texts = unknown.map((path) => `unknown field "${path}"`);
    if (validation === 'Strict') {
      throw badRequest(
        `${kind} in version "${definition.version}" cannot be handled as a ${kind}: strict decoding error: ${texts.join(', ')}`,
      );
    }
    if (validation === 'Warn') warnings.push(...texts);
  }
  const result = object as unknown as ApiObject;
  result.metadata ??= {} as ObjectMeta;
  const { metadata } = result;
  if (definition.namespaced) {
    if (metadata.namespace !== undefined && info.namespace !== undefined && metadata.namespace !== info.namespace) {
      throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
    }
    if (info.namespace !== undefined) metadata.namespace = info.namespace;
  } else delete metadata.namespace;
  return result;
}

function refuseOtherKind({ kind, group, version }: ResourceDefinition, givenKind: string, givenVersion: string): void {
  if (givenKind === kind && givenVersion === apiVersionOf({ group, version })) return;
  const handled = `${givenKind} in version "${givenVersion}" cannot be handled as a ${kind}`;
  const other = definitions.some((one) => one.kind === givenKind && apiVersionOf(one) === givenVersion);
  if (!other) throw badRequest(`${handled}: ${unregistered(givenKind, givenVersion)}`);
  const internal = `${group === '' ? 'core' : group.split('.')[0]}.${kind}`;
  throw badRequest(`${handled}: converting (v1.${givenKind}) to (${internal}): unknown conversion`);
}

function createMetadata(call: Call, given: ObjectMeta): ObjectMeta {
  const { context } = call;
  const { name, generateName, labels, annotations, ownerReferences, finalizers, namespace } = given;
  const { resourceVersion } = given;
  if (resourceVersion) throw unclassified('resourceVersion should not be set on objects to be created');
  return {
    name: name ?? generatedName(call, generateName, namespace),
    ...(generateName !== undefined && { generateName }),
    ...(namespace !== undefined && { namespace }),
    uid: context.random.uuid(),
    resourceVersion: '',
    creationTimestamp: timestamp(context.clock.now()),
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...(finalizers !== undefined && { finalizers }),
  };
}

function generatedName({ context, definition }: Call, base: string | undefined, namespace: string | undefined): string {
  // An empty name is refused by validation, in the right words.
  if (base === undefined) return '';
  let name = '';
  for (let attempt = 0; attempt < generatedNames; attempt += 1) {
    name = `${base.slice(0, longestBase)}${context.random.suffix()}`;
    if (context.store.get(definition.storage, keyOf(definition, namespace, name)) === undefined) return name;
  }
  throw noUniqueName(definition, name);
}

/**
 * A real server also refuses pods while a fresh namespace has no account `default` yet; here that one counts as there.
 */
function refuseUnknownAccount({ context, definition, info }: Call, { metadata, spec }: PodObject): void {
  const account = String(spec['serviceAccountName'] ?? 'default');
  if (account === 'default' || info.namespace === undefined) return;
  if (context.store.get('serviceaccounts', `${info.namespace}/${account}`) !== undefined) return;
  const text = `error looking up service account ${info.namespace}/${account}: serviceaccount "${account}" not found`;
  throw forbidden(definition, metadata.name, text);
}

function refuseClosedNamespace({ context, definition, info }: Call, name: string): void {
  if (!definition.namespaced) return;
  const namespace = info.namespace ?? '';
  const found = context.store.get('namespaces', namespace);
  if (found === undefined) throw notFound({ group: '', resource: 'namespaces' }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const text = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbidden(definition, name, text, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}

function checkIdentity(call: Call, next: ObjectMeta, old: ObjectMeta): void {
  const { definition, context } = call;
  if (next.name !== undefined && next.name !== old.name) {
    const text = `the name of the object (${next.name}) does not match the name on the URL (${old.name})`;
    throw badRequest(text);
  }
  if (next.resourceVersion && next.resourceVersion !== old.resourceVersion) {
    throw conflict(definition, old.name, modifiedMeanwhile);
  }
  if (next.uid && next.uid !== old.uid) {
    const error = fieldError.invalid('metadata.uid', next.uid, 'field is immutable');
    throw invalid(
      definition.kind,
      definition.group,
      old.name,
      context.profile.doubledCauses ? [error, error] : [error],
    );
  }
}

/** What a writer may not set: identity, the server's own times and counters. */
function keptMetadata(next: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const { labels, annotations, ownerReferences, finalizers } = next;
  const { labels: _l, annotations: _a, ownerReferences: _o, finalizers: _f, ...own } = old;
  return {
    ...own,
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
    ...(ownerReferences !== undefined && { ownerReferences }),
    ...(finalizers !== undefined && { finalizers }),
  };
}

function toStored({ definition }: Call, object: ApiObject): ApiObject {
  return definition.toStored?.(object) ?? object;
}
