/**
 * The probes of a pod's containers (k8s `prober`): each run in its container again and again, until enough in a row say
 * the same. Until the startup probe has succeeded the others wait; a container that failed is not probed any more.
 */
import type { Clock, Timer } from '../../clock.ts';
import { texts } from '../texts.ts';
import type { Container, PodObject, Probe } from '../types.ts';
import { runHandler, timeoutText } from './handlers.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';

export interface ProberOptions {
  readonly clock: Clock;
  readonly runtime: ContainerRuntime;
  readonly record: (container: Container, type: 'Warning', reason: string, message: string) => void;
  /** What probes say of a container has changed. */
  readonly onChange: () => void;
}

const probeKinds = ['startup', 'liveness', 'readiness'] as const;

export type ProbeKind = (typeof probeKinds)[number];

/** What the probes say of an instance. */
export interface Health {
  readonly started: boolean;
  readonly ready: boolean;
  /** The probe by which it has to be ended. */
  readonly failed: ProbeKind | undefined;
}

interface Probed {
  readonly container: Container;
  readonly instance: InstanceView;
  readonly stop: AbortController;
  started: boolean;
  ready: boolean;
  failed: ProbeKind | undefined;
}

const healthy: Health = { started: true, ready: true, failed: undefined };

export class Prober {
  readonly #options: ProberOptions;
  readonly #probed = new Map<string, Probed>();
  readonly #timers = new Set<Timer>();
  #judges = true;

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Probes what runs now, and nothing else any more. */
  follow({ spec }: PodObject, instances: readonly InstanceView[]): void {
    const running = instances.filter(({ state }) => state === 'running');
    for (const id of this.#probed.keys()) if (!running.some((one) => one.id === id)) this.#leave(id);
    for (const instance of running) {
      const container = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === instance.name);
      const isProbed = container !== undefined && probeKinds.some((kind) => probeOf(container, kind) !== undefined);
      if (isProbed && !this.#probed.has(instance.id)) this.#begin(container, instance);
    }
  }

  /** Of a container without probes that it is well. */
  health(container: Container, { id }: InstanceView): Health {
    const unseen = {
      started: container.startupProbe === undefined,
      ready: container.readinessProbe === undefined,
      failed: undefined,
    };
    return this.#probed.get(id) ?? (unseen.started && unseen.ready ? healthy : unseen);
  }

  /** The pod ends: no probe ends a container any more; whether one is ready is still asked. */
  judgeNoMore(): void {
    this.#judges = false;
  }

  stop(): void {
    for (const id of [...this.#probed.keys()]) this.#leave(id);
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #begin(container: Container, instance: InstanceView): void {
    const started = container.startupProbe === undefined;
    const ready = container.readinessProbe === undefined;
    const probed = { container, instance, stop: new AbortController(), started, ready, failed: undefined };
    this.#probed.set(instance.id, probed);
    for (const kind of probeKinds) {
      const probe = probeOf(container, kind);
      if (probe !== undefined) void this.#probe(probed, kind, probe);
    }
  }

  #leave(id: string): void {
    this.#probed.get(id)?.stop.abort();
    this.#probed.delete(id);
  }

  async #probe(probed: Probed, kind: ProbeKind, probe: Probe): Promise<void> {
    const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
    const { clock } = this.#options;
    const startedAt = probed.instance.startedAt ?? clock.now();
    let last: boolean | undefined;
    let inRow = 0;
    for (; !probed.stop.signal.aborted; await this.#pause(periodSeconds * 1000)) {
      if (clock.now() - startedAt < initialDelaySeconds * 1000) continue;
      // The startup probe has done its work once it succeeded; until then it is alone.
      if (kind === 'startup' ? probed.started : !probed.started) continue;
      if (kind !== 'readiness' && !this.#judges) return;
      const failure = await this.#try(probed, probe);
      if (probed.stop.signal.aborted || probed.failed !== undefined) return;
      if (failure !== undefined) {
        this.#options.record(probed.container, 'Warning', 'Unhealthy', texts.probeFailed(kind, failure));
      }
      const succeeded = failure === undefined;
      inRow = succeeded === last ? inRow + 1 : 1;
      last = succeeded;
      if (inRow === (succeeded ? successThreshold : failureThreshold)) this.#conclude(probed, kind, succeeded);
      if (probed.failed !== undefined) return;
    }
  }

  #conclude(probed: Probed, kind: ProbeKind, succeeded: boolean): void {
    if (kind === 'readiness') probed.ready = succeeded;
    else if (!succeeded) probed.failed = kind;
    else if (kind === 'startup') probed.started = true;
    else return;
    this.#options.onChange();
  }

  /** What the failed probe said; undefined when it succeeded. */
  async #try({ container, instance, stop }: Probed, probe: Probe): Promise<string | undefined> {
    const { clock, runtime } = this.#options;
    const { timeoutSeconds = 1 } = probe;
    const run = { container, instance, handler: probe };
    const over = new AbortController();
    const timer = clock.schedule(timeoutSeconds * 1000, () => over.abort());
    const { exitCode, output } = await runHandler(runtime, run, AbortSignal.any([over.signal, stop.signal]));
    timer.cancel();
    if (over.signal.aborted) return timeoutText(run);
    return exitCode === 0 ? undefined : output;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.schedule(ms, () => {
        this.#timers.delete(timer);
        resolve();
      });
      this.#timers.add(timer);
    });
  }
}

function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  return container[`${kind}Probe`];
}
