/**
 * Who may ask: keeps web pages of other sites, rebound DNS names and strangers on the network away from the events.
 *
 * 1. A request names in `Host` an address of this machine's loopback, an IP address, or a name that was allowed: a
 *    name that a foreign site made point here is refused.
 * 2. A request with an `Origin`, or one that a browser marks as cross-site, must come from this server's own pages.
 * 3. Where there is a token, it must be given: as `Authorization: Bearer`, or as the cookie that the page gets when it
 *    is opened once with `?token=`.
 *
 * There is no CORS header at all: no other origin ever reads an answer.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

export interface GuardOptions {
  /** The address that the server listens on. */
  readonly host: string;
  readonly token?: string;
  readonly allowedHosts?: readonly string[];
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

export const tokenCookie = 'podwright-token';

/** Why the request is refused; null when it may pass. */
export function refusalOf(request: IncomingMessage, options: GuardOptions): Refusal | null {
  const host = request.headers.host;
  if (host === undefined || !isHostAllowed(host, options)) {
    return { status: 403, message: `the Host ${host ?? '(none)'} is not one this server answers to` };
  }
  const { origin } = request.headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    return { status: 403, message: `pages of ${origin} may not read from this server` };
  }
  const site = request.headers['sec-fetch-site'];
  if (site === 'cross-site' || (site === 'same-site' && request.headers['sec-fetch-mode'] !== 'navigate')) {
    return { status: 403, message: 'pages of other sites may not read from this server' };
  }
  if (options.token === undefined || tokensOf(request).some((given) => isSame(given, options.token ?? ''))) return null;
  return { status: 401, message: 'this server wants its token: Authorization: Bearer TOKEN' };
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Compares in a time that does not depend on where the texts differ. */
export function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function isHostAllowed(header: string, { host, allowedHosts = [] }: GuardOptions): boolean {
  const name = header
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  if (isLoopback(name) || allowedHosts.includes(name)) return true;
  // Off the loopback a token is obligatory, and no foreign site can bind a name to an address literal.
  return !isLoopback(host) && (isIP(name) !== 0 || name === host.toLowerCase());
}

function tokensOf(request: IncomingMessage): readonly string[] {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const cookie = (request.headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(`${tokenCookie}=`));
  const fromCookie = cookie === undefined ? undefined : decodeURIComponentSafely(cookie.slice(tokenCookie.length + 1));
  return [bearer, fromCookie].filter((token) => token !== undefined);
}

function decodeURIComponentSafely(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
