/** A small registry that keeps what is pushed in memory, checks it as registries do, and misbehaves as told. */
import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Buffer;
}

export interface Behaviour {
  /** `user:password` that must be given, and how it is asked for. */
  readonly auth?: { readonly kind: 'basic' | 'bearer'; readonly login?: string; readonly identityToken?: string };
  /** Blobs only by POST, PATCH, PUT. */
  readonly chunksOnly?: boolean;
  /** Answers in place of the registry's own; undefined lets the request pass. */
  readonly intercept?: (seen: Seen, count: number) => Answer | 'cut' | undefined;
  /** The location of an upload, in place of a relative path. */
  readonly location?: (path: string, origin: string) => string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** The connection breaks before the body has come to its end. */
  readonly isCut?: boolean;
}

export class TestRegistry {
  readonly blobs = new Map<string, Buffer>();
  readonly manifests = new Map<string, { type: string; bytes: Buffer }>();
  readonly seen: Seen[] = [];
  /** Tokens that are good; the token service adds one at each request. */
  readonly tokens = new Set<string>();
  readonly #behaviour: Behaviour;
  readonly #uploads = new Map<string, Buffer>();
  readonly #server: Server;
  #host = '';

  private constructor(behaviour: Behaviour) {
    this.#behaviour = behaviour;
    this.#server = createServer((request, response) => void this.#handle(request, response));
  }

  static async start(behaviour: Behaviour = {}): Promise<TestRegistry> {
    const registry = new TestRegistry(behaviour);
    await new Promise<void>((resolve) => registry.#server.listen(0, '127.0.0.1', resolve));
    registry.#host = `127.0.0.1:${(registry.#server.address() as AddressInfo).port}`;
    return registry;
  }

  /** As in an image reference; also after the stop. */
  get host(): string {
    return this.#host;
  }

  get calls(): string[] {
    return this.seen.map(({ method, path }) => `${method} ${path.replace(/sha256(:|%3A)[0-9a-f]{64}/, 'DIGEST')}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const seen = { method, path: url, authorization: headers.authorization, body: Buffer.concat(chunks) };
    this.seen.push(seen);
    const answer =
      this.#behaviour.intercept?.(seen, this.seen.length) ?? this.#answer(seen, headers['content-type'] ?? '');
    if (answer === 'cut') request.socket.destroy();
    else if (answer.isCut === true) {
      response.writeHead(answer.status, { ...answer.headers, 'content-length': '1000' });
      response.write(answer.body ?? '', () => request.socket.destroy());
    } else response.writeHead(answer.status, answer.headers).end(method === 'HEAD' ? undefined : answer.body);
  }

  #answer(seen: Seen, type: string): Answer {
    const url = new URL(seen.path, `http://${this.host}`);
    if (url.pathname === '/token') return this.#token(seen, url);
    const challenge = this.#challenge(seen);
    if (challenge !== undefined) return challenge;
    const [, repository, kind, last = ''] =
      /^\/v2\/(.+?)\/(blobs\/uploads|blobs|manifests)\/(.*)$/.exec(url.pathname) ?? [];
    if (repository === undefined) return failure(404, 'NAME_UNKNOWN', 'no such repository');
    if (kind === 'blobs') return { status: this.blobs.has(last) ? 200 : 404 };
    if (kind === 'manifests') return this.#putManifest(last, type, seen.body);
    return this.#upload(seen, last, url);
  }

  #challenge({ authorization }: Seen): Answer | undefined {
    const { auth } = this.#behaviour;
    if (auth === undefined) return undefined;
    if (auth.kind === 'basic') {
      if (authorization === basic(auth.login)) return undefined;
      return failure(401, 'UNAUTHORIZED', 'authentication required', {
        'www-authenticate': 'Basic realm="test registry"',
      });
    }
    if (this.tokens.has(authorization?.replace('Bearer ', '') ?? '')) return undefined;
    const realm = `http://${this.host}/token`;
    const parameters = `realm="${realm}",service="the service",scope="repository:whatever:pull"`;
    return failure(401, 'UNAUTHORIZED', 'authentication required', { 'www-authenticate': `Bearer ${parameters}` });
  }

  #token({ method, authorization, body }: Seen, url: URL): Answer {
    const { auth } = this.#behaviour;
    const form = new URLSearchParams(method === 'POST' ? body.toString() : url.search);
    if (form.get('service') !== 'the service' || !/^repository:[a-z/]+:pull,push$/.test(form.get('scope') ?? '')) {
      return { status: 400, body: 'wrong service or scope' };
    }
    const isRefresh = method === 'POST' && form.get('grant_type') === 'refresh_token';
    const isKnown = isRefresh
      ? auth?.identityToken !== undefined && form.get('refresh_token') === auth.identityToken
      : auth?.login === undefined || authorization === basic(auth.login);
    if (!isKnown) return { status: 401, body: 'incorrect username or password' };
    const token = `token-${this.tokens.size + 1}`;
    this.tokens.add(token);
    return { status: 200, body: JSON.stringify(isRefresh ? { access_token: token } : { token }) };
  }

  #upload({ method, body }: Seen, session: string, url: URL): Answer {
    if (method === 'POST') {
      const id = `session-${this.#uploads.size + 1}`;
      this.#uploads.set(id, Buffer.alloc(0));
      return this.#accepted(`${url.pathname}${id}?_state=a%2Bb%3D`);
    }
    const before = this.#uploads.get(session);
    if (before === undefined || url.searchParams.get('_state') !== 'a+b=')
      return failure(404, 'BLOB_UPLOAD_UNKNOWN', 'no such upload');
    if (method === 'PATCH') {
      this.#uploads.set(session, Buffer.concat([before, body]));
      return this.#accepted(`${url.pathname}?_state=a%2Bb%3D`);
    }
    if (this.#behaviour.chunksOnly && body.length > 0) return failure(405, 'UNSUPPORTED', 'send chunks');
    const bytes = Buffer.concat([before, body]);
    const digest = url.searchParams.get('digest');
    if (digest !== digestOf(bytes)) return failure(400, 'DIGEST_INVALID', 'the content does not match');
    this.#uploads.delete(session);
    this.blobs.set(digest, bytes);
    return { status: 201 };
  }

  #accepted(path: string): Answer {
    const location = this.#behaviour.location?.(path, `http://${this.host}`) ?? path;
    return { status: 202, headers: { location } };
  }

  /** Refuses what refers to a blob or manifest that is not here, as registries do. */
  #putManifest(reference: string, type: string, bytes: Buffer): Answer {
    const { config, layers = [], manifests = [] } = JSON.parse(bytes.toString());
    const blobs = config === undefined ? [] : [config, ...layers];
    const isComplete =
      blobs.every(({ digest }) => this.blobs.has(digest)) &&
      manifests.every(({ digest }: { digest: string }) => this.manifests.has(digest));
    if (!isComplete) return failure(400, 'MANIFEST_BLOB_UNKNOWN', 'something is missing');
    this.manifests.set(reference, { type, bytes });
    this.manifests.set(digestOf(bytes), { type, bytes });
    return { status: 201, headers: { 'docker-content-digest': digestOf(bytes) } };
  }
}

export function failure(status: number, code: string, message: string, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: JSON.stringify({ errors: [{ code, message }] }) };
}

function basic(login = ''): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
