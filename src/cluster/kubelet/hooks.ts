/** The lifecycle hooks of a container: run in it after its start and before its stop, and waited for (k8s `lifecycle`). */
import { type Clock, sleep } from '../../clock.ts';
import type { ExecResult } from '../backend/backend.ts';
import { texts } from '../texts.ts';
import type { Container, LifecycleHandler, PodObject } from '../types.ts';
import { type HandlerRun, runHandler } from './handlers.ts';
import type { Record } from './images.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';

export interface HookRun {
  readonly pod: PodObject;
  readonly container: Container;
  readonly instance: InstanceView;
  readonly record: Record;
}

export class Hooks {
  readonly #clock: Clock;
  readonly #runtime: ContainerRuntime;

  constructor(clock: Clock, runtime: ContainerRuntime) {
    this.#clock = clock;
    this.#runtime = runtime;
  }

  /** Why the hook failed; undefined when it did not, or there is none. */
  async afterStart({ pod, container, instance, record }: HookRun): Promise<string | undefined> {
    const handler = container.lifecycle?.postStart;
    if (handler === undefined) return undefined;
    const failure = await this.#run({ container, instance, handler }, new AbortController().signal);
    if (failure === undefined) return undefined;
    record('Warning', 'FailedPostStartHook', texts.postStartFailed);
    const { name, namespace = '', uid } = pod.metadata;
    return texts.hookFailed(handler, container.name, `${name}_${namespace}(${uid})`, failure);
  }

  /** The milliseconds of the grace that the hook took: all of it at most, then it is ended without a word. */
  async beforeStop({ container, instance, record }: HookRun, graceMs: number): Promise<number> {
    const handler = container.lifecycle?.preStop;
    if (handler === undefined || graceMs <= 0) return 0;
    const from = this.#clock.now();
    const over = new AbortController();
    const timer = this.#clock.schedule(graceMs, () => over.abort());
    const failure = await this.#run({ container, instance, handler }, over.signal);
    timer.cancel();
    if (failure !== undefined && !over.signal.aborted) record('Warning', 'FailedPreStopHook', texts.preStopFailed);
    return this.#clock.now() - from;
  }

  async #run(
    run: HandlerRun & { readonly handler: LifecycleHandler },
    signal: AbortSignal,
  ): Promise<ExecResult | undefined> {
    const { sleep: pause } = run.handler;
    if (pause !== undefined) {
      // Cut short it has not failed.
      await sleep(this.#clock, pause.seconds * 1000, signal).catch(() => undefined);
      return undefined;
    }
    const result = await runHandler(this.#runtime, run, signal);
    return result.exitCode === 0 ? undefined : result;
  }
}
