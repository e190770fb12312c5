/** Puts the embedded cluster together, and takes it apart again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { Access, type TokenUser } from './api/access.ts';
import { type HttpServer, serveHttp } from './api/http.ts';
import { RequestLog } from './api/request-log.ts';
import { ApiServer } from './api/server.ts';
import type { Backend } from './backend/backend.ts';
import { knownPlaceholders, type PlaceholderImage } from './backend/placeholders.ts';
import { ProcessBackend } from './backend/process.ts';
import { ApiClient, type HttpTransport, httpTransport } from './client.ts';
import { kubeConfigText } from './kubeconfig.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { ContainerRuntime } from './kubelet/runtime.ts';
import { type Profile, type ProfileName, profileNames, profiles } from './profile.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { ScopedClock } from './scoped-clock.ts';
import { RevisionStore } from './store/revisions.ts';
import { timestamp } from './times.ts';
import { measuredTimings, quickTimings, type Timings } from './timings.ts';

export interface ClusterOptions {
  /** `process` (default) runs steps as local processes, unisolated; `scripted` plays lives given as data. */
  readonly backend?: 'process' | 'scripted';
  /** The Kubernetes version to stand for. Default 1.36. */
  readonly profile?: ProfileName;
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. Anyone who can reach it can run commands as this user. */
  readonly host?: string;
  /** Images known as placeholders, besides `registry.k8s.io/pause` and those of the lab. */
  readonly placeholders?: readonly PlaceholderImage[];
  /** `process` only: images whose pull fails, and with which text. */
  readonly missingImages?: Readonly<Record<string, string>>;
  /** `process` only: the PATH of steps. Default: that of most images. */
  readonly path?: string;
  /** Namespaces made at the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** With any token given, requests need one; a user without rights in Roles may do nothing. */
  readonly tokens?: readonly TokenUser[];
  readonly nodeName?: string;
  /** Those that differ from the back-end's own. */
  readonly timings?: Partial<Timings>;
  /** The source of all chance: names, jitter, order of kills. */
  readonly seed?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called once for each thing a user should know, e.g. that steps run unisolated. Also kept in `warnings`. */
  readonly onWarning?: (message: string) => void;
}

export interface EmbeddedCluster {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The path of a kubeconfig file for it; removed by `stop`. */
  readonly kubeConfig: string;
  /** Every request, the scheduler's and the kubelet's (user agents `podwright-cluster/…`) among them. */
  readonly requests: RequestLog;
  readonly warnings: readonly string[];
  /** Forgets old revisions: watches and lists from before now get 410. */
  compact(): void;
  /** Breaks every open connection, as a proxy or a restarted server does. */
  dropConnections(): void;
  /** Kills what still runs and leaves nothing behind. Idempotent. */
  stop(): Promise<void>;
}

/** As most images set it. */
const containerPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** etcd forgets what is older, in one go every so often. */
const compactionPeriodMs = 300_000;

/** Starts a cluster that is ready: its node is there, its namespaces exist, creates are scheduled. */
export async function startCluster(options: ClusterOptions = {}): Promise<EmbeddedCluster> {
  const profile = chosenProfile(options.profile ?? '1.36');
  const cluster = new Cluster(options, profile);
  try {
    await cluster.start();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

function chosenProfile(name: string): Profile {
  const found = profileNames.find((one) => one === name);
  if (found !== undefined) return profiles[found];
  throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `the embedded cluster knows no version "${name}"`, {
    remedy: `Choose one of ${profileNames.join(', ')}.`,
  });
}

class Cluster implements EmbeddedCluster {
  readonly requests = new RequestLog();
  readonly #options: ClusterOptions;
  readonly #profile: Profile;
  readonly #clock: ScopedClock;
  readonly #random: Random;
  readonly #store: RevisionStore;
  readonly #ownToken: string;
  readonly #warnings: string[] = [];
  readonly #clients: HttpTransport[] = [];
  #directory = '';
  #http: HttpServer | undefined;
  #runtime: ContainerRuntime | undefined;
  #kubelet: Kubelet | undefined;
  #scheduler: Scheduler | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ClusterOptions, profile: Profile) {
    this.#options = options;
    this.#profile = profile;
    this.#clock = new ScopedClock(options.clock ?? systemClock);
    this.#random = new Random(options.seed ?? Math.floor(Math.random() * 2 ** 32));
    this.#store = new RevisionStore(this.#random.integer(10_000, 900_000));
    this.#ownToken = this.#random.hex(32);
  }

  get url(): string {
    return `http://${this.#options.host ?? '127.0.0.1'}:${this.#http?.port ?? 0}`;
  }

  get kubeConfig(): string {
    return join(this.#directory, 'kubeconfig');
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port = 0, tokens = [], logger = silentLogger } = this.#options;
    this.#directory = await mkdtemp(join(tmpdir(), 'podwright-cluster-'));
    const backend = this.#backend();
    const context = {
      clock: this.#clock,
      random: this.#random.fork('server'),
      profile: this.#profile,
      store: this.#store,
      logger,
      nodeApi: (name: string) => (name === this.#nodeName ? this.#kubelet : undefined),
      refusePod: (pod: Parameters<Backend['refusePod']>[0]) => backend.refusePod(pod),
    };
    const server = new ApiServer({
      context,
      requests: this.requests,
      access: new Access(this.#store, tokens),
      ownToken: this.#ownToken,
      tokensRequired: tokens.length > 0,
    });
    for (const name of ['default', 'kube-system', 'kube-public', ...(this.#options.namespaces ?? [])]) {
      this.#createNamespace(name);
    }
    this.#http = await serveHttp((request) => server.handle(request), host, port);
    await writeFile(this.kubeConfig, kubeConfigText(this.url, tokens[0]?.token), { mode: 0o600 });
    this.#compactRegularly(this.#store.current);
    await this.#startNode(backend, logger);
  }

  compact(): void {
    this.#store.compact(this.#store.current);
  }

  dropConnections(): void {
    this.#http?.dropConnections();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #startNode(backend: Backend, logger: Logger): Promise<void> {
    const timings = { ...this.#baseTimings(), ...this.#options.timings };
    const common = { clock: this.#clock, profile: this.#profile, timings, logger };
    this.#runtime = new ContainerRuntime({ ...common, random: this.#random.fork('runtime'), backend });
    this.#kubelet = new Kubelet({
      ...common,
      client: this.#client('kubelet'),
      random: this.#random.fork('kubelet'),
      runtime: this.#runtime,
      node: { name: this.#nodeName, address: '192.0.2.2', cpu: '64', memory: '256Gi' },
    });
    await this.#kubelet.start();
    this.#scheduler = new Scheduler({
      ...common,
      client: this.#client('scheduler'),
      random: this.#random.fork('scheduler'),
    });
    await this.#scheduler.start();
  }

  async #stop(): Promise<void> {
    await Promise.all([this.#scheduler?.stop(), this.#kubelet?.stop()]);
    await this.#runtime?.dispose();
    for (const client of this.#clients) client.close();
    await this.#http?.close();
    this.#clock.close();
    if (this.#directory !== '') await rm(this.#directory, { recursive: true, force: true });
  }

  get #nodeName(): string {
    return this.#options.nodeName ?? 'localhost';
  }

  #baseTimings(): Timings {
    return this.#options.backend === 'scripted' ? measuredTimings : quickTimings;
  }

  #backend(): Backend {
    const { backend = 'process', placeholders = [], missingImages = {}, path = containerPath } = this.#options;
    if (backend !== 'process') {
      throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `the embedded cluster has no back-end "${backend}"`);
    }
    return new ProcessBackend({
      clock: this.#clock,
      directory: this.#directory,
      placeholders: [...placeholders, ...knownPlaceholders],
      path,
      missingImages: new Map(Object.entries(missingImages)),
      warn: (message) => this.#warn(message),
    });
  }

  #warn(message: string): void {
    if (this.#warnings.includes(message)) return;
    this.#warnings.push(message);
    this.#options.onWarning?.(message);
  }

  #client(component: string): ApiClient {
    const http = httpTransport(this.url);
    this.#clients.push(http);
    return new ApiClient({
      transport: http.transport,
      userAgent: `podwright-cluster/${component}`,
      token: this.#ownToken,
      clock: this.#clock,
    });
  }

  #createNamespace(name: string): void {
    this.#store.put('namespaces', name, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: {
        name,
        uid: this.#random.uuid(),
        resourceVersion: '',
        creationTimestamp: timestamp(this.#clock.now()),
        labels: { 'kubernetes.io/metadata.name': name },
      },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }

  /** Forgets, each time, what was there the time before. */
  #compactRegularly(seen: number): void {
    this.#clock.schedule(compactionPeriodMs, () => {
      this.#store.compact(seen);
      this.#compactRegularly(this.#store.current);
    });
  }
}
