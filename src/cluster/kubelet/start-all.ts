/** Starts the containers of one pod that are due, one after the other, and keeps why one could not be started. */
import type { Profile } from '../profile.ts';
import type { Random } from '../random.ts';
import type { Timings } from '../timings.ts';
import type { Container, PodObject, PodStatus } from '../types.ts';
import type { Record } from './images.ts';
import type { Volumes } from './mounts.ts';
import type { InstanceView } from './runtime.ts';
import { type StarterOptions, startContainer } from './start.ts';
import type { StartError } from './status-input.ts';

export interface PodStarterOptions {
  readonly random: Random;
  readonly timings: Timings;
  readonly profile: Profile;
  readonly starter: StarterOptions;
  readonly isStopped: () => boolean;
}

export interface StartAll {
  readonly pod: PodObject;
  /** In the order in which they are started. */
  readonly containers: readonly Container[];
  /** With which the sync began. */
  readonly view: readonly InstanceView[];
  /** What was said last about the pod. */
  readonly shown: PodStatus | undefined;
  readonly volumes: Volumes;
  readonly graceMs: number;
  readonly recordOf: (container: Container) => Record;
}

export class PodStarter {
  readonly #options: PodStarterOptions;
  readonly #errors = new Map<string, StartError>();

  constructor(options: PodStarterOptions) {
    this.#options = options;
  }

  /** By container: why its last start failed. */
  get errors(): ReadonlyMap<string, StartError> {
    return this.#errors;
  }

  /**
   * An error of one does not keep the others from starting. Gives the time after which what failed is to be tried again;
   * undefined when nothing failed.
   */
  async start({ containers, view, shown, recordOf, ...common }: StartAll): Promise<number | undefined> {
    const { starter, isStopped } = this.#options;
    const retries: (number | undefined)[] = [];
    for (const container of containers) {
      if (isStopped()) return undefined;
      const newest = view.filter(({ name }) => name === container.name).at(-1);
      const { error, retryMs } = await startContainer(starter, {
        ...common,
        container,
        newest,
        restartCount: nextRestartCount(container, newest, shown),
        isStopped,
        record: recordOf(container),
      });
      if (error === undefined) this.#errors.delete(container.name);
      else {
        this.#errors.set(container.name, error);
        retries.push(retryMs);
      }
    }
    return this.#retryMs(retries);
  }

  #retryMs(retries: readonly (number | undefined)[]): number | undefined {
    const { random, timings, profile } = this.#options;
    if (retries.length === 0) return undefined;
    // The long back-off of one must not keep another from its next pull.
    const backOffs = retries.filter((retryMs) => retryMs !== undefined);
    const isEarly = profile.retriesAtBackOffEnd && backOffs.length === retries.length;
    return isEarly ? Math.min(...backOffs) * random.between(1, 1.5) : random.duration(timings.retryMs);
  }
}

function nextRestartCount({ name }: Container, newest: InstanceView | undefined, old: PodStatus | undefined): number {
  if (newest !== undefined) return newest.restartCount + 1;
  const statuses = [...(old?.containerStatuses ?? []), ...(old?.initContainerStatuses ?? [])];
  const shown = statuses.find((status) => status.name === name);
  const lost = shown?.lastState.terminated !== undefined || shown?.containerID !== undefined;
  return (shown?.restartCount ?? 0) + (lost ? 1 : 0);
}
