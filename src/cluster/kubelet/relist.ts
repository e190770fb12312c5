/**
 * The kubelet's view of the runtime, read anew once a second (its PLEG): no sync of a pod begins before a view newer
 * than the end of the last one.
 */
import type { Clock, Timer } from '../../clock.ts';
import type { ContainerRuntime, InstanceView } from './runtime.ts';

export interface RelistOptions {
  readonly clock: Clock;
  readonly runtime: ContainerRuntime;
  readonly periodMs: number;
  /** A container of the pod started, ended or went. */
  readonly onChange: (uid: string) => void;
}

export class Relist {
  readonly #options: RelistOptions;
  #views = new Map<string, readonly InstanceView[]>();
  /** Of each pod, what a change of which its worker is to know of. */
  #summaries = new Map<string, string>();
  #readAt = Number.NEGATIVE_INFINITY;
  readonly #waiting = new Set<{ readonly after: number; readonly resolve: () => void }>();
  #timer: Timer | undefined;
  #early: Timer | undefined;

  constructor(options: RelistOptions) {
    this.#options = options;
  }

  start(): void {
    this.#read();
    this.#timer = this.#options.clock.schedule(this.#options.periodMs, () => this.start());
  }

  /** Waiting syncs never go on. */
  stop(): void {
    this.#timer?.cancel();
    this.#early?.cancel();
    this.#waiting.clear();
  }

  /** The pod's instances as last read. */
  view(uid: string): readonly InstanceView[] {
    return this.#views.get(uid) ?? [];
  }

  /** Resolves when the view is newer than `time` of the clock. */
  newerThan(time: number): Promise<void> {
    if (this.#readAt > time) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ after: time, resolve }));
  }

  /** Reads once out of turn, soon. */
  soon(delayMs: number): void {
    this.#early?.cancel();
    this.#early = this.#options.clock.schedule(delayMs, () => this.#read());
  }

  #read(): void {
    const { runtime, clock, onChange } = this.#options;
    const before = this.#summaries;
    const uids = runtime.podUids();
    this.#views = new Map(uids.map((uid) => [uid, runtime.list(uid)]));
    this.#summaries = new Map(uids.map((uid) => [uid, this.#summary(uid)]));
    this.#readAt = clock.now();
    for (const uid of new Set([...before.keys(), ...uids])) {
      if (before.get(uid) !== this.#summaries.get(uid)) onChange(uid);
    }
    for (const waiter of [...this.#waiting]) {
      if (this.#readAt <= waiter.after) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  #summary(uid: string): string {
    const instances = this.view(uid).map(({ id, state }) => `${id}:${state}`);
    return [...instances, this.#options.runtime.sandbox(uid)?.ready ?? ''].join(' ');
  }
}
