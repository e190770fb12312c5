/**
 * Runs the containers of one assembled build: services beside, plugins first, then stages as their needs allow, the
 * steps of a stage in order.
 *
 * A failed step does not throw: it changes the status that later steps are decided by. Whether a step runs is decided
 * once, at the moment its turn comes.
 */
import type { SettledOutcome } from '../../machines/outcome.ts';
import { type Clock, sleep } from '../clock.ts';
import { isPodwrightError } from '../errors.ts';
import { type Mask, maskLines } from '../logs/mask.ts';
import type { Build, Runtime } from '../runtime/contract.ts';
import type { ExecutorEvent, StepRef } from './events.ts';
import type { Plan, PlannedService, PlannedStage, PlannedStep } from './plan.ts';
import { type BuildOutcome, endsPod, type StepResult, statusOf } from './result.ts';

export interface StepRunOptions {
  readonly runtime: Runtime;
  readonly build: Build;
  readonly plan: Plan;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether the time of the whole build is over. */
  readonly isTimedOut: () => boolean;
  readonly emit: (event: ExecutorEvent) => void;
  readonly mask: Mask;
  /** How long the first step waits for services to be ready. */
  readonly serviceReadyMs: number;
  /** Called when a step with artifacts has ended, before the next one starts. */
  readonly collect?: (step: PlannedStep) => Promise<void>;
}

/** How long the log of a container that has ended may still take to come. */
const lastLinesMs = 30_000;
/** The same for one that was canceled: the removal of its pod does not wait for a server that is slow. */
const canceledLinesMs = 2_000;
const tooLate = new Error('the service is not ready in time');

export class StepRun {
  readonly #options: StepRunOptions;
  readonly #results = new Map<string, StepResult>();
  /** Logs that are still read, and containers nobody waits for. */
  readonly #background = new Set<Promise<void>>();
  /** Aborted when all steps have ended: what runs beside them is not followed any longer. */
  readonly #over = new AbortController();
  /** The first thing that went wrong decides what the build is. */
  #outcome: BuildOutcome = 'succeeded';
  /** Set when the pod is gone: nothing can run in it. */
  #podEnd: string | undefined;

  constructor(options: StepRunOptions) {
    this.#options = options;
  }

  get outcome(): BuildOutcome {
    return this.#options.signal.aborted ? 'canceled' : this.#outcome;
  }

  /** In the order of the plan. Complete once `run` has resolved or rejected. */
  results(): readonly StepResult[] {
    const { plan } = this.#options;
    const steps = plan.stages
      .flatMap((stage) => stage.steps)
      .map((step) => this.#resultOf(stepRef(step, 'step'), step));
    return [
      ...plan.plugins.map((plugin) => this.#resultOf(stepRef(plugin, 'plugin'), plugin)),
      ...plan.services.map((service) => this.#resultOf(serviceRef(service), service)),
      ...steps,
    ];
  }

  /** Rejects with the runtime's error; the results then tell how far it came. */
  async run(): Promise<void> {
    const { plan } = this.#options;
    try {
      await Promise.all(plan.services.map((service) => this.#startService(service)));
      for (const plugin of plan.plugins) await this.#runInTurn(plugin, 'plugin', () => this.#outcome);
      await this.#runStages(plan.stages);
    } finally {
      this.#over.abort();
      await Promise.allSettled(this.#background);
    }
  }

  /** A stage waits for those it needs; one whose need failed starts too, and its rules decide. */
  async #runStages(stages: readonly PlannedStage[]): Promise<void> {
    const ended = new Map<string, Promise<void>>();
    const start = (stage: PlannedStage): Promise<void> => {
      const known = ended.get(stage.name);
      if (known !== undefined) return known;
      const needs = stages.filter((other) => stage.needs.includes(other.name)).map(start);
      const own = Promise.all(needs).then(() => this.#runStage(stage));
      ended.set(stage.name, own);
      return own;
    };
    const settled = await Promise.allSettled(stages.map(start));
    const failed = settled.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #runStage(stage: PlannedStage): Promise<void> {
    let own: BuildOutcome = 'succeeded';
    for (const step of stage.steps) {
      const status = await this.#runInTurn(step, 'step', () => (stage.independent ? own : this.#outcome));
      if (status === 'failed' || status === 'error' || status === 'canceled') own = status;
    }
  }

  /** Runs the step, or says why not. Gives what it means for the build. */
  async #runInTurn(step: PlannedStep, kind: 'step' | 'plugin', scope: () => BuildOutcome): Promise<BuildOutcome> {
    const ref = stepRef(step, kind);
    if (this.#options.signal.aborted) return 'canceled';
    const reason = this.#reasonToSkip(step, scope());
    if (reason !== undefined) {
      this.#emit({ type: 'step.skipped', at: this.#now(), step: ref, reason });
      this.#settle(ref, { ...blankResult(ref, step), status: 'skipped', reason });
      return 'succeeded';
    }
    const started = this.#start(ref, step);
    if (step.detach) {
      this.#inBackground(started.then(() => undefined));
      return this.#launched(ref, step.continues);
    }
    const result = await started;
    if (step.artifacts.length > 0) await this.#options.collect?.(step);
    return this.#account(result);
  }

  #reasonToSkip(step: PlannedStep, status: BuildOutcome): string | undefined {
    if (step.when.runs === 'never') return step.when.reason;
    if (this.#podEnd !== undefined) return this.#podEnd;
    const isWell = status === 'succeeded';
    if (step.when.runs === 'success' && !isWell) return 'an earlier step failed';
    if (step.when.runs === 'failure' && isWell) return 'it runs only when the build has failed';
    return undefined;
  }

  /** A service that cannot start fails the build; one that ends later is told, and the steps decide. */
  async #startService(service: PlannedService): Promise<void> {
    const ref = serviceRef(service);
    this.#inBackground(this.#start(ref, service).then(() => undefined));
    const outcome = await this.#launched(ref);
    if (outcome === 'succeeded' && service.readiness !== null) await this.#ready(ref, service.readiness);
  }

  /** The steps do not wait for ever: what a late service means for them, they show themselves. */
  async #ready(ref: StepRef, readiness: string): Promise<void> {
    const { runtime, build, clock, serviceReadyMs } = this.#options;
    const startedAt = this.#now();
    const giveUp = new AbortController();
    const timer = clock.schedule(serviceReadyMs, () => giveUp.abort(tooLate));
    const signal = AbortSignal.any([giveUp.signal, this.#options.signal]);
    try {
      const isReady = await runtime.readyContainer(build, ref.container, { signal });
      this.#emit({
        type: 'service.ready',
        at: this.#now(),
        step: ref,
        isReady,
        readiness,
        afterMs: this.#now() - startedAt,
      });
    } catch (error) {
      if (error !== tooLate) {
        if (this.#options.signal.aborted) return;
        throw error;
      }
      this.#emit({
        type: 'service.ready',
        at: this.#now(),
        step: ref,
        isReady: false,
        readiness,
        afterMs: serviceReadyMs,
      });
    } finally {
      timer.cancel();
    }
  }

  /** What the launch of a container that nobody waits for means for the build. */
  async #launched(ref: StepRef, continues = false): Promise<BuildOutcome> {
    const { runtime, build } = this.#options;
    const outcome = await runtime.runContainer(build, ref.container);
    if (outcome.outcome === 'running' || outcome.outcome === 'terminated') return 'succeeded';
    if (this.#mayFail(continues, outcome)) return 'succeeded';
    return this.#note(statusOf(outcome), outcome);
  }

  /** From the request to the verdict and the last line of the log. */
  async #start(ref: StepRef, planned: PlannedStep | PlannedService): Promise<StepResult> {
    const { runtime, build } = this.#options;
    const startedAt = this.#now();
    this.#emit({ type: 'step.started', at: startedAt, step: ref, image: planned.image });
    const tail = new AbortController();
    const log = this.#followLog(ref, tail.signal);
    try {
      await runtime.runContainer(build, ref.container);
      const outcome = await this.#verdict(ref);
      if (outcome === undefined) {
        // It goes with the pod; its log ends with what it has printed by now.
        await runtime.removeContainer(build, ref.container);
        await this.#lastLines(ref, log, true);
        return this.#settle(ref, { ...blankResult(ref, planned), status: 'detached', startedAt });
      }
      await this.#lastLines(ref, log, outcome.outcome === 'canceled');
      const told = maskOutcome(outcome, this.#options.mask);
      const ended = { status: statusOf(outcome), outcome: told, startedAt, endedAt: this.#now() };
      const blank = blankResult(ref, planned);
      return this.#settle(ref, { ...blank, ...ended, continues: blank.continues || this.#isAside(ref, outcome) });
    } finally {
      tail.abort();
      await log;
    }
  }

  /** Undefined when all other steps have ended before it. */
  async #verdict(ref: StepRef): Promise<SettledOutcome | undefined> {
    const { runtime, build } = this.#options;
    const settled = runtime.waitContainer(build, ref.container);
    const isAlone = !this.#mayOutlive(ref);
    if (isAlone) return settled;
    const over = new Promise<undefined>((resolve) => {
      if (this.#over.signal.aborted) resolve(undefined);
      else this.#over.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    // What is lost here is told by whoever waits for the runtime.
    settled.catch(() => undefined);
    return Promise.race([settled, over]);
  }

  /** Whether this ending leaves the verdict to the steps that are waited for. */
  #isAside(ref: StepRef, outcome: SettledOutcome): boolean {
    return this.#mayOutlive(ref) && outcome.outcome === 'terminated' && !endsPod(outcome);
  }

  #mayOutlive(ref: StepRef): boolean {
    if (ref.kind === 'service') return true;
    return this.#options.plan.stages.some((stage) =>
      stage.steps.some((step) => step.container === ref.container && step.detach),
    );
  }

  async #followLog(ref: StepRef, signal: AbortSignal): Promise<void> {
    const { runtime, build, mask } = this.#options;
    try {
      for await (const line of maskLines(runtime.tailContainer(build, ref.container, { signal }), mask)) {
        this.#emit({
          type: 'step.log',
          at: this.#now(),
          step: ref,
          line: line.text,
          time: line.at,
          partial: line.partial === true,
          gap: line.gap ?? null,
        });
      }
    } catch (error) {
      if (!isPodwrightError(error)) throw error;
      this.#emitLogLost(ref, error.message);
    }
  }

  /** Waits for the rest of the log of a step that has ended or is given up, but not for ever. */
  async #lastLines(ref: StepRef, log: Promise<void>, isCanceled: boolean): Promise<void> {
    const timer = new AbortController();
    const late = sleep(this.#options.clock, isCanceled ? canceledLinesMs : lastLinesMs, timer.signal).then(
      () => true,
      () => false,
    );
    const isLate = await Promise.race([log.then(() => false), late]);
    timer.abort();
    await late;
    if (isLate && !isCanceled) this.#emitLogLost(ref, `its last lines did not come within ${lastLinesMs / 1000} s`);
  }

  /** A log that cannot be read changes no verdict; the user is told in its place. */
  #emitLogLost(ref: StepRef, message: string): void {
    const gap = { after: null, before: null, reason: 'unavailable', message } as const;
    this.#emit({ type: 'step.log', at: this.#now(), step: ref, line: '', time: '', partial: false, gap });
  }

  #account(result: StepResult): BuildOutcome {
    if (result.status === 'succeeded' || result.outcome === null) return 'succeeded';
    if (this.#mayFail(result.continues, result.outcome)) return 'succeeded';
    return this.#note(statusOf(result.outcome), result.outcome);
  }

  /** That the time of the whole build was over is no failure of the step. */
  #mayFail(continues: boolean, outcome: SettledOutcome): boolean {
    return continues && !(outcome.outcome === 'canceled' && this.#options.isTimedOut());
  }

  #note(status: BuildOutcome, outcome: SettledOutcome): BuildOutcome {
    if (this.#outcome === 'succeeded') this.#outcome = status;
    if (endsPod(outcome)) this.#podEnd ??= 'the pod has ended';
    return status;
  }

  #settle(ref: StepRef, result: StepResult): StepResult {
    this.#results.set(ref.container === '' ? `${ref.number}` : ref.container, result);
    if (result.status !== 'skipped') this.#emit({ type: 'step.settled', at: this.#now(), step: ref, result });
    return result;
  }

  /** What was never reached was canceled with the build, or skipped after its failure. */
  #resultOf(ref: StepRef, planned: PlannedStep | PlannedService): StepResult {
    const known = this.#results.get(ref.container === '' ? `${ref.number}` : ref.container);
    if (known !== undefined) return known;
    if (this.#options.signal.aborted) return { ...blankResult(ref, planned), status: 'canceled' };
    return { ...blankResult(ref, planned), status: 'skipped', reason: this.#podEnd ?? 'the build ended before it' };
  }

  #inBackground(work: Promise<void>): void {
    // Its failure is the runtime's, which the steps in turn meet as well.
    const entry: Promise<void> = work.catch(() => undefined).finally(() => this.#background.delete(entry));
    this.#background.add(entry);
  }

  #emit(event: ExecutorEvent): void {
    this.#options.emit(event);
  }

  #now(): number {
    return this.#options.clock.now();
  }
}

export function stepRef(step: PlannedStep, kind: 'step' | 'plugin'): StepRef {
  return { kind, name: step.name, stage: step.stage, number: step.number, container: step.container };
}

export function serviceRef(service: PlannedService): StepRef {
  return { kind: 'service', name: service.name, stage: '', number: 0, container: service.container };
}

/** A container may have written its last words into the pod's status. */
function maskOutcome(outcome: SettledOutcome, mask: Mask): SettledOutcome {
  if (outcome.outcome === 'canceled' || outcome.message === null) return outcome;
  return { ...outcome, message: mask.apply(outcome.message) };
}

/** Of a container that has not run. */
export function blankResult(ref: StepRef, planned: PlannedStep | PlannedService): StepResult {
  return {
    kind: ref.kind,
    name: ref.name,
    stage: ref.stage,
    number: ref.number,
    image: planned.image,
    status: 'skipped',
    continues: 'continues' in planned && planned.continues,
    reason: null,
    outcome: null,
    startedAt: null,
    endedAt: null,
  };
}
