/**
 * Executes a compiled pipeline on a runtime: one build from its set-up to the removal of its pod.
 *
 * The ending of a build is a value, whatever went wrong: a failure of the runtime is in `result.error`. The pod is
 * removed on every way out, also after a cancel, and `build.settled` is the last event.
 */
import { type Clock, systemClock, type Timer } from '../clock.ts';
import { isPodwrightError, type PodwrightError } from '../errors.ts';
import { createMask, type Mask } from '../logs/mask.ts';
import type { PhaseTimeouts, PodOptions } from '../pod/build-spec.ts';
import type { Build, BuildStreamItem, RemovalReport, Runtime } from '../runtime/contract.ts';
import type { CompiledPipeline } from './compile.ts';
import type { ExecutorEvent, StepRef } from './events.ts';
import { type PlannedStep, stepsOf } from './plan.ts';
import type { BuildOutcome, BuildResult } from './result.ts';
import { blankResult, StepRun, serviceRef, stepRef } from './run-steps.ts';

export interface ExecuteOptions {
  readonly runtime: Runtime;
  /** The build's id, unique among the live builds of the runtime's owner. */
  readonly id: string;
  /** Aborting it cancels the build; the pod is still removed. */
  readonly signal?: AbortSignal;
  /** Called for every event, in order, also during the removal. What it throws ends the build as an error. */
  readonly on?: (event: ExecutorEvent) => void;
  /** Further values to hide, besides the pipeline's secrets. */
  readonly masked?: readonly string[];
  /** Limit of the whole build in milliseconds, from the first step; 0 means none. */
  readonly timeoutMs?: number;
  readonly timeouts?: PhaseTimeouts;
  readonly pod?: PodOptions;
  readonly labels?: Readonly<Record<string, string>>;
  /** How often a build that the infrastructure ended is run again, from its first step. Default 0. */
  readonly retries?: number;
  /** How long the first step waits for services to be ready; then it starts all the same. Default 60,000. */
  readonly serviceReadyMs?: number;
  /** Whether the pod stays for a look at it. Default false. */
  readonly keep?: boolean;
  /** Brings sources in, when the pod waits and before anything runs. */
  readonly prepare?: (build: Build, signal: AbortSignal) => Promise<void>;
  /** Takes artifacts out, when a step that names some has ended. */
  readonly collect?: (build: Build, step: PlannedStep) => Promise<void>;
  /** A build that the runtime has adopted, to be gone on with: its pod was made from the same plan. */
  readonly adopted?: Build;
  readonly clock?: Clock;
}

const defaultServiceReadyMs = 60_000;

/** For builds that are to be adopted later; see `readPlan`. */
export const planAnnotation = 'podwright-executor/plan';

/**
 * Rejects only where there was no build: with what `setupBuild` says of a spec that cannot run. Otherwise a fault of
 * podwright itself is all that is thrown.
 */
export async function execute(pipeline: CompiledPipeline, options: ExecuteOptions): Promise<BuildResult> {
  const clock = options.clock ?? systemClock;
  const startedAt = clock.now();
  if (pipeline.spec.containers.length === 0 && options.adopted === undefined)
    return nothingToRun(pipeline, options, startedAt);
  const limit = options.retries ?? 0;
  let run = await new BuildRun(pipeline, options, clock, 0).run();
  let retries = 0;
  while (run.outcome === 'error' && isRetriable(run) && retries < limit && options.signal?.aborted !== true) {
    retries++;
    options.on?.({ type: 'build.retried', at: clock.now(), retry: retries, reason: reasonOf(run) });
    run = await new BuildRun(pipeline, options, clock, retries).run();
  }
  const result: BuildResult = { ...run, startedAt, endedAt: clock.now(), retries };
  options.on?.({ type: 'build.settled', at: result.endedAt, result });
  return result;
}

/** Every step is left out by its rules: a success without a pod. */
function nothingToRun(pipeline: CompiledPipeline, options: ExecuteOptions, at: number): BuildResult {
  const steps = stepsOf(pipeline.plan).map((step) => {
    const reason = step.when.runs === 'never' ? step.when.reason : '';
    const ref = stepRef(step, 'step');
    options.on?.({ type: 'step.skipped', at, step: ref, reason });
    return { ...blankResult(ref, step), reason };
  });
  const result: BuildResult = {
    id: options.id,
    outcome: 'succeeded',
    steps,
    error: null,
    timedOut: false,
    removal: null,
    startedAt: at,
    endedAt: at,
    retries: 0,
  };
  options.on?.({ type: 'build.settled', at, result });
  return result;
}

/** What a new pod may heal. A right that is missing, or a cluster nobody can reach, it does not. */
const retriableErrors: ReadonlySet<string> = new Set(['ERR_PODWRIGHT_POD_LOST', 'ERR_PODWRIGHT_TIMEOUT']);

function isRetriable(run: RunResult): boolean {
  return run.error === null || retriableErrors.has(run.error.code);
}

function reasonOf(run: RunResult): string {
  if (run.error !== null) return run.error.message;
  const failed = run.steps.find((step) => step.status === 'error');
  const cause = failed?.outcome?.outcome === 'terminated' ? failed.outcome.cause : 'unknown';
  return `step "${failed?.name ?? '?'}" ended by the infrastructure: ${cause}`;
}

type RunResult = Omit<BuildResult, 'startedAt' | 'endedAt' | 'retries'>;

/** One pod's worth of a build. */
class BuildRun {
  readonly #pipeline: CompiledPipeline;
  readonly #options: ExecuteOptions;
  readonly #clock: Clock;
  readonly #id: string;
  readonly #refs: ReadonlyMap<string, StepRef>;
  readonly #mask: Mask;
  readonly #cancel = new AbortController();
  #timedOut = false;

  constructor(pipeline: CompiledPipeline, options: ExecuteOptions, clock: Clock, retry: number) {
    this.#pipeline = pipeline;
    this.#options = options;
    this.#clock = clock;
    this.#id = retry === 0 ? options.id : `${options.id}-retry-${retry}`;
    this.#mask = createMask([...pipeline.masked, ...(options.masked ?? [])]);
    const { plan } = pipeline;
    const refs = [
      ...plan.plugins.map((plugin) => stepRef(plugin, 'plugin')),
      ...plan.services.map(serviceRef),
      ...plan.stages.flatMap((stage) => stage.steps).map((step) => stepRef(step, 'step')),
    ];
    this.#refs = new Map(refs.map((ref) => [ref.container, ref]));
  }

  /** Rejects when the build cannot be set up: then nothing was created. */
  async run(): Promise<RunResult> {
    const build = await this.#setup();
    const steps = this.#stepRun(build);
    const stopListening = this.#listenForCancel();
    const stream = this.#follow(build);
    let caught: unknown = null;
    try {
      await this.#assemble(build);
      await this.#runSteps(build, steps);
    } catch (reason) {
      caught = reason;
    } finally {
      stopListening();
      await stream.stop();
    }
    const { signal } = this.#cancel;
    const isCancel = signal.aborted && caught === signal.reason;
    const isFault = caught !== null && !isPodwrightError(caught) && !isCancel;
    const error = isPodwrightError(caught) ? caught : null;
    const outcome = isFault ? 'error' : this.#outcome(steps, error);
    this.#options.runtime.concludeBuild(build, outcome === 'error' ? 'errored' : outcome);
    const removal = await this.#remove(build);
    // What is not ours is a fault of podwright itself, and must not pass as an ending of a build.
    if (isFault) throw caught;
    return { id: this.#id, outcome, steps: steps.results(), error, timedOut: this.#timedOut, removal };
  }

  async #setup(): Promise<Build> {
    const { timeouts, pod, labels, adopted } = this.#options;
    // What is run again after the infrastructure failed is a build of its own.
    if (adopted !== undefined && this.#id === this.#options.id) return adopted;
    return await this.#options.runtime.setupBuild({
      ...this.#pipeline.spec,
      id: this.#id,
      annotations: { ...this.#pipeline.spec.annotations, [planAnnotation]: JSON.stringify(this.#pipeline.plan) },
      ...(timeouts === undefined ? {} : { timeouts }),
      ...(pod === undefined ? {} : { pod }),
      ...(labels === undefined ? {} : { labels }),
    });
  }

  async #assemble(build: Build): Promise<void> {
    const { runtime, prepare } = this.#options;
    this.#emit({
      type: 'build.prepared',
      at: this.#clock.now(),
      build: build.id,
      namespace: build.namespace,
      pod: build.podName,
      plan: this.#pipeline.plan,
      limits: runtime.inspectBuild(build).limits,
    });
    await runtime.assembleBuild(build, { signal: this.#cancel.signal });
    const { node, retriesPulls } = runtime.inspectBuild(build).pod;
    this.#emit({ type: 'build.assembled', at: this.#clock.now(), node, retriesPulls });
    await prepare?.(build, this.#cancel.signal);
  }

  async #runSteps(build: Build, steps: StepRun): Promise<void> {
    const { timeoutMs = 0, runtime } = this.#options;
    const onTimeout = (): void => {
      this.#timedOut = true;
      runtime.cancelBuild(build, 'timeout', 'run');
    };
    const timer: Timer | undefined = timeoutMs > 0 ? this.#clock.schedule(timeoutMs, onTimeout) : undefined;
    try {
      await steps.run();
    } finally {
      timer?.cancel();
    }
  }

  #stepRun(build: Build): StepRun {
    const { runtime, collect, serviceReadyMs = defaultServiceReadyMs } = this.#options;
    return new StepRun({
      runtime,
      build,
      plan: this.#pipeline.plan,
      clock: this.#clock,
      signal: this.#cancel.signal,
      isTimedOut: () => this.#timedOut,
      emit: (event) => this.#emit(event),
      mask: this.#mask,
      serviceReadyMs,
      ...(collect === undefined ? {} : { collect: (step: PlannedStep) => collect(build, step) }),
    });
  }

  /** Removal must also work when the build was canceled, so it has no signal. */
  async #remove(build: Build): Promise<RemovalReport | null> {
    if (this.#options.keep === true) return null;
    try {
      const report = await this.#options.runtime.removeBuild(build);
      this.#emit({ type: 'build.removed', at: this.#clock.now(), report });
      return report;
    } catch (error) {
      if (!isPodwrightError(error)) throw error;
      return { gone: false, forced: false, remaining: [`pod ${build.namespace}/${build.podName}: ${error.message}`] };
    }
  }

  #listenForCancel(): () => void {
    const { signal } = this.#options;
    if (signal === undefined) return () => undefined;
    const onAbort = (): void => this.#cancel.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    return () => signal.removeEventListener('abort', onAbort);
  }

  /** Passes the build's own stream on, until stopped. */
  #follow(build: Build): { stop: () => Promise<void> } {
    const end = new AbortController();
    const onCancel = (): void => this.#options.runtime.cancelBuild(build, 'caller');
    this.#cancel.signal.addEventListener('abort', onCancel, { once: true });
    if (this.#cancel.signal.aborted) onCancel();
    const done = (async () => {
      for await (const item of this.#options.runtime.streamBuild(build, { signal: end.signal })) this.#pass(item);
    })();
    return {
      stop: async () => {
        this.#cancel.signal.removeEventListener('abort', onCancel);
        end.abort();
        await done;
      },
    };
  }

  #pass(item: BuildStreamItem): void {
    if (item.kind === 'health') {
      const { pods, events } = item.health;
      this.#emit({ type: 'health', at: item.at, pods: pods.state, events: events.state });
    }
    if (item.kind === 'kubeEvent') {
      const { at, reason, type: severity, container } = item;
      this.#emit({ type: 'kube.event', at, reason, message: this.#mask.apply(item.message), severity, container });
    }
    if (item.kind !== 'state' || item.change.actor !== 'container') return;
    const { container, state, outcome } = item.change;
    const step = this.#refs.get(container);
    if (step !== undefined && state !== 'pending') {
      this.#emit({ type: 'step.state', at: item.at, step, state, outcome });
    }
  }

  #outcome(steps: StepRun, error: PodwrightError | null): BuildOutcome {
    if (this.#cancel.signal.aborted) return 'canceled';
    return error === null ? steps.outcome : 'error';
  }

  #emit(event: ExecutorEvent): void {
    this.#options.on?.(event);
  }
}
