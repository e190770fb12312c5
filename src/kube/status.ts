/**
 * Failures of the API server and of the way to it, as errors that say what was asked, what the server said, and what
 * to do about it.
 */
import { type ErrorCode, PodwrightError } from '../errors.ts';
import { describePath, type KubeStatus, type ResourcePath } from './resource.ts';

/** One request, for messages. */
export interface RequestFacts {
  readonly method: string;
  readonly url: string;
  readonly path: ResourcePath | null;
  /** Who asked: context and kubeconfig, for the remedy. */
  readonly credentials: string;
}

export interface FailedResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** Long bodies are a load balancer's HTML page, not something to print whole. */
const longestQuotedBody = 500;

/** RBAC's own wording, the only 403 that a Role can cure (kubernetes.md §6.4). */
const rbacRefusal =
  /User "(?<user>[^"]*)" cannot (?<verb>\S+) resource "(?<resource>[^"]*)" in API group "(?<group>[^"]*)"/;

/** Somebody else wrote between the server's reading and its writing, as often as it tried. */
const passingConflict = /the object has been modified/;

/** Refusals that pass by themselves: the namespace is so new that its service account is still to come. */
const passingRefusal = /error looking up service account/;

/** The error for a response that is not a success. */
export function responseError(request: RequestFacts, response: FailedResponse): PodwrightError {
  const status = parseStatus(response.body);
  const said = status?.message ?? quoteBody(response.body);
  const details = {
    status: response.status,
    reason: status?.reason ?? null,
    message: said,
    causes: status?.details?.causes ?? [],
    retryAfterMs: retryAfterMs(response, status),
    method: request.method,
    url: request.url,
    ...missingRight(response.status, said),
    ...(status?.metadata?.continue === undefined ? {} : { continue: status.metadata.continue }),
  };
  const what = request.path === null ? request.url : describePath(request.path);
  const answer = said === '' ? `HTTP ${response.status}` : `HTTP ${response.status}: ${said}`;
  const remedy = remedyFor(request, response.status, details);
  return new PodwrightError(codeFor(request, response.status), `${request.method} ${what}: ${answer}`, {
    details,
    ...(remedy === undefined ? {} : { remedy }),
  });
}

/** The error for a request that got no answer, or only a part of one. */
export function networkError(request: RequestFacts, cause: unknown, host: string): PodwrightError {
  const why = networkReason(cause);
  const tried = triedAddresses(cause, host);
  const where = ` (tried ${tried.join(', ')})`;
  const remedy = isCertificateFailure(errorCode(cause))
    ? `Check the certificate-authority and the tls-server-name of ${request.credentials}, and the clocks.`
    : `Check that the API server runs and that the server address of ${request.credentials} is right.`;
  return new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', `${new URL(request.url).origin}: ${why}${where}`, {
    cause,
    remedy,
    details: {
      method: request.method,
      url: request.url,
      errno: errorCode(cause),
      tried,
      nothingSent: isConnectFailure(cause),
    },
  });
}

/** The HTTP status of an API failure, or undefined for anything else. */
export function statusOf(error: unknown): number | undefined {
  return numberDetail(error, 'status');
}

/** Milliseconds for which the server asked to be left alone, or undefined. */
export function retryAfterOf(error: unknown): number | undefined {
  return numberDetail(error, 'retryAfterMs');
}

/**
 * Whether the same request may succeed a little later: no connection, 429, a conflict of the moment, and every 5xx,
 * since a change of etcd's leader comes as a plain 500.
 */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof PodwrightError)) return false;
  if (error.code === 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE') return !isCertificateFailure(error.details['errno']);
  const status = statusOf(error);
  if (status === undefined) return false;
  if (status === 403) return passingRefusal.test(error.message);
  if (status === 409) return passingConflict.test(error.message);
  return status === 429 || status >= 500;
}

/** A wrong certificate stays wrong. */
function isCertificateFailure(code: unknown): boolean {
  return typeof code === 'string' && /CERT|SSL|TLS|ISSUER|VERIFY/.test(code);
}

/** Whether the request certainly never reached the server, so that even a create can be sent again. */
export function isNeverSent(error: unknown): boolean {
  return error instanceof PodwrightError && error.details['nothingSent'] === true;
}

/** Reads a Status body; undefined when it is something else, such as priority and fairness's plain text. */
export function parseStatus(body: string): KubeStatus | undefined {
  if (!body.trimStart().startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(body);
    return isStatus(parsed) ? parsed : undefined;
  } catch {
    // A body cut in the middle, or not JSON: its text is quoted instead.
    return undefined;
  }
}

/** Whether `value` has the shape of a Status, wherever it came from. */
export function isStatus(value: unknown): value is KubeStatus {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}

function codeFor(request: RequestFacts, status: number): ErrorCode {
  if (status === 401) return 'ERR_PODWRIGHT_UNAUTHORIZED';
  if (status === 403) return 'ERR_PODWRIGHT_FORBIDDEN';
  if (status === 404) return 'ERR_PODWRIGHT_NOT_FOUND';
  if (status === 409) return 'ERR_PODWRIGHT_CONFLICT';
  const isPod = request.path?.resource === 'pods' && request.path.subresource === undefined;
  return status === 422 && isPod ? 'ERR_PODWRIGHT_POD_INVALID' : 'ERR_PODWRIGHT_API';
}

function missingRight(status: number, message: string): Record<string, unknown> {
  const refusal = status === 403 ? rbacRefusal.exec(message)?.groups : undefined;
  if (refusal === undefined) return {};
  const { user, verb, resource, group } = refusal;
  return { user, missingRight: { verb, resource, group } };
}

function remedyFor(
  request: RequestFacts,
  status: number,
  details: Readonly<Record<string, unknown>>,
): string | undefined {
  if (status === 401) return `The credentials of ${request.credentials} were refused: renew the token or certificate.`;
  const right = details['missingRight'];
  if (typeof right === 'object' && right !== null && 'verb' in right && 'resource' in right) {
    const namespace = request.path?.namespace ?? 'the cluster';
    return `Bind a Role with the right to ${right.verb} ${right.resource} in ${namespace} to user "${details['user']}".`;
  }
  const namespace = status === 404 ? /^namespaces "(.+)" not found$/.exec(String(details['message']))?.[1] : undefined;
  if (namespace !== undefined) return `Create the namespace "${namespace}", or name one that exists.`;
  return undefined;
}

function retryAfterMs(response: FailedResponse, status: KubeStatus | undefined): number | undefined {
  const header = Number.parseInt(response.retryAfter ?? '', 10);
  const seconds = Number.isNaN(header) ? status?.details?.retryAfterSeconds : header;
  return seconds === undefined ? undefined : Math.max(0, seconds) * 1000;
}

function quoteBody(body: string): string {
  const text = body.trim();
  return text.length > longestQuotedBody ? `${text.slice(0, longestQuotedBody)}…` : text;
}

/** Node and undici words for why there was no answer, made readable. */
const networkWords: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name could not be resolved now',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'connection closed while sending',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  UND_ERR_BODY_TIMEOUT: 'the answer stopped in the middle',
  UND_ERR_SOCKET: 'connection closed by the other side',
};

/** Those of them that happen before a byte of the request is sent. */
const connectFailures: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function networkReason(cause: unknown): string {
  const code = errorCode(cause);
  const words = code === null ? undefined : networkWords[code];
  if (words !== undefined) return words;
  const message = cause instanceof Error ? cause.message : String(cause);
  return code === null || message.includes(code) ? message : `${message} (${code})`;
}

function isConnectFailure(cause: unknown): boolean {
  const code = errorCode(cause);
  return code !== null && connectFailures.has(code);
}

/** The addresses behind the host name that were tried, or the host itself when Node does not tell. */
function triedAddresses(cause: unknown, host: string): readonly string[] {
  const attempts: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  const addresses = attempts.flatMap((attempt) => {
    if (typeof attempt !== 'object' || attempt === null || !('address' in attempt)) return [];
    const address = String(attempt.address);
    const shown = address.includes(':') ? `[${address}]` : address;
    return ['port' in attempt ? `${shown}:${attempt.port}` : shown];
  });
  return addresses.length === 0 ? [host] : addresses;
}

/** Node wraps the attempts on several addresses in an AggregateError that carries the first one's code. */
function errorCode(cause: unknown): string | null {
  if (typeof cause !== 'object' || cause === null) return null;
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return 'cause' in cause ? errorCode(cause.cause) : null;
}

function numberDetail(error: unknown, name: string): number | undefined {
  const value = error instanceof PodwrightError ? error.details[name] : undefined;
  return typeof value === 'number' ? value : undefined;
}
