/**
 * How a registry wants a request to be authorized: its challenge, and the header that answers it.
 *
 * Sends a password only where the registry's own TLS connection told to, and never in plain text for a registry that
 * is spoken to over TLS.
 */
import { PodwrightError } from '../errors.ts';
import type { Credentials } from './docker-config.ts';

export interface Challenge {
  /** In lower case: `bearer`, `basic`. */
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Reads `WWW-Authenticate`, which may hold several challenges. What is not understood is left out. */
export function parseChallenges(header: string): readonly Challenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  const pattern = /\s*,?\s*(?:([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))|([A-Za-z][\w-]*)(?=\s|,|$))/y;
  for (let match = pattern.exec(header); match !== null; match = pattern.exec(header)) {
    const [, name, quoted, plain, scheme] = match;
    if (scheme !== undefined) challenges.push({ scheme: scheme.toLowerCase(), parameters: {} });
    else if (name !== undefined) {
      const last = challenges.at(-1);
      if (last !== undefined) last.parameters[name.toLowerCase()] = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '';
    }
  }
  return challenges;
}

export interface AuthorizeOptions {
  readonly challenges: readonly Challenge[];
  /** The registry that challenged. */
  readonly registry: URL;
  /** What shall be allowed, such as `repository:podwright/placeholder:pull,push`. */
  readonly scope: string;
  readonly credentials: Credentials | undefined;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
}

/**
 * The `Authorization` header for the challenges; undefined when they cannot be answered with these credentials.
 * Throws `ERR_PODWRIGHT_PLACEHOLDER` when the token service is not to be trusted or gives no token.
 */
export async function authorize(options: AuthorizeOptions): Promise<string | undefined> {
  const { challenges, credentials } = options;
  if (credentials?.kind === 'registryToken') return `Bearer ${credentials.token}`;
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
  if (bearer !== undefined) return `Bearer ${await fetchToken(bearer, options)}`;
  const isBasic = challenges.some(({ scheme }) => scheme === 'basic');
  return isBasic && credentials?.kind === 'password' ? basic(credentials) : undefined;
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

async function fetchToken(challenge: Challenge, options: AuthorizeOptions): Promise<string> {
  const realm = realmOf(challenge, options.registry);
  const service = challenge.parameters['service'];
  const asked = new URLSearchParams({ ...(service === undefined ? {} : { service }), scope: options.scope });
  const response = await options.fetch(...tokenRequest(realm, asked, options.credentials));
  const text = await response.text();
  if (!response.ok) {
    const isRefusal = response.status === 400 || response.status === 401 || response.status === 403;
    throw noToken(realm, `HTTP ${response.status} ${text.slice(0, 200)}`.trim(), {
      status: response.status,
      ...(isRefusal ? { remedy: 'Check the credentials; log in again.' } : {}),
    });
  }
  const token = tokenIn(text);
  if (token === undefined) throw noToken(realm, 'its answer holds no token', { status: response.status });
  return token;
}

/** A token for a password, or for nobody, is asked for by GET; one for a refresh token by POST, as OAuth 2 has it. */
function tokenRequest(realm: URL, asked: URLSearchParams, credentials: Credentials | undefined): [URL, RequestInit] {
  if (credentials?.kind === 'identityToken') {
    const form = new URLSearchParams(asked);
    form.set('grant_type', 'refresh_token');
    form.set('refresh_token', credentials.token);
    form.set('client_id', 'podwright');
    return [realm, { method: 'POST', body: form }];
  }
  const url = new URL(realm);
  for (const [name, value] of asked) url.searchParams.append(name, value);
  return [url, credentials?.kind === 'password' ? { headers: { authorization: basic(credentials) } } : {}];
}

function realmOf(challenge: Challenge, registry: URL): URL {
  const text = challenge.parameters['realm'] ?? '';
  const realm = URL.parse(text);
  if (realm === null || !/^https?:$/.test(realm.protocol)) {
    throw new PodwrightError('ERR_PODWRIGHT_PLACEHOLDER', `${registry.host} names no token service: realm="${text}"`, {
      details: { registry: registry.host, realm: text },
    });
  }
  if (registry.protocol === 'https:' && realm.protocol !== 'https:') {
    throw new PodwrightError(
      'ERR_PODWRIGHT_PLACEHOLDER',
      `${registry.host} sends its users to ${realm.origin} for a token, where credentials would travel in plain text`,
      {
        details: { registry: registry.host, realm: text },
        remedy: "Correct the realm in the registry's configuration.",
      },
    );
  }
  return realm;
}

function tokenIn(text: string): string | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined; // The caller says so.
  }
  if (typeof answer !== 'object' || answer === null) return undefined;
  const { token, access_token: accessToken } = answer as { token?: unknown; access_token?: unknown };
  return [token, accessToken].find((one): one is string => typeof one === 'string' && one !== '');
}

function noToken(realm: URL, what: string, { status, remedy }: { status: number; remedy?: string }): PodwrightError {
  const service = `${realm.origin}${realm.pathname}`;
  return new PodwrightError('ERR_PODWRIGHT_PLACEHOLDER', `the token service ${service} gave no token: ${what}`, {
    details: { service, status },
    ...(remedy === undefined ? {} : { remedy }),
  });
}
