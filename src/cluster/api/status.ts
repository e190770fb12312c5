/**
 * The Status bodies with which the API server refuses, and the error that carries one to the edge.
 *
 * Texts and reasons are those of Kubernetes (apimachinery `api/errors`, `util/validation/field`).
 */
import type { Json } from '../json.ts';

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** An answer that is not a success. Thrown by handlers, written by the server's edge. */
export class StatusError extends Error {
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: Status, headers: Readonly<Record<string, string>> = {}) {
    super(status.message ?? '');
    this.name = 'StatusError';
    this.status = status;
    const retryAfter = status.details?.retryAfterSeconds;
    this.headers = retryAfter === undefined ? headers : { 'retry-after': String(retryAfter), ...headers };
  }
}

export function failure(
  code: number,
  reason: string | undefined,
  message: string,
  details?: StatusDetails,
): StatusError {
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason !== undefined && { reason }),
    ...(details !== undefined && { details }),
    code,
  });
}

/** What is asked for: the resource in lower case and its group, empty for core. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** `pods`, or `roles.rbac.authorization.k8s.io` */
function qualified({ group, resource }: ResourceName): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function named({ group, resource }: ResourceName, name: string): StatusDetails {
  return { ...(name !== '' && { name }), ...(group !== '' && { group }), kind: resource };
}

export const badRequest = (message: string): StatusError => failure(400, 'BadRequest', message);

export const unauthorized = (): StatusError => failure(401, 'Unauthorized', 'Unauthorized');

export const notFound = (resource: ResourceName, name: string): StatusError =>
  failure(404, 'NotFound', `${qualified(resource)} "${name}" not found`, named(resource, name));

export const noSuchPath = (): StatusError =>
  failure(404, 'NotFound', 'the server could not find the requested resource', {});

export const alreadyExists = (resource: ResourceName, name: string): StatusError =>
  failure(409, 'AlreadyExists', `${qualified(resource)} "${name}" already exists`, named(resource, name));

export const noUniqueName = (resource: ResourceName, name: string): StatusError =>
  failure(
    409,
    'AlreadyExists',
    `${qualified(resource)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    { ...named(resource, name), retryAfterSeconds: 1 },
  );

export const conflict = (resource: ResourceName, name: string, why: string): StatusError =>
  failure(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`,
    named(resource, name),
  );

/** What is no Status in the real server either: it becomes a 500 without a reason. */
export const unclassified = (message: string): StatusError => failure(500, undefined, message);

export const modifiedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

export const forbidden = (
  resource: ResourceName,
  name: string,
  why: string,
  causes?: readonly StatusCause[],
): StatusError =>
  failure(
    403,
    'Forbidden',
    name === ''
      ? `${qualified(resource)} is forbidden: ${why}`
      : `${qualified(resource)} "${name}" is forbidden: ${why}`,
    {
      ...(name !== '' && { name }),
      ...(resource.group !== '' && { group: resource.group }),
      kind: resource.resource,
      ...(causes !== undefined && { causes }),
    },
  );

export const expired = (message: string): StatusError => failure(410, 'Expired', message);

export const methodNotAllowed = (): StatusError =>
  failure(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});

/** Names what the real server can give, of which JSON is given here. */
export const notAcceptable = (watches: boolean): StatusError => {
  const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
  const streams = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
  const available = watches ? [...types, ...streams] : types;
  const text = `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`;
  return failure(406, 'NotAcceptable', text, {});
};

/** An answer of Go's web server: plain text. */
export const pageNotFound = '404 page not found\n';

export const tooLarge = (limit: number): StatusError =>
  failure(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${limit}`);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  failure(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );

export const internalError = (message: string): StatusError =>
  failure(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });

export const futureVersion = (wanted: number, current: number): StatusError =>
  failure(504, 'Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    retryAfterSeconds: 1,
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
  });

/** One thing that is wrong with one field. */
export interface FieldError {
  readonly reason: string;
  readonly field: string;
  /** Without the field. */
  readonly message: string;
}

const shown = (value: Json | undefined): string =>
  typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value ?? null);

export const fieldError = {
  required: (field: string, detail = ''): FieldError => ({
    reason: 'FieldValueRequired',
    field,
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  }),
  invalid: (field: string, value: Json | undefined, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    message: `Invalid value: ${shown(value)}: ${detail}`,
  }),
  forbidden: (field: string, detail: string): FieldError => ({
    reason: 'FieldValueForbidden',
    field,
    message: `Forbidden: ${detail}`,
  }),
  unsupported: (field: string, value: Json | undefined, supported: readonly string[]): FieldError => ({
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((one) => `"${one}"`).join(', ')}`,
  }),
  duplicate: (field: string, value: Json): FieldError => ({
    reason: 'FieldValueDuplicate',
    field,
    message: `Duplicate value: ${shown(value)}`,
  }),
  notFound: (field: string, value: Json): FieldError => ({
    reason: 'FieldValueNotFound',
    field,
    message: `Not found: ${shown(value)}`,
  }),
} as const;

/** `Pod "x" is invalid: …`: equal messages are said once, but listed as often as they were found. */
export function invalid(kind: string, group: string, name: string, errors: readonly FieldError[]): StatusError {
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  const text = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return failure(422, 'Invalid', `${kind}${group === '' ? '' : `.${group}`} "${name}" is invalid: ${text}`, {
    ...(name !== '' && { name }),
    ...(group !== '' && { group }),
    ...(kind !== '' && { kind }),
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}
