/**
 * Where the API server is and who we are, read by client-node's `KubeConfig`: files, contexts, in-cluster, client
 * certificates, tokens that are read again, exec plugins, OIDC.
 *
 * Only its configuration and authentication are used. client-node is loaded when first needed, because that takes one
 * to two seconds.
 */
import type { KubeConfig } from '@kubernetes/client-node';
import { PodwrightError } from '../errors.ts';

/** Which configuration to read. Default: as kubectl does, `$KUBECONFIG`, then `~/.kube/config`, then in-cluster. */
export interface ConfigSource {
  /** Path of a kubeconfig file. */
  readonly kubeConfig?: string;
  /** A context of it, instead of its current one. */
  readonly context?: string;
  /** Use the pod's service account, and nothing else. */
  readonly inCluster?: boolean;
}

/** What a connection must use. Two that are equal as JSON can share sockets. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

export interface CredentialSource {
  readonly server: URL;
  /** Of the context; null when it names none. */
  readonly namespace: string | null;
  /** For messages: `context "c" of /path/of/kubeconfig`. */
  readonly description: string;
  readonly proxyUrl: string | null;
  /** What to send now. Tokens and certificates are read again, and plugins asked again when theirs expired. */
  credentials(): Promise<Credentials>;
  /** Reads the configuration anew and forgets what plugins gave: for credentials that were refused. */
  renew(): Promise<void>;
}

/** The name that client-node gives to the context of its fallback. */
const fallbackContext = 'loaded-context';

/** Throws ERR_PODWRIGHT_CONFIG when there is no usable configuration. */
export async function loadCredentialSource(source: ConfigSource): Promise<CredentialSource> {
  let loaded = await load(source);
  let pending: Promise<Credentials> | undefined;
  return {
    server: loaded.server,
    namespace: loaded.namespace,
    description: loaded.description,
    proxyUrl: loaded.proxyUrl,
    credentials() {
      // One at a time: an exec plugin may open a browser, and the capture below serves one caller.
      pending ??= loaded.read().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    async renew() {
      loaded = await load(source);
    },
  };
}

interface Loaded {
  readonly server: URL;
  readonly namespace: string | null;
  readonly description: string;
  readonly proxyUrl: string | null;
  read(): Promise<Credentials>;
}

async function load(source: ConfigSource): Promise<Loaded> {
  const { HttpMethod, KubeConfig, RequestContext } = await import('@kubernetes/client-node');

  /** Takes the TLS options for itself, where client-node would make a new connection pool for each request. */
  class CapturingConfig extends KubeConfig {
    captured: TlsMaterial = {};

    override createDispatcherOptions(
      ...[, options]: Parameters<KubeConfig['createDispatcherOptions']>
    ): ReturnType<KubeConfig['createDispatcherOptions']> {
      this.captured = tlsMaterial(options);
      return { type: 'none' };
    }
  }

  const config = new CapturingConfig();
  const from = readConfig(config, source);
  const cluster = config.getCurrentCluster();
  const context = config.getContextObject(config.getCurrentContext());
  if (cluster === null || context === null) throw noCluster(config, from);
  const server = parseServer(cluster.server, from);
  return {
    server,
    namespace: context.namespace ?? null,
    description: source.inCluster === true ? from : `context "${context.name}" of ${from}`,
    proxyUrl: cluster.proxyUrl ?? null,
    async read() {
      const request = new RequestContext(server.href, HttpMethod.GET);
      try {
        await config.applySecurityAuthentication(request);
      } catch (cause) {
        throw credentialsFailure(cause, from);
      }
      const headers = Object.entries(request.getHeaders()).map(([name, value]) => [name, value.trim()]);
      return { headers: Object.fromEntries(headers), tls: config.captured };
    },
  };
}

/** Returns where the configuration came from, for messages. */
function readConfig(config: KubeConfig, source: ConfigSource): string {
  const from =
    source.kubeConfig ?? (source.inCluster === true ? "the pod's service account" : 'the default kubeconfig');
  try {
    if (source.kubeConfig !== undefined) config.loadFromFile(source.kubeConfig);
    else if (source.inCluster === true) config.loadFromCluster();
    else loadDefault(config);
  } catch (cause) {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `${from} cannot be read: ${messageOf(cause)}`, {
      cause,
      remedy: 'Give the path of a kubeconfig file that exists and is valid YAML.',
    });
  }
  if (source.context !== undefined) config.setCurrentContext(source.context);
  return from;
}

/** client-node falls back to http://localhost:8080, where nothing has listened for years. */
function loadDefault(config: KubeConfig): void {
  config.loadFromDefault();
  if (config.getCurrentContext() === fallbackContext) {
    throw new Error('there is neither $KUBECONFIG nor ~/.kube/config, and this is no pod');
  }
}

function noCluster(config: KubeConfig, from: string): PodwrightError {
  const wanted = config.getCurrentContext();
  const names = config.getContexts().map((context) => context.name);
  const problem = wanted ? `has no usable context "${wanted}"` : 'has no current context';
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `${from} ${problem}`, {
    remedy: names.length === 0 ? 'It names no context at all.' : `Choose one of its contexts: ${names.join(', ')}.`,
    details: { context: wanted ?? null, contexts: names },
  });
}

function parseServer(address: string, from: string): URL {
  const server = URL.parse(address);
  if (server === null || !/^https?:$/.test(server.protocol) || address.includes('undefined')) {
    throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `${from} gives no usable server address: ${address}`, {
      remedy: 'The cluster needs `server: https://HOST:PORT`; in-cluster configuration works only inside a pod.',
    });
  }
  return server;
}

function credentialsFailure(cause: unknown, from: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_CONFIG', `the credentials of ${from} cannot be read: ${messageOf(cause)}`, {
    cause,
    remedy: 'Check the files it names, or run its credential plugin by hand.',
  });
}

function tlsMaterial(options: Parameters<KubeConfig['createDispatcherOptions']>[1]): TlsMaterial {
  const text = (value: unknown): string | undefined =>
    Buffer.isBuffer(value) || typeof value === 'string' ? `${value}` : undefined;
  const entries = {
    ca: text(options.ca),
    cert: text(options.cert),
    key: text(options.key),
    passphrase: options.passphrase,
    servername: options.servername,
    rejectUnauthorized: options.rejectUnauthorized,
  };
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined));
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
