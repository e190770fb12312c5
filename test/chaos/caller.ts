/** An executor as users write them: takes a build through all verbs, tries again what failed in passing, writes all down. */
import type { Outcome, SettledOutcome } from '../../machines/outcome.ts';
import { type Clock, sleep } from '../../src/clock.ts';
import { isPodwrightError, PodwrightError } from '../../src/errors.ts';
import type { LogPosition } from '../../src/logs/follow.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import { type Act, type PlannedBuild, type PlannedStep, runLimitMs } from './plan.ts';
import type { Shift, Worker } from './worker.ts';

export interface StepReport {
  asked: boolean;
  launched: Outcome | undefined;
  verdict: SettledOutcome | undefined;
  readonly lines: string[];
  position: LogPosition | undefined;
  readonly gaps: string[];
  /** Whether its log was read to an end. */
  isRead: boolean;
  /** Of a verb, where the contract has one. */
  error: string | undefined;
}

export interface BuildReport {
  readonly plan: PlannedBuild;
  podName: string | undefined;
  readonly steps: Map<string, StepReport>;
  /** The act, once it took place. */
  acted: Act['kind'] | undefined;
  /** A worker found its pod gone. */
  lost: boolean;
  assemblyError: string | undefined;
  removed: boolean;
  /** What no contract allows. */
  readonly surprises: string[];
  /** What the caller waits for, for the report of a hang. */
  doing: string;
}

export interface CallerOptions {
  readonly worker: Worker;
  readonly clock: Clock;
  /** Deletes the pod as somebody else would; false when there is none. */
  readonly deletePod: (podName: string) => Promise<boolean>;
}

/** They pass, or may: the caller tries again. */
const passing: ReadonlySet<string> = new Set([
  'ERR_PODWRIGHT_CLUSTER_UNREACHABLE',
  'ERR_PODWRIGHT_API',
  'ERR_PODWRIGHT_UNAUTHORIZED',
]);
const pauseMs = 1_000;
const attempts = 100;

/** The present worker died: the next one goes on. */
class Died extends Error {}

export class Caller {
  readonly report: BuildReport;
  readonly #options: CallerOptions;
  readonly #abort = new AbortController();
  #build: Build | undefined;
  #runtime: Runtime | undefined;
  /** Its pod was there, made by this worker or found by a later one: it is not made again. */
  #isOnCluster = false;

  constructor(plan: PlannedBuild, options: CallerOptions) {
    this.#options = options;
    this.report = {
      plan,
      podName: undefined,
      steps: new Map(plan.steps.map(({ name }) => [name, emptyReport()])),
      acted: undefined,
      lost: false,
      assemblyError: undefined,
      removed: false,
      surprises: [],
      doing: '',
    };
  }

  async run(): Promise<void> {
    const { clock, worker } = this.#options;
    const { startsAtMs, act } = this.report.plan;
    await sleep(clock, startsAtMs);
    if (act !== undefined) clock.schedule(act.afterMs, () => void this.#act(act));
    for (let last = 0; ; ) {
      const shift = await worker.shift;
      // The death is told to callers before the next shift begins.
      if (shift.number === last) {
        await sleep(clock, 100);
        continue;
      }
      last = shift.number;
      try {
        await this.#work(shift);
        return;
      } catch (error) {
        if (error instanceof Died) continue;
        this.report.surprises.push(String(error instanceof PodwrightError ? `${error.code} ${error.message}` : error));
        return;
      }
    }
  }

  async #work(shift: Shift): Promise<void> {
    const { report } = this;
    this.#runtime = shift.runtime;
    const build = await this.#takeUp(shift);
    if (build === undefined) return;
    this.#build = build;
    report.podName = build.podName;
    // A cancel is the caller's to remember.
    if (report.acted !== undefined && report.acted !== 'deletePod') shift.runtime.cancelBuild(build);
    if (report.assemblyError === undefined) {
      const steps = report.plan.steps.map((step) => () => this.#step(shift, build, step));
      if (report.plan.atOnce) await Promise.all(steps.map((run) => run()));
      else for (const run of steps) await run();
    }
    await this.#remove(shift, build);
  }

  /** Undefined when there is nothing to go on with. */
  async #takeUp(shift: Shift): Promise<Build | undefined> {
    const { runtime, adopted } = shift;
    const { report } = this;
    const known = adopted.get(report.plan.id);
    if (known !== undefined) {
      this.#isOnCluster = true;
      return known;
    }
    if (this.#isOnCluster) {
      report.lost = true;
      report.removed = true;
      return undefined;
    }
    for (;;) {
      const build = await runtime.setupBuild({
        id: report.plan.id,
        containers: report.plan.steps.map(({ name, image }) => ({
          name,
          image,
          role: 'step' as const,
          script: 'anything',
          ...(report.plan.secret ? { secrets: { TOKEN: 's3cret' } } : {}),
        })),
        pod: { terminationGracePeriodSeconds: 2 },
        timeouts: { runMs: runLimitMs },
      });
      this.#build = build;
      report.podName = build.podName;
      if (report.acted === 'cancel' || report.acted === 'remove') runtime.cancelBuild(build);
      const error = await this.#verb(shift, 'assemble', () => runtime.assembleBuild(build)).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (error === undefined) {
        this.#isOnCluster = true;
        return build;
      }
      if (!isPodwrightError(error)) throw error;
      // The create of the worker before came after the next one had looked.
      if (error.code === 'ERR_PODWRIGHT_CONFLICT' && shift.number > 1) {
        await this.#verb(shift, 'remove', () => runtime.removeBuild(build));
        const [found] = (await this.#verb(shift, 'adopt', () => runtime.adopt())).filter(({ id }) => id === build.id);
        if (found === undefined) continue;
        this.#isOnCluster = true;
        return found;
      }
      report.assemblyError = error.code;
      return build;
    }
  }

  async #step(shift: Shift, build: Build, step: PlannedStep): Promise<void> {
    const { runtime } = shift;
    const report = this.#stepReport(step.name);
    if (report.verdict !== undefined && report.isRead) return;
    const signal = this.#abort.signal;
    const reading = this.#read(shift, build, step.name, report);
    // Judged below, where it is awaited.
    reading.catch(() => undefined);
    try {
      report.asked = true;
      const isFirst = report.verdict === undefined;
      report.launched = await this.#verb(shift, `run ${step.name}`, () =>
        runtime.runContainer(build, step.name, { signal }),
      );
      const verdict = await this.#verb(shift, `wait ${step.name}`, () =>
        runtime.waitContainer(build, step.name, { signal }),
      );
      if (isFirst) report.verdict = verdict;
    } catch (error) {
      if (error instanceof Died || !isPodwrightError(error)) throw error;
      report.error = error.code;
    }
    await reading;
  }

  /** From the last line on, also after a failure or in the next shift. */
  async #read(shift: Shift, build: Build, name: string, report: StepReport): Promise<void> {
    if (report.isRead) return;
    const read = async (): Promise<void> => {
      const from = report.position === undefined ? {} : { from: report.position };
      for await (const { text, gap, position } of shift.runtime.tailContainer(build, name, from)) {
        report.position = position;
        if (gap === undefined) report.lines.push(text);
        else report.gaps.push(`${gap.reason}: ${gap.message}`);
      }
    };
    try {
      await this.#verb(shift, `tail ${name}`, read);
      report.isRead = true;
    } catch (error) {
      // Somebody removed the build meanwhile.
      if (!isPodwrightError(error, 'ERR_PODWRIGHT_STOPPED')) throw error;
      report.isRead = true;
      report.gaps.push('stopped');
    }
  }

  async #remove(shift: Shift, build: Build): Promise<void> {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const { gone, remaining } = await this.#verb(shift, 'remove', () => shift.runtime.removeBuild(build));
      if (gone) {
        this.report.removed = true;
        return;
      }
      this.report.doing = `remaining: ${remaining.join()}`;
      if (await this.#isDead(shift)) throw new Died();
      await sleep(this.#options.clock, pauseMs);
    }
  }

  async #act({ kind }: Act): Promise<void> {
    const build = this.#build;
    const runtime = this.#runtime;
    if (build === undefined || runtime === undefined || this.report.removed) return;
    if (kind === 'deletePod') {
      if (await this.#options.deletePod(build.podName)) this.report.acted = kind;
      return;
    }
    this.report.acted = kind;
    if (kind === 'abortStep') this.#abort.abort();
    if (kind === 'cancel') runtime.cancelBuild(build);
    // What it comes to is seen by the caller's own removal.
    if (kind === 'remove') await runtime.removeBuild(build).catch(() => undefined);
  }

  /** Tries again what may pass. A call that a death ended, or answered before the death was known, counts as Died. */
  async #verb<T>(shift: Shift, what: string, call: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      this.report.doing = what;
      try {
        return await call();
      } catch (error) {
        if (await this.#isDead(shift)) throw new Died();
        if (!isPodwrightError(error) || !passing.has(error.code) || what === 'assemble' || attempt > attempts)
          throw error;
      }
      await sleep(this.#options.clock, pauseMs);
      if (await this.#isDead(shift)) throw new Died();
    }
  }

  async #isDead(shift: Shift): Promise<boolean> {
    const now = await this.#options.worker.shift;
    return now.number !== shift.number;
  }

  #stepReport(name: string): StepReport {
    const report = this.report.steps.get(name);
    if (report === undefined) throw new Error(`no step ${name}`);
    return report;
  }
}

function emptyReport(): StepReport {
  return {
    asked: false,
    launched: undefined,
    verdict: undefined,
    lines: [],
    position: undefined,
    gaps: [],
    isRead: false,
    error: undefined,
  };
}
