/** The query parameters of list, watch and delete, checked as the API server checks them. */
import { isObject, type JsonObject } from '../json.ts';
import type { Call } from './context.ts';
import { isTrue } from './request-info.ts';
import { fieldSelector, labelMatcher, type Matcher } from './selectors.ts';
import { badRequest, type FieldError, fieldError, invalid } from './status.ts';

export interface ListOptions {
  readonly matches: Matcher;
  readonly selects: boolean;
  readonly limit: number;
  readonly continue: string;
  /** As given; empty when not. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

/** Throws 400 and 422. */
export function listOptions(call: Call): ListOptions {
  const { query } = call.request;
  const resourceVersion = query.get('resourceVersion') ?? '';
  if (resourceVersion !== '') parseVersion(resourceVersion);
  const initial = query.get('sendInitialEvents');
  const options = {
    ...selectors(call),
    limit: integer(query, 'limit') ?? 0,
    continue: query.get('continue') ?? '',
    resourceVersion,
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    timeoutSeconds: integer(query, 'timeoutSeconds'),
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: initial === null ? undefined : isTrue(initial),
  };
  const errors = call.info.verb === 'watch' ? watchErrors(options, call) : listErrors(options);
  if (errors.length > 0) throw invalid('ListOptions', 'meta.k8s.io', '', errors);
  return options;
}

/** Throws 400. */
export function parseVersion(text: string): number {
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

function selectors({ request, definition, info }: Call): Pick<ListOptions, 'matches' | 'selects'> {
  const labels = request.query.get('labelSelector') ?? '';
  const fields = request.query.get('fieldSelector') ?? '';
  const byLabels = labelMatcher(labels);
  const byFields = fieldSelector(fields, definition.fields);
  if (info.name !== undefined && byFields.name !== undefined && byFields.name !== info.name) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
  return {
    matches: (object) =>
      byLabels(object) && byFields.matches(object) && (info.name === undefined || object.metadata.name === info.name),
    selects: labels !== '' || fields !== '',
  };
}

type Checked = Omit<ListOptions, 'matches' | 'selects'>;

const matchKinds = ['Exact', 'NotOlderThan'];

function listErrors(options: Checked): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceVersion, resourceVersionMatch: match } = options;
  if (options.sendInitialEvents !== undefined) {
    errors.push(fieldError.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (match === '') return errors;
  const field = 'resourceVersionMatch';
  if (options.continue !== '') {
    errors.push(fieldError.forbidden(field, 'resourceVersionMatch is forbidden when continue is provided'));
  }
  if (resourceVersion === '') {
    errors.push(fieldError.forbidden(field, 'resourceVersionMatch is forbidden unless resourceVersion is provided'));
  }
  if (!matchKinds.includes(match)) errors.push(fieldError.unsupported(field, match, [...matchKinds, '']));
  if (match === 'Exact' && resourceVersion === '0') {
    errors.push(fieldError.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
  }
  return errors;
}

function watchErrors({ sendInitialEvents, resourceVersionMatch: match }: Checked, { context }: Call): FieldError[] {
  if (sendInitialEvents === undefined) {
    if (match === '') return [];
    return [
      fieldError.forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    ];
  }
  if (!context.profile.watchList) {
    const text = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
    return [fieldError.forbidden('sendInitialEvents', text)];
  }
  if (match === 'NotOlderThan') return [];
  return [
    fieldError.forbidden(
      'resourceVersionMatch',
      'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ),
  ];
}

export function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly dryRun: boolean;
  readonly propagationPolicy: string | undefined;
}

/** From the body, or from the query when there is no body. */
export function deleteOptions(query: URLSearchParams, body: JsonObject | undefined): DeleteOptions {
  const grace = body?.['gracePeriodSeconds'] ?? integer(query, 'gracePeriodSeconds');
  const preconditions = isObject(body?.['preconditions']) ? body['preconditions'] : {};
  const policy = body?.['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  if (grace !== undefined && !Number.isInteger(grace)) {
    throw badRequest('json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64');
  }
  return {
    // A negative grace counts as the shortest there is.
    gracePeriodSeconds: typeof grace === 'number' ? (grace < 0 ? 1 : grace) : undefined,
    uid: text(preconditions['uid']),
    resourceVersion: text(preconditions['resourceVersion']),
    dryRun: isDryRun(query) || (Array.isArray(body?.['dryRun']) && body['dryRun'].includes('All')),
    propagationPolicy: text(policy),
  };
}

/** Throws 422 for anything but `All`. */
export function isDryRun(query: URLSearchParams): boolean {
  const values = query.getAll('dryRun').filter((value) => value !== '');
  if (values.some((value) => value !== 'All')) {
    throw invalid('CreateOptions', 'meta.k8s.io', '', [fieldError.unsupported('dryRun', values, ['All'])]);
  }
  return values.length > 0;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
