/** The query parameters of list, watch and delete, checked as the API server checks them. */
import { isObject, type JsonObject } from '../json.ts';
import type { Call } from './context.ts';
import { goKind } from './go-json.ts';
import { isTrue } from './request-info.ts';
import { fieldSelector, labelMatcher, type Matcher } from './selectors.ts';
import { badRequest, type FieldError, fieldError, invalid, unclassified } from './status.ts';

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
  if (resourceVersion !== '') {
    const problem = versionProblem(resourceVersion);
    if (problem !== undefined) {
      // Only the storage of lists says what kind of error it is.
      throw call.info.verb === 'watch' ? unclassified(problem) : badRequest(`invalid resource version: ${problem}`);
    }
  }
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

/** What is wrong with a resourceVersion; undefined when it is a number. */
export function versionProblem(text: string): string | undefined {
  if (/^\d+$/.test(text)) return undefined;
  const shown = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`;
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

function watchErrors(options: Checked, { context }: Call): FieldError[] {
  const { sendInitialEvents, resourceVersionMatch: match } = options;
  if (options.continue !== '') {
    return [
      fieldError.forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
    ];
  }
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

const propagationPolicies = ['Foreground', 'Background', 'Orphan'];

/** From the body, or from the query when there is no body. Throws 400 and 422. */
export function deleteOptions(query: URLSearchParams, body: JsonObject | undefined): DeleteOptions {
  const grace = body?.['gracePeriodSeconds'] ?? integer(query, 'gracePeriodSeconds');
  const preconditions = isObject(body?.['preconditions']) ? body['preconditions'] : {};
  const policy = body?.['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  if (grace !== undefined && grace !== null && !Number.isInteger(grace)) {
    const text = `json: cannot unmarshal ${goKind(grace)} into Go struct field DeleteOptions.gracePeriodSeconds of type int64`;
    throw badRequest(text);
  }
  const dryRun = body === undefined ? query.getAll('dryRun') : (body['dryRun'] ?? []);
  const errors = Array.isArray(dryRun) ? dryRunErrors(dryRun) : [];
  if (policy !== undefined && policy !== null && !propagationPolicies.includes(String(policy))) {
    errors.push(fieldError.unsupported('propagationPolicy', policy, [...propagationPolicies, 'nil']));
  }
  if (errors.length > 0) throw invalid('DeleteOptions', 'meta.k8s.io', '', errors);
  return {
    // A negative grace counts as the shortest there is.
    gracePeriodSeconds: typeof grace === 'number' ? (grace < 0 ? 1 : grace) : undefined,
    uid: text(preconditions['uid']),
    resourceVersion: text(preconditions['resourceVersion']),
    dryRun: Array.isArray(dryRun) && dryRun.includes('All'),
    propagationPolicy: text(policy),
  };
}

export function isDryRun(query: URLSearchParams): boolean {
  return query.getAll('dryRun').includes('All');
}

const writeOptions: Readonly<Record<string, string>> = {
  create: 'CreateOptions',
  update: 'UpdateOptions',
  patch: 'PatchOptions',
};

/** The options of writes other than deletes, before anything else of them is looked at. Throws 422. */
export function checkWriteOptions({ info, request: { query } }: Pick<Call, 'info' | 'request'>): void {
  const kind = writeOptions[info.verb];
  if (kind === undefined) return;
  const errors = dryRunErrors(query.getAll('dryRun'));
  const validation = query.get('fieldValidation') ?? '';
  if (!fieldValidations.includes(validation)) {
    errors.push(fieldError.unsupported('fieldValidation', validation, fieldValidations));
  }
  if (errors.length > 0) throw invalid(kind, 'meta.k8s.io', '', errors);
}

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn'];

function dryRunErrors(given: readonly unknown[]): FieldError[] {
  const values = given.filter((value) => value !== '') as string[];
  return values.every((value) => value === 'All') ? [] : [fieldError.unsupported('dryRun', values, ['All'])];
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
