/** Stops containers of a pod: told as an Event first, then asked to end, then forced (k8s `killContainer`). */
import { type Clock, sleep } from '../../clock.ts';
import type { Random } from '../random.ts';
import type { Timings } from '../timings.ts';
import type { Container, PodObject } from '../types.ts';
import type { Hooks } from './hooks.ts';
import type { Record } from './images.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';

export interface KillerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly timings: Timings;
  readonly runtime: ContainerRuntime;
  readonly hooks: Hooks;
}

export interface Kill {
  readonly pod: PodObject;
  readonly container: Container;
  readonly instance: InstanceView;
  readonly graceMs: number;
  /** Of the Event that comes before. */
  readonly message: string;
  readonly record: Record;
}

export class Killer {
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  /** Resolves when the container has ended. What a preStop hook took of the grace is gone. */
  async kill({ message, graceMs, ...run }: Kill): Promise<void> {
    const { hooks, runtime } = this.#options;
    run.record('Normal', 'Killing', message);
    const tookMs = await hooks.beforeStop(run, graceMs);
    await runtime.stop(run.instance, graceMs - tookMs);
  }

  /** Main containers together, then sidecars, the last one first, then the sandbox. */
  async killAll(pod: PodObject, killOf: (container: Container, instance: InstanceView) => Kill): Promise<void> {
    const { runtime, random, timings, clock } = this.#options;
    const { uid } = pod.metadata;
    const running = runtime.list(uid).filter(({ state }) => state === 'running');
    const { containers, initContainers = [] } = pod.spec;
    for (const list of [containers, [...initContainers].reverse()]) {
      const kills = running.flatMap((instance) => {
        const container = list.find(({ name }) => name === instance.name);
        return container === undefined ? [] : [killOf(container, instance)];
      });
      await Promise.all(kills.map((kill) => this.kill(kill)));
    }
    const sandbox = runtime.sandbox(uid);
    if (sandbox?.ready !== true) return;
    const stopMs = random.duration(timings.stopMs);
    if (stopMs > 0) await sleep(clock, stopMs);
    sandbox.ready = false;
  }
}
