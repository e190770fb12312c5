/** Puts the embedded cluster together, and takes it apart again. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../assert.ts';
import { type Clock, systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { type Logger, silentLogger } from '../logger.ts';
import { Access } from './api/access.ts';
import { type HttpServer, serveHttp } from './api/http.ts';
import { RequestLog } from './api/request-log.ts';
import { definitions } from './api/resources.ts';
import { ApiServer } from './api/server.ts';
import type { Backend } from './backend/backend.ts';
import { knownPlaceholders } from './backend/placeholders.ts';
import { ProcessBackend } from './backend/process.ts';
import { scratchRoot } from './backend/scratch.ts';
import { ScriptedBackend } from './backend/scripted.ts';
import { bootstrap } from './bootstrap.ts';
import { ApiClient, type HttpTransport, httpTransport } from './client.ts';
import { ScopedClock, SkewedClock } from './clocks.ts';
import { Controllers } from './controllers/controllers.ts';
import type { ControllerOptions } from './controllers/options.ts';
import { expireEvents } from './event-expiry.ts';
import { withAdmin } from './faults/admin.ts';
import { type FaultControl, Faults, type FaultTargets } from './faults/control.ts';
import { drawEventFault, drawPodFault, FaultInjector } from './faults/injector.ts';
import { RuleBook } from './faults/rule-book.ts';
import { FrontDoor } from './front-door.ts';
import { kubeConfigText } from './kubeconfig.ts';
import { Kubelet } from './kubelet/kubelet.ts';
import { ContainerRuntime } from './kubelet/runtime.ts';
import { type NodeControl, nodeControl } from './node-control.ts';
import type { ClusterOptions, EmbeddedCluster } from './options.ts';
import { type Profile, profileNames, profiles } from './profile.ts';
import { Random } from './random.ts';
import { Scheduler } from './scheduler/scheduler.ts';
import { SelfCheck } from './self-check.ts';
import { RevisionStore } from './store/revisions.ts';
import { measuredTimings, quickTimings, type Timings } from './timings.ts';
import type { Transport } from './transport.ts';

/** As most images set it. */
const containerPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** From the block for documentation: nothing is there. */
const nodeAddress = '192.0.2.2';
const defaultCapacity = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '100Gi' };

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
  readonly #nodeClock: SkewedClock;
  readonly #random: Random;
  readonly #rules: RuleBook;
  readonly #store: RevisionStore;
  readonly #selfCheck = new SelfCheck();
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
  #faults: Faults | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: ClusterOptions, profile: Profile) {
    this.#options = options;
    this.#profile = profile;
    this.#clock = new ScopedClock(options.clock ?? systemClock);
    this.#nodeClock = new SkewedClock(this.#clock);
    this.#random = new Random(options.seed ?? Math.floor(Math.random() * 2 ** 32));
    this.#rules = new RuleBook(this.#clock, this.#random.fork('faults'));
    this.#store = new RevisionStore(this.#random.integer(10_000, 900_000));
    this.#timings = { ...(options.backend === 'scripted' ? measuredTimings : quickTimings), ...options.timings };
    this.#ownToken = this.#random.hex(32);
  }

  get url(): string {
    if (this.#inMemory) return 'memory:';
    const { tls, host = '127.0.0.1' } = this.#options;
    return `${tls === undefined ? 'http' : 'https'}://${host}:${this.#http?.port ?? 0}`;
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

  get faults(): FaultControl {
    assert(this.#faults !== undefined, 'the cluster is started');
    return this.#faults;
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port = 0, tokens = [] } = this.#options;
    if (!this.#inMemory || this.#options.backend !== 'scripted') {
      this.#directory = await mkdtemp(join(scratchRoot(), 'podwright-cluster-'));
    }
    const backend = this.#backend();
    const access = new Access(this.#store, tokens);
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
      access,
      ownToken: this.#ownToken,
      tokensRequired: tokens.length > 0,
    });
    this.#selfCheck.follow(this.#store, () => server.writer);
    const { namespaces = [] } = this.#options;
    bootstrap({ store: this.#store, random: this.#random, clock: this.#clock, namespaces });
    const injector = new FaultInjector((request) => server.handle(request), {
      clock: this.#clock,
      random: this.#random.fork('injector'),
      logger: this.#logger,
      rules: this.#rules,
      store: this.#store,
    });
    this.#front = new FrontDoor(injector.transport);
    const admin = withAdmin(
      this.#front.transport,
      () => this.faults,
      (authorization) => access.mayAdminister(authorization, this.#ownToken, tokens.length > 0),
    );
    if (!this.#inMemory) {
      this.#http = await serveHttp(admin, { host, port, tls: this.#options.tls });
      const authority = this.#options.tls?.authority;
      await writeFile(this.kubeConfig, kubeConfigText(this.url, tokens[0]?.token, authority), { mode: 0o600 });
    }
    this.#compactRegularly(this.#store.current);
    expireEvents(this.#store, this.#clock);
    await this.#startParts(backend);
    const { faults = [] } = this.#options;
    for (const rule of faults) this.faults.add(rule);
    // The watches of its own parts began without them.
    if (faults.some(({ match }) => match?.own === true)) this.#front.endStreams();
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
    const runtime = new ContainerRuntime({ clock: this.#nodeClock, timings: this.#timings, random, backend });
    this.#runtime = runtime;
    this.#node = nodeControl({
      runtime,
      kubelet: () => this.#kubelet,
      start: () => this.#startKubelet(runtime, true),
      stop: () => this.#stopKubelet(),
    });
    this.#faults = new Faults({
      clock: this.#clock,
      random: this.#random.fork('strikes'),
      logger: this.#logger,
      rules: this.#rules,
      targets: this.#faultTargets(runtime, backend, this.#node),
    });
    await this.#startKubelet(runtime, false);
    const controllers = new Controllers(this.#partOptions('controllers'));
    const scheduler = new Scheduler(this.#partOptions('scheduler'));
    this.#parts.push(scheduler, controllers);
    await controllers.start();
    await scheduler.start();
  }

  #faultTargets(runtime: ContainerRuntime, backend: Backend, node: NodeControl): FaultTargets {
    return {
      node,
      podUids: () => runtime.podUids(),
      containersOf: (uid) => runtime.list(uid).flatMap(({ name, state }) => (state === 'running' ? [name] : [])),
      compact: () => this.compact(),
      dropConnections: () => this.dropConnections(),
      stopApiServer: () => this.stopApiServer(),
      startApiServer: () => this.startApiServer(),
      removeImages: () => backend.removeImages(),
      skewNodeClock: (ms) => {
        this.#selfCheck.ignoresTimes = true;
        this.#nodeClock.skewMs = ms;
      },
    };
  }

  async #startKubelet(runtime: ContainerRuntime, restarted: boolean): Promise<void> {
    if (this.#kubelet !== undefined) return;
    this.#kubelet = new Kubelet({
      ...this.#partOptions('kubelet', this.#nodeClock),
      runtime,
      restarted,
      disturbEvent: () => drawEventFault(this.#rules, this.#random, this.#logger),
      disturbPod: (kind) => drawPodFault(this.#rules, kind, this.#logger),
      node: {
        name: this.#nodeName,
        address: nodeAddress,
        containerd: this.#options.containerd ?? '1.6',
        ...defaultCapacity,
        ...this.#options.nodeCapacity,
      },
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
    this.#selfCheck.conclude();
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
          onOverfill: (uid, what) => this.#kubelet?.overfilled(uid, what),
          onPlayed: (played) => this.#options.onPlayed?.(played),
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

  #partOptions(component: string, clock: Clock = this.#clock): ControllerOptions {
    return {
      client: this.#client(component),
      clock,
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
    const http = httpTransport(this.url, this.#options.tls);
    this.#clients.push(http);
    return http.transport;
  }

  /** Forgets, each time, what was there the time before. */
  #compactRegularly(seen: number): void {
    this.#clock.schedule(compactionPeriodMs, () => {
      this.#store.compact(seen);
      this.#compactRegularly(this.#store.current);
    });
  }
}
