/**
 * Prometheus metrics of a hub, by prom-client, on a registry of their own.
 *
 * Label sets are bounded: every label's values come from a closed list of this project, never a name, an image or a
 * message. Counters begin with the process; a scrape costs no request to the cluster.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { causes, type Outcome, pullFailureClasses } from '../../machines/outcome.ts';
import type { Route } from './http/server.ts';
import type { StreamEnd } from './http/stream.ts';
import type { EventHub } from './hub.ts';
import type { BuildState, ContainerState } from './state.ts';
import type { ContainerChanged, ContainerStateName, PodwrightEvent } from './types.ts';

/** What the watches count, as the informers give it. */
export interface WatchCountersView {
  readonly lists: number;
  readonly watches: number;
  readonly frames: number;
  readonly bytes: number;
  readonly failures: number;
  readonly stalls: number;
  readonly expirations: number;
  readonly malformedFrames: number;
  readonly handlerErrors: number;
}

export interface MetricsOptions {
  readonly hub: EventHub;
  /** Read at each scrape; absent where no watch is open. */
  readonly watchCounters?: () => Readonly<Record<'pods' | 'events', WatchCountersView>>;
}

const prefix = 'podwright_';
/** From a cached image to a build of hours. */
const seconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const buildEnds = ['succeeded', 'failed', 'canceled', 'errored'] as const;
const streamEnds: readonly StreamEnd[] = ['ended', 'dropped', 'closed'];
const apis = ['v1', 'v2', 'v2-logs', 'v3', 'v3-log'] as const;
const phases = ['schedule', 'pull', 'start', 'run'] as const;
type Phase = (typeof phases)[number];

export class Metrics {
  readonly registry = new Registry();
  readonly #hub: EventHub;
  readonly #delay: ReturnType<typeof monitorEventLoopDelay>;
  readonly #unlisten: () => void;
  /** When the current phase of a container began, by build. Kept until its verdict, at most until the build is removed. */
  readonly #began = new Map<string, Map<string, { readonly phase: Phase; readonly at: number }>>();
  readonly #builds = this.#counter('builds_total', 'Builds that ended', ['outcome']);
  readonly #steps = this.#counter('steps_total', 'Containers with a verdict', ['outcome', 'cause']);
  readonly #pullFailures = this.#counter('pull_failures_total', 'Images that could not be had', ['class', 'permanent']);
  readonly #kubeEvents = this.#counter('kubernetes_events_total', 'Kubernetes Events of build pods', ['type']);
  readonly #debug = this.#counter('debug_containers_total', 'Debuggable container instances', ['status']);
  readonly #logBytes = this.#counter('log_bytes_total', 'Bytes of log lines that were kept', []);
  readonly #subscriptions = this.#counter('subscriptions_ended_total', 'Event streams that ended', ['api', 'end']);
  readonly #subscribers = new Gauge({
    name: `${prefix}subscribers`,
    help: 'Event streams that are open',
    labelNames: ['api'],
    registers: [this.registry],
  });
  readonly #phase = this.#histogram('phase_seconds', 'How long each phase of a container took', ['phase']);
  readonly #verdict = this.#histogram(
    'verdict_latency_seconds',
    "From a container's end on its node to its verdict",
    [],
  );
  readonly #buildSeconds = this.#histogram('build_seconds', 'From the assembly of a build to its end', ['outcome']);

  constructor({ hub, watchCounters }: MetricsOptions) {
    this.#hub = hub;
    this.#delay = monitorEventLoopDelay({ resolution: 20 });
    this.#delay.enable();
    this.#zero();
    this.#gauges();
    if (watchCounters !== undefined) this.#watches(watchCounters);
    const undo = [hub.listen((event) => this.#take(event)), hub.listenLines((bytes) => this.#logBytes.inc(bytes))];
    this.#unlisten = () => {
      for (const end of undo) end();
    };
  }

  /** For the routes of the event server. */
  onSubscriber(api: string): (end: StreamEnd) => void {
    this.#subscribers.inc({ api });
    return (end) => {
      this.#subscribers.dec({ api });
      this.#subscriptions.inc({ api, end });
    };
  }

  /** `GET /metrics` in the text format. */
  route(): Route {
    return {
      method: 'GET',
      path: '/metrics',
      handle: async (_, response) => {
        const text = await this.registry.metrics();
        response.writeHead(200, { 'content-type': this.registry.contentType });
        response.end(text);
      },
    };
  }

  /** Leaves nothing behind. Idempotent. */
  close(): void {
    this.#unlisten();
    this.#delay.disable();
    this.registry.clear();
  }

  #take(event: PodwrightEvent): void {
    switch (event.type) {
      case 'build.changed':
        this.#build(event);
        break;
      case 'container.requested':
        this.#begin(event, 'start');
        break;
      case 'container.changed':
        this.#container(event);
        break;
      case 'pod.changed': {
        const created = this.#hub.state.builds[event.build]?.history.find(({ state }) => state === 'assembling');
        if (event.to === 'running' && created !== undefined) this.#observe('schedule', event.at - created.at);
        break;
      }
      case 'kube.event':
        this.#kubeEvents.inc({ type: event.level });
        break;
      case 'debug.started':
        this.#debug.inc({ status: 'started' });
        break;
      case 'debug.terminated':
        this.#debug.inc({ status: 'terminated' });
        break;
      case 'run.started':
      case 'run.ended':
      case 'build.planned':
      case 'build.forgotten':
      case 'watch.changed':
      case 'debug.refused':
      case 'debug.forwarded':
        break;
    }
  }

  #build(event: Extract<PodwrightEvent, { type: 'build.changed' }>): void {
    if (event.to === 'removed') this.#began.delete(event.build);
    const outcome = buildEnds.find((end) => end === event.to);
    if (outcome === undefined) return;
    this.#builds.inc({ outcome });
    const began = this.#hub.state.builds[event.build]?.history.find(({ state }) => state === 'assembling');
    if (began !== undefined) this.#buildSeconds.observe({ outcome }, (event.at - began.at) / 1000);
  }

  #container(event: ContainerChanged & { readonly at: number }): void {
    const before = this.#began.get(event.build)?.get(event.container);
    if (before !== undefined) this.#observe(before.phase, event.at - before.at);
    const phase = phaseOf[event.to];
    if (phase === null || (phase === 'start' && before === undefined)) {
      this.#began.get(event.build)?.delete(event.container);
    } else this.#begin(event, phase);
    if (phase === null && event.outcome !== null) this.#settled(event.outcome);
  }

  #begin(
    { build, container, at }: { readonly build: string; readonly container: string; readonly at: number },
    phase: Phase,
  ): void {
    const phases = this.#began.get(build) ?? new Map<string, { readonly phase: Phase; readonly at: number }>();
    phases.set(container, { phase, at });
    this.#began.set(build, phases);
  }

  #settled(outcome: Outcome): void {
    this.#steps.inc({ outcome: outcome.outcome, cause: outcome.outcome === 'terminated' ? outcome.cause : '' });
    if (outcome.outcome === 'pullFailed') {
      this.#pullFailures.inc({ class: outcome.class, permanent: String(outcome.permanent) });
    }
    if (outcome.outcome !== 'terminated' || outcome.finishedAt === null) return;
    // Two clocks: a node that is ahead must not give a negative latency.
    const latency = outcome.provenance.decidedAt - Date.parse(outcome.finishedAt);
    if (Number.isFinite(latency)) this.#verdict.observe(Math.max(0, latency) / 1000);
  }

  #observe(phase: Phase, ms: number): void {
    this.#phase.observe({ phase }, Math.max(0, ms) / 1000);
  }

  #gauges(): void {
    const { registry } = this;
    const hub = this.#hub;
    const delay = this.#delay;
    const labelled = (
      name: string,
      help: string,
      labels: string[],
      read: () => readonly (readonly [string, number])[],
    ) =>
      new Gauge({
        name: `${prefix}${name}`,
        help,
        labelNames: labels,
        registers: [registry],
        collect() {
          this.reset();
          for (const [label, value] of read()) this.set(labels[0] === undefined ? {} : { [labels[0]]: label }, value);
        },
      });
    labelled('builds', 'Builds that are kept, by state', ['state'], () => count(builds(hub), ({ state }) => state));
    labelled('containers', 'Containers of kept builds, by state', ['state'], () =>
      count(
        builds(hub).flatMap(({ containers }) => containers),
        ({ state }) => state,
      ),
    );
    labelled('actors', 'Actors of builds that have not ended', ['kind'], () => actors(builds(hub)));
    labelled('watch_live', 'Whether a watch is live', ['resource'], () =>
      Object.entries(hub.state.watches).map(([resource, { state }]) => [resource, state === 'live' ? 1 : 0]),
    );
    labelled('event_log_events', 'Events that are kept', [], () => [['', hub.events.last - hub.events.first + 1]]);
    labelled('event_log_bytes', 'Bytes of events that are kept', [], () => [['', hub.events.bytes]]);
    labelled('event_log_dropped_events', 'Events that the bounds of the log dropped', [], () => [
      ['', hub.events.first - 1],
    ]);
    labelled('event_loop_delay_seconds', 'Delay of the event loop since the last scrape', ['quantile'], () => {
      const values = [0.5, 0.99, 1].map((q) => [String(q), delay.percentile(Math.max(q * 100, 1)) / 1e9] as const);
      delay.reset();
      return values.map(([q, value]) => [q, Number.isFinite(value) ? value : 0]);
    });
  }

  #watches(read: NonNullable<MetricsOptions['watchCounters']>): void {
    for (const [name, help, field] of watchCounters) {
      const counter = this.#counter(name, help, ['resource'], () => {
        counter.reset();
        for (const [resource, counters] of Object.entries(read())) counter.inc({ resource }, counters[field]);
      });
    }
  }

  /** A series that does not exist yet cannot be told from one that is lost: all of the small ones begin at 0. */
  #zero(): void {
    for (const outcome of buildEnds) this.#builds.inc({ outcome }, 0);
    for (const cause of causes) this.#steps.inc({ outcome: 'terminated', cause }, 0);
    for (const outcome of ['pullFailed', 'canceled']) this.#steps.inc({ outcome, cause: '' }, 0);
    for (const name of pullFailureClasses) {
      for (const permanent of ['true', 'false']) this.#pullFailures.inc({ class: name, permanent }, 0);
    }
    for (const api of apis) {
      this.#subscribers.set({ api }, 0);
      for (const end of streamEnds) this.#subscriptions.inc({ api, end }, 0);
    }
  }

  #counter(name: string, help: string, labelNames: string[], collect?: () => void): Counter<string> {
    const registers = [this.registry];
    return new Counter({
      name: prefix + name,
      help,
      labelNames,
      registers,
      ...(collect === undefined ? {} : { collect }),
    });
  }

  #histogram(name: string, help: string, labelNames: string[]): Histogram<string> {
    return new Histogram({ name: prefix + name, help, labelNames, buckets: seconds, registers: [this.registry] });
  }
}

/** In which phase a state is; null when it has a verdict. */
const phaseOf: Readonly<Record<ContainerStateName, Phase | null>> = {
  pending: 'start',
  pulling: 'pull',
  running: 'run',
  pullFailed: null,
  terminated: null,
  canceled: null,
};

const watchCounters: readonly (readonly [string, string, keyof WatchCountersView])[] = [
  ['watch_lists_total', 'Lists: the first, and every relist', 'lists'],
  ['watch_connections_total', 'Watches that were opened: the first, and every reconnect', 'watches'],
  ['watch_frames_total', 'Frames that came', 'frames'],
  ['watch_bytes_total', 'Bytes that came', 'bytes'],
  ['watch_failures_total', 'Lists or watches that failed or broke', 'failures'],
  ['watch_stalls_total', 'Watches that were closed because nothing was heard', 'stalls'],
  ['watch_expirations_total', 'Times the server had forgotten the resourceVersion', 'expirations'],
  ['watch_malformed_frames_total', 'Frames that could not be read', 'malformedFrames'],
  ['watch_handler_errors_total', 'Handlers that threw', 'handlerErrors'],
];

function builds(hub: EventHub): readonly BuildState[] {
  return Object.values(hub.state.builds);
}

function count<T>(items: readonly T[], key: (item: T) => string): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return [...counts];
}

function actors(all: readonly BuildState[]): readonly (readonly [string, number])[] {
  const live = all.filter(({ history }) => !history.some(({ state }) => state === 'removed'));
  const containers = live.flatMap((build): readonly ContainerState[] => build.containers);
  return [
    ['build', live.length],
    ['pod', live.filter(({ pod }) => pod !== null).length],
    ['container', containers.length],
  ];
}
