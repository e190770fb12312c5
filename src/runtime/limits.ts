/**
 * The time limits of a build's containers: how long one may take to be pulled and started once it was asked for, and
 * how long it may run. A limit that runs out cancels the container, after a fresh look at the pod: a watch that lags
 * must not make a verdict.
 */
import type { Phase } from '../../machines/outcome.ts';
import type { Clock, Timer } from '../clock.ts';
import type { PhaseTimeouts } from '../pod/build-spec.ts';
import type { PlannedContainer } from '../pod/plan.ts';
import type { ContainerState } from './actors.ts';

export interface PhaseLimitsOptions {
  readonly clock: Clock;
  readonly timeouts: (container: PlannedContainer) => Required<PhaseTimeouts>;
  readonly state: (container: PlannedContainer) => ContainerState;
  /** Never rejects. */
  readonly look: () => Promise<unknown>;
  readonly cancel: (container: PlannedContainer, phase: Phase) => void;
}

/** In which states a limit still counts. */
const statesOfPhase: Readonly<Record<'pull' | 'run', readonly ContainerState[]>> = {
  pull: ['pending', 'pulling'],
  run: ['running'],
};

export class PhaseLimits {
  readonly #options: PhaseLimitsOptions;
  /** One timer per container at most: the phases follow each other. */
  readonly #timers = new Map<string, Timer>();
  #closed = false;

  constructor(options: PhaseLimitsOptions) {
    this.#options = options;
  }

  requested(container: PlannedContainer): void {
    this.#arm(container, 'pull', this.#options.timeouts(container).pullMs);
  }

  changed(container: PlannedContainer, state: ContainerState): void {
    if (state === 'running') this.#arm(container, 'run', this.#options.timeouts(container).runMs);
    else if (state !== 'pending' && state !== 'pulling') this.#disarm(container);
  }

  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #arm(container: PlannedContainer, phase: 'pull' | 'run', limitMs: number): void {
    this.#disarm(container);
    if (limitMs <= 0 || this.#closed) return;
    const expire = async (): Promise<void> => {
      await this.#options.look();
      if (!this.#closed && statesOfPhase[phase].includes(this.#options.state(container))) {
        this.#options.cancel(container, phase);
      }
    };
    const timer = this.#options.clock.schedule(limitMs, () => void expire());
    this.#timers.set(container.containerName, timer);
  }

  #disarm(container: PlannedContainer): void {
    this.#timers.get(container.containerName)?.cancel();
    this.#timers.delete(container.containerName);
  }
}
