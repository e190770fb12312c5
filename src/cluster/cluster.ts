/** Puts the embedded cluster together, and takes it apart again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from '../assert.ts';
import { type Clock, systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { Access, type TokenUser } from './api/access.ts';
import { type HttpServer, serveHttp } from './api/http.ts';
import { RequestLog } from './api/request-log.ts';
import { definitions } from './api/resources.ts';
import { ApiServer } from './api/server.ts';
import type { Backend } from './backend/backend.ts';
import { knownPlaceholders, type PlaceholderImage } from './backend/placeholders.ts';
import { ProcessBackend } from './backend/process.ts';
import type { ImageScript, MatchedLife } from './backend/script.ts';
import { ScriptedBackend } from './backend/scripted.ts';
import { ApiClient, type HttpTransport, httpTransport } from './client.ts';
import { type ControllerOptions, Controllers } from './controllers/controllers.ts';
import { FrontDoor } from './front-door.ts';
import { kubeConfigText } from './kubeconfig.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { ContainerRuntime } from './kubelet/runtime.ts';
import { type NodeControl, nodeControl } from './node-control.ts';
import { type Profile, type ProfileName, profileNames, profiles } from './profile.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { ScopedClock } from './scoped-clock.ts';
import { RevisionStore } from './store/revisions.ts';
import { timestamp } from './times.ts';
import { measuredTimings, quickTimings, type Timings } from './timings.ts';
import type { Transport } from './transport.ts';

export interface ClusterOptions {
  /** `process` (default) runs steps as local processes, unisolated; `scripted` plays lives given as data. */
  readonly backend?: 'process' | 'scripted';
  /** The Kubernetes version to stand for. Default 1.36. */
  readonly profile?: ProfileName;
  /**
   * `http` (default), or `memory`: no port, no file, requests are calls of `transport`. With a virtual clock only
   * `memory` gives the same bytes for the same seed.
   */
  readonly transport?: 'http' | 'memory';
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
  /** `scripted` only: images that can be pulled or are there, and what they do. The first match counts. */
  readonly images?: readonly ImageScript[];
  /** `scripted` only: what containers do, before the lives of their images. The first match counts. */
  readonly lives?: readonly MatchedLife[];
  /** Namespaces made at the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** With any token given, requests need one; a user without rights in Roles may do nothing. */
  readonly tokens?: readonly TokenUser[];
  readonly nodeName?: string;
  /** What the node offers. Default 64 CPUs, 256Gi. */
  readonly nodeCapacity?: { readonly cpu: string; readonly memory: string };
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
  /** `http://127.0.0.1:PORT`; `memory:` for a cluster in memory. */
  readonly url: string;
  /** The path of a kubeconfig file for it; removed by `stop`. Empty for a cluster in memory. */
  readonly kubeConfig: string;
  /** Requests as calls, past HTTP. */
  readonly transport: Transport;
  readonly node: NodeControl;
  /** Every request, the scheduler's and the kubelet's (user agents `podwright-cluster/…`) among them. */
  readonly requests: RequestLog;
  readonly warnings: readonly string[];
  /** Forgets old revisions: watches and lists from before now get 410. */
  compact(): void;
  /** Breaks every open connection, as a proxy that is restarted does. */
  dropConnections(): void;
  /** The server goes down: streams end, requests are refused. */
  stopApiServer(): void;
  /** It comes back with its state, and with watch caches that begin now. */
  startApiServer(): void;
  /** Kills what still runs and leaves nothing behind. Idempotent. */
  stop(): Promise<void>;
}

/** As most images set it. */
const containerPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** From the block for documentation: nothing is there. */
const nodeAddress = '192.0.2.2';
const defaultCapacity = { cpu: '64', memory: '256Gi' };

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
  readonly #timings: Timings;
  readonly #ownToken: string;
  readonly #warnings: string[] = [];
  readonly #clients: HttpTransport[] = [];
  readonly #parts: { stop(): Promise<void> }[] = [];
  #directory = '';
  #front: FrontDoor | undefined;
  #http: HttpServer | undefined;
  #runtime: ContainerRuntime | undefined;
  #kubelet: Kubelet | undefined;
  #node: NodeControl | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ClusterOptions, profile: Profile) {
    this.#options = options;
    this.#profile = profile;
    this.#clock = new ScopedClock(options.clock ?? systemClock);
    this.#random = new Random(options.seed ?? Math.floor(Math.random() * 2 ** 32));
    this.#store = new RevisionStore(this.#random.integer(10_000, 900_000));
    this.#timings = { ...(options.backend === 'scripted' ? measuredTimings : quickTimings), ...options.timings };
    this.#ownToken = this.#random.hex(32);
  }

  get url(): string {
    return this.#inMemory ? 'memory:' : `http://${this.#options.host ?? '127.0.0.1'}:${this.#http?.port ?? 0}`;
  }

  get kubeConfig(): string {
    return this.#inMemory ? '' : join(this.#directory, 'kubeconfig');
  }

  get warnings(): readonly string[] {
    return this.#warnings;
  }

  get transport(): Transport {
    assert(this.#front !== undefined, 'the cluster is started');
    return this.#front.transport;
  }

  get node(): NodeControl {
    assert(this.#node !== undefined, 'the cluster is started');
    return this.#node;
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port = 0, tokens = [] } = this.#options;
    if (!this.#inMemory || this.#options.backend !== 'scripted') {
      this.#directory = await mkdtemp(join(tmpdir(), 'podwright-cluster-'));
    }
    const backend = this.#backend();
    const server = new ApiServer({
      context: {
        clock: this.#clock,
        random: this.#random.fork('server'),
        profile: this.#profile,
        store: this.#store,
        logger: this.#logger,
        nodeApi: (name) => (name === this.#nodeName ? this.#kubelet : undefined),
        refusePod: (pod) => backend.refusePod(pod),
      },
      requests: this.requests,
      access: new Access(this.#store, tokens),
      ownToken: this.#ownToken,
      tokensRequired: tokens.length > 0,
    });
    for (const name of ['default', 'kube-system', 'kube-public', ...(this.#options.namespaces ?? [])]) {
      this.#createNamespace(name);
    }
    this.#front = new FrontDoor((request) => server.handle(request));
    if (!this.#inMemory) {
      this.#http = await serveHttp(this.#front.transport, host, port);
      await writeFile(this.kubeConfig, kubeConfigText(this.url, tokens[0]?.token), { mode: 0o600 });
    }
    this.#compactRegularly(this.#store.current);
    await this.#startParts(backend);
  }

  compact(): void {
    this.#store.compact(this.#store.current);
  }

  dropConnections(): void {
    this.#front?.endStreams();
    this.#http?.dropConnections();
  }

  stopApiServer(): void {
    this.#front?.shut();
    this.#http?.dropConnections();
  }

  startApiServer(): void {
    for (const { storage, cached } of definitions) if (cached) this.#store.compact(this.#store.current, storage);
    this.#front?.reopen();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #startParts(backend: Backend): Promise<void> {
    const random = this.#random.fork('runtime');
    const runtime = new ContainerRuntime({ clock: this.#clock, timings: this.#timings, random, backend });
    this.#runtime = runtime;
    this.#node = nodeControl({
      runtime,
      kubelet: () => this.#kubelet,
      start: () => this.#startKubelet(runtime, true),
      stop: () => this.#stopKubelet(),
    });
    await this.#startKubelet(runtime, false);
    const controllers = new Controllers(this.#partOptions('controllers'));
    const scheduler = new Scheduler(this.#partOptions('scheduler'));
    this.#parts.push(scheduler, controllers);
    await controllers.start();
    await scheduler.start();
  }

  async #startKubelet(runtime: ContainerRuntime, restarted: boolean): Promise<void> {
    if (this.#kubelet !== undefined) return;
    this.#kubelet = new Kubelet({
      ...this.#partOptions('kubelet'),
      runtime,
      restarted,
      node: { name: this.#nodeName, address: nodeAddress, ...(this.#options.nodeCapacity ?? defaultCapacity) },
    });
    await this.#kubelet.start();
  }

  async #stopKubelet(): Promise<void> {
    const kubelet = this.#kubelet;
    this.#kubelet = undefined;
    await kubelet?.stop();
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#parts.map((part) => part.stop()), this.#stopKubelet()]);
    await this.#runtime?.dispose();
    for (const client of this.#clients) client.close();
    this.#front?.shut();
    await this.#http?.close();
    this.#clock.close();
    if (this.#directory !== '') await rm(this.#directory, { recursive: true, force: true });
  }

  get #inMemory(): boolean {
    return this.#options.transport === 'memory';
  }

  get #nodeName(): string {
    return this.#options.nodeName ?? 'localhost';
  }

  get #logger(): Logger {
    return this.#options.logger ?? silentLogger;
  }

  #backend(): Backend {
    const { backend = 'process', path = containerPath, missingImages = {}, images = [], lives = [] } = this.#options;
    const placeholders = [...(this.#options.placeholders ?? []), ...knownPlaceholders];
    const clock = this.#clock;
    switch (backend) {
      case 'process':
        return new ProcessBackend({
          clock,
          directory: this.#directory,
          placeholders,
          path,
          missingImages: new Map(Object.entries(missingImages)),
          warn: (message) => this.#warn(message),
        });
      case 'scripted':
        return new ScriptedBackend({
          clock,
          random: this.#random.fork('lives'),
          images,
          lives,
          placeholders,
          onOverfill: (uid, volume) => this.#kubelet?.overfilled(uid, volume),
        });
      default:
        throw new PodwrightError('ERR_PODWRIGHT_CONFIG', `the embedded cluster has no back-end "${String(backend)}"`, {
          remedy: 'Choose process or scripted.',
        });
    }
  }

  #warn(message: string): void {
    if (this.#warnings.includes(message)) return;
    this.#warnings.push(message);
    this.#options.onWarning?.(message);
  }

  #partOptions(component: string): ControllerOptions {
    return {
      client: this.#client(component),
      clock: this.#clock,
      random: this.#random.fork(component),
      profile: this.#profile,
      timings: this.#timings,
      logger: this.#logger,
    };
  }

  #client(component: string): ApiClient {
    return new ApiClient({
      transport: this.#inMemory ? this.transport : this.#httpClient(),
      userAgent: `podwright-cluster/${component}`,
      token: this.#ownToken,
      clock: this.#clock,
    });
  }

  #httpClient(): Transport {
    const http = httpTransport(this.url);
    this.#clients.push(http);
    return http.transport;
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
