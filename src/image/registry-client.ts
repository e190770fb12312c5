/**
 * The part of the OCI distribution API that a push needs, over one repository of one registry.
 *
 * Answers challenges (basic, bearer) and repeats what failed for a reason that passes: too many requests, a gateway
 * that is down, a cut connection. Everything else is an error that says what the registry said and what to do.
 */
import type { Clock } from '../clock.ts';
import { sleep } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { Credentials } from './docker-config.ts';
import type { Blob } from './oci.ts';
import { authorize, parseChallenges } from './registry-auth.ts';
import { connectionFailed, refused } from './registry-error.ts';

export interface RegistryClientOptions {
  /** Host and port as in an image reference. */
  readonly registry: string;
  readonly repository: string;
  readonly credentials: Credentials | undefined;
  /** Speak HTTP without TLS. Loopback addresses are always spoken to that way. */
  readonly plainHttp?: boolean;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** How long to wait before each further try. A registry's own `Retry-After` goes before, up to a minute. */
  readonly retryDelaysMs?: readonly number[];
}

const defaultRetryDelaysMs = [1000, 3000, 9000];
const longestRetryAfterMs = 60_000;
const requestTimeoutMs = 60_000;
const transientStatuses = new Set([429, 500, 502, 503, 504]);

export class RegistryClient {
  readonly url: URL;
  readonly #options: RegistryClientOptions;
  /** The answer to the last challenge; good until the registry says otherwise. */
  #authorization: string | undefined;

  constructor(options: RegistryClientOptions) {
    this.#options = options;
    this.url = new URL(`${baseUrl(options)}/v2/${options.repository}/`);
  }

  async hasBlob(digest: string): Promise<boolean> {
    const response = await this.#send('HEAD', new URL(`blobs/${digest}`, this.url), {}, [200, 404]);
    return response.status === 200;
  }

  /** Uploads in one piece; where the registry does not take that, as a chunk that is then closed. */
  async putBlob(blob: Blob): Promise<void> {
    const session = await this.#startUpload();
    const whole = await this.#closeUpload(session, blob, blob.bytes, [201, ...refusalsOfWholeUpload]);
    if (whole.status === 201) return;
    const { length } = blob.bytes;
    const chunk = await this.#send(
      'PATCH',
      await this.#startUpload(),
      { body: blob.bytes, headers: { 'content-type': binary, 'content-range': `0-${length - 1}` } },
      [202],
    );
    await this.#closeUpload(this.#locationOf(chunk), blob, undefined, [201]);
  }

  /** Stores a manifest or an index under a tag or a digest. The registry must have come to the same digest. */
  async putManifest(reference: string, { bytes, descriptor }: Blob): Promise<void> {
    const response = await this.#send(
      'PUT',
      new URL(`manifests/${reference}`, this.url),
      { body: bytes, headers: { 'content-type': descriptor.mediaType } },
      [201],
    );
    const digest = response.headers.get('docker-content-digest');
    if (digest !== null && digest !== descriptor.digest) {
      throw new PodwrightError('ERR_PODWRIGHT_PLACEHOLDER', `${this.url.host} stored other bytes than were sent`, {
        details: { registry: this.url.host, sent: descriptor.digest, stored: digest },
        remedy: 'Something between here and the registry changes what passes; use another way to it.',
      });
    }
  }

  async #startUpload(): Promise<URL> {
    return this.#locationOf(await this.#send('POST', new URL('blobs/uploads/', this.url), {}, [202]));
  }

  #closeUpload(session: URL, blob: Blob, body: Buffer | undefined, expected: readonly number[]): Promise<Response> {
    // Appended as text: the query of a session is the registry's own, and may be signed.
    const glue = session.search === '' ? '?' : '&';
    const url = new URL(`${session.href}${glue}digest=${encodeURIComponent(blob.descriptor.digest)}`);
    return this.#send('PUT', url, body === undefined ? {} : { body, headers: { 'content-type': binary } }, expected);
  }

  #locationOf(response: Response): URL {
    const location = response.headers.get('location');
    const url = location === null ? null : URL.parse(location, response.url);
    if (url === null || (this.url.protocol === 'https:' && url.protocol !== 'https:')) {
      throw new PodwrightError(
        'ERR_PODWRIGHT_PLACEHOLDER',
        `${this.url.host} answered an upload with ${location === null ? 'no location' : `the location ${location}`}`,
        {
          details: { registry: this.url.host, location },
          remedy: 'A registry behind a proxy must know its outside address, with https.',
        },
      );
    }
    return url;
  }

  /** The response when its status is one of the expected. Repeats, and authorizes, as often as it makes sense. */
  async #send(method: string, url: URL, init: Outgoing, expected: readonly number[]): Promise<Response> {
    const { clock, signal, retryDelaysMs = defaultRetryDelaysMs } = this.#options;
    for (let tries = 0; ; tries++) {
      const delayMs = retryDelaysMs[tries];
      let response: Response;
      try {
        response = await this.#sendAuthorized(method, url, init);
      } catch (error) {
        const isFinal = error instanceof PodwrightError || signal?.aborted || delayMs === undefined;
        if (isFinal || !isTransient(error)) throw connectionFailed(this.url, error, signal);
        await sleep(clock, delayMs, signal);
        continue;
      }
      if (expected.includes(response.status)) {
        await discard(response);
        return response;
      }
      if (delayMs === undefined || !transientStatuses.has(response.status)) {
        throw await refused(this.url, method, response, this.#options.credentials !== undefined);
      }
      await discard(response);
      await sleep(clock, retryAfterMs(response) ?? delayMs, signal);
    }
  }

  async #sendAuthorized(method: string, url: URL, init: Outgoing): Promise<Response> {
    const response = await this.#fetch(url, this.#withAuthorization(method, url, init));
    const challenge = response.headers.get('www-authenticate');
    if (response.status !== 401 || challenge === null || url.origin !== this.url.origin) return response;
    const authorization = await authorize({
      challenges: parseChallenges(challenge),
      registry: this.url,
      scope: `repository:${this.#options.repository}:pull,push`,
      credentials: this.#options.credentials,
      fetch: (realm, request) => this.#fetch(realm, request),
    });
    if (authorization === undefined) return response;
    await discard(response);
    this.#authorization = authorization;
    return this.#fetch(url, this.#withAuthorization(method, url, init));
  }

  /** Only the registry itself gets the authorization, not the store to which it may send an upload. */
  #withAuthorization(method: string, url: URL, { body, headers }: Outgoing): RequestInit {
    const isOurs = this.#authorization !== undefined && url.origin === this.url.origin;
    return {
      method,
      headers: { ...headers, ...(isOurs ? { authorization: this.#authorization } : {}) },
      ...(body === undefined ? {} : { body: new Uint8Array(body) }),
    };
  }

  async #fetch(url: URL, init: RequestInit): Promise<Response> {
    const { clock, signal } = this.#options;
    const timeout = new AbortController();
    const timer = clock.schedule(requestTimeoutMs, () => {
      timeout.abort(new DOMException(`no answer within ${requestTimeoutMs / 1000} s`, 'TimeoutError'));
    });
    try {
      const signals = signal === undefined ? [timeout.signal] : [timeout.signal, signal];
      return await fetch(url, { ...init, signal: AbortSignal.any(signals) });
    } finally {
      timer.cancel();
    }
  }
}

interface Outgoing {
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

const binary = 'application/octet-stream';
/** How registries that want chunks answer a whole blob. */
const refusalsOfWholeUpload = [400, 404, 405, 411, 415, 416];

/** The default registry serves the API under another name than its references have. */
const apiHosts: Readonly<Record<string, string>> = { 'docker.io': 'registry-1.docker.io' };

function baseUrl({ registry, plainHttp = false }: RegistryClientOptions): string {
  const host = apiHosts[registry] ?? registry;
  return `${plainHttp || isLoopback(host) ? 'http' : 'https'}://${host}`;
}

function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/.test(host);
}

const transientErrors = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_SOCKET']);

/** fetch wraps what happened on the connection. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'TimeoutError') return true;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && transientErrors.has(String(cause.code));
}

/** Nobody reads the body: what counts is in the headers. It may be broken off already. */
async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined);
}

function retryAfterMs(response: Response): number | undefined {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, longestRetryAfterMs) : undefined;
}
