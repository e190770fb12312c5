/** A runtime whose containers live as the test says: enough of the contract to run a plan on, and nothing of a cluster. */
import type { Cause, Outcome, PullFailureClass, SettledOutcome } from '../../machines/outcome.ts';
import { PodwrightError } from '../../src/errors.ts';
import type { LogLine } from '../../src/logs/follow.ts';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import type { Build, BuildStreamItem, BuildView, Runtime } from '../../src/runtime/contract.ts';

export interface Life {
  readonly log?: readonly string[];
  /** Lines that come only when its log is read to the end. */
  readonly lastLines?: readonly string[];
  /** Its log can be read no further, and does not end. */
  readonly logHangs?: boolean;
  /** Not before `ScriptedRuntime.end` says so. */
  readonly runsOn?: boolean;
  readonly ends?: SettledOutcome;
  readonly throws?: PodwrightError;
  readonly neverReady?: boolean;
}

const provenance = { decidedAt: 0, source: 'podStatus' } as const;

export function terminated(
  exitCode: number | null,
  cause: Cause = exitCode === 0 ? 'completed' : 'error',
): SettledOutcome {
  return { outcome: 'terminated', exitCode, cause, message: null, startedAt: null, finishedAt: null, provenance };
}

export function pullFailed(kind: PullFailureClass, message: string): SettledOutcome {
  return { outcome: 'pullFailed', class: kind, permanent: true, retried: true, message, attempts: 2, provenance };
}

export function canceled(reason: 'caller' | 'timeout' = 'caller'): SettledOutcome {
  return { outcome: 'canceled', reason, phase: 'run', provenance };
}

interface Running {
  readonly settled: Promise<SettledOutcome>;
  readonly settle: (outcome: SettledOutcome) => void;
}

export class ScriptedRuntime implements Partial<Runtime> {
  readonly lives: Readonly<Record<string, Life>>;
  /** Every verb that was called, in order. */
  readonly calls: string[] = [];
  readonly conclusions: string[] = [];
  readonly #running = new Map<string, Running>();
  readonly #asked = new Set<string>();
  #spec: BuildSpec | undefined;
  #isCanceled: SettledOutcome | undefined;
  removal = { gone: true, forced: false, remaining: [] as readonly string[] };
  failAssembly: PodwrightError | undefined;
  failRemoval: PodwrightError | undefined;
  /** What a retried build does: taken in turn. */
  nextLives: Readonly<Record<string, Life>>[] = [];

  constructor(lives: Readonly<Record<string, Life>> = {}) {
    this.lives = lives;
  }

  get spec(): BuildSpec {
    if (this.#spec === undefined) throw new Error('no build was set up');
    return this.#spec;
  }

  /** Started containers, in order. */
  get started(): readonly string[] {
    return this.calls.filter((call) => call.startsWith('run ')).map((call) => call.slice(4));
  }

  asRuntime(): Runtime {
    return this as unknown as Runtime;
  }

  end(container: string, outcome: SettledOutcome = terminated(0)): void {
    this.#container(container).settle(outcome);
  }

  setupBuild(spec: BuildSpec): Promise<Build> {
    this.calls.push(`setup ${spec.id}`);
    this.#spec = spec;
    this.#running.clear();
    this.#asked.clear();
    return Promise.resolve({ id: spec.id, namespace: 'test', podName: `pod-${spec.id}` });
  }

  async assembleBuild(): Promise<void> {
    this.calls.push('assemble');
    if (this.failAssembly !== undefined) throw this.failAssembly;
    if (this.#isCanceled !== undefined) throw new PodwrightError('ERR_PODWRIGHT_STOPPED', 'canceled');
  }

  inspectBuild(build: Build): BuildView {
    const pod = { state: 'running', uid: 'u', node: 'node-1', cause: null, message: null, retriesPulls: true };
    return { build, state: 'running', pod, containers: [], story: [], limits: [] };
  }

  async runContainer(_build: Build, name: string): Promise<Outcome> {
    // Asking again is allowed and asks for nothing.
    if (!this.#asked.has(name)) this.calls.push(`run ${name}`);
    this.#asked.add(name);
    const life = this.#life(name);
    if (life.throws !== undefined) throw life.throws;
    const running = this.#container(name);
    if (this.#isCanceled !== undefined) running.settle(this.#isCanceled);
    else if (life.runsOn !== true) running.settle(life.ends ?? terminated(0));
    return life.runsOn === true ? { outcome: 'running', startedAt: null, provenance } : running.settled;
  }

  readyContainer(_build: Build, name: string, { signal }: { signal?: AbortSignal } = {}): Promise<boolean> {
    this.calls.push(`ready ${name}`);
    if (this.#life(name).neverReady !== true) return Promise.resolve(true);
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason), { once: true }));
  }

  waitContainer(_build: Build, name: string): Promise<SettledOutcome> {
    return this.#container(name).settled;
  }

  async *tailContainer(_build: Build, name: string, { signal }: { signal?: AbortSignal } = {}): AsyncIterable<LogLine> {
    for (const [index, text] of (this.#life(name).log ?? []).entries()) yield { text, at: '', position: String(index) };
    const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
    await (this.#life(name).logHangs === true ? aborted : Promise.race([this.#container(name).settled, aborted]));
    if (signal?.aborted === true) return;
    for (const text of this.#life(name).lastLines ?? []) yield { text, at: '', position: `last ${text}` };
  }

  removeContainer(_build: Build, name: string): Promise<void> {
    this.#container(name).settle(canceled());
    return Promise.resolve();
  }

  async *streamBuild(_build: Build, { signal }: { signal?: AbortSignal } = {}): AsyncIterable<BuildStreamItem> {
    if (signal?.aborted !== true) {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
    }
    yield* [];
  }

  cancelBuild(_build: Build, reason: 'caller' | 'timeout' = 'caller'): void {
    this.calls.push(`cancel ${reason}`);
    this.#isCanceled = canceled(reason);
    for (const running of this.#running.values()) running.settle(this.#isCanceled);
  }

  concludeBuild(_build: Build, result: string): void {
    this.calls.push(`conclude ${result}`);
  }

  async removeBuild(build: Build) {
    this.calls.push(`remove ${build.id}`);
    if (this.failRemoval !== undefined) throw this.failRemoval;
    return this.removal;
  }

  #life(name: string): Life {
    const retry = Number(/-retry-(\d+)$/.exec(this.spec.id)?.[1] ?? 0);
    return (retry === 0 ? this.lives : (this.nextLives[retry - 1] ?? {}))[name] ?? {};
  }

  #container(name: string): Running {
    const known = this.#running.get(name);
    if (known !== undefined) return known;
    if (!this.spec.containers.some((container) => container.name === name)) throw new Error(`no container ${name}`);
    const { promise, resolve } = Promise.withResolvers<SettledOutcome>();
    const running = { settled: promise, settle: resolve };
    this.#running.set(name, running);
    return running;
  }
}
