/**
 * What went wrong with a registry, in words that lead to what can be done about it.
 */
import { PodwrightError } from '../errors.ts';

/** An answer that does not let the push go on. Reads the body. */
export async function refused(
  registry: URL,
  method: string,
  response: Response,
  hadCredentials: boolean,
): Promise<PodwrightError> {
  const { status } = response;
  // Cut off or not: the status says enough.
  const text = await response.text().catch(() => '');
  const errors = errorsIn(text);
  const said = errors.map(({ code, message }) => [code, message].filter(Boolean).join(': ')).join('; ');
  const path = new URL(response.url).pathname;
  return new PodwrightError(
    'ERR_PODWRIGHT_PLACEHOLDER',
    `${registry.host} refused the push: ${method} ${path} was answered with ${status}${said === '' ? '' : ` (${said})`}`,
    {
      details: { registry: registry.host, method, path, status, codes: errors.map(({ code }) => code) },
      remedy: remedyFor(status, registry.host, hadCredentials),
    },
  );
}

/** No answer at all. An error of ours and an abort by the caller stay what they are. */
export function connectionFailed(registry: URL, error: unknown, signal: AbortSignal | undefined): unknown {
  if (error instanceof PodwrightError || signal?.aborted) return error;
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new PodwrightError(
    'ERR_PODWRIGHT_PLACEHOLDER',
    `no connection to ${registry.origin}: ${message === '' ? code : message}`,
    {
      cause: error,
      details: { registry: registry.host, code },
      remedy:
        connectionRemedies.find(([pattern]) => pattern.test(code ?? ''))?.[1] ?? 'Check the address and the way to it.',
    },
  );
}

const connectionRemedies: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, 'Check the host name in the reference.'],
  [/^ECONNREFUSED$/, 'Check host and port in the reference, and that the registry is up.'],
  [
    /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/,
    'The registry does not speak TLS: use --plain-http if that is meant.',
  ],
  [/CERT|SIGNATURE|SELF_SIGNED/, "Name the file with the registry's authority in NODE_EXTRA_CA_CERTS."],
];

function remedyFor(status: number, host: string, hadCredentials: boolean): string {
  switch (status) {
    case 401:
      return hadCredentials
        ? `Its credentials are refused: docker login ${host}`
        : `Log in first: docker login ${host}`;
    case 403:
      return hadCredentials ? 'Ask for the right to push to this repository.' : `Log in first: docker login ${host}`;
    case 404:
      return 'Check the repository; some registries want it created before the first push.';
    case 405:
    case 501:
      return 'The registry takes no pushes; it may be a mirror.';
    case 429:
      return 'Try again later.';
    default:
      return status >= 500 ? 'Try again; if it stays, look at the log of the registry.' : 'See what the registry says.';
  }
}

interface RegistryErrorEntry {
  readonly code: string;
  readonly message: string;
}

/** The errors of the distribution API; an answer of something else on the way is quoted. */
function errorsIn(text: string): readonly RegistryErrorEntry[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    const plain = text
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim()
      .slice(0, 200);
    return plain === '' ? [] : [{ code: '', message: plain }];
  }
  const errors: unknown = typeof body === 'object' && body !== null && 'errors' in body ? body.errors : undefined;
  if (!Array.isArray(errors)) return [];
  return errors
    .filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
    .map(({ code, message }) => ({ code: textOf(code), message: textOf(message) }));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
