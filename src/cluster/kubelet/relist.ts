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
  /** Of each pod, what was so already; what only went away does not count. */
  #facts = new Map<string, ReadonlySet<string>>();
  readonly #addresses = new Map<string, string>();
  /** Counted, not timed: the node's clock may be set back. */
  #reads = 0;
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

  /** The address of the pod's sandbox, once it was seen. */
  address(uid: string): string | undefined {
    return this.#addresses.get(uid);
  }

  /** This moment, for `newerThan`. */
  get mark(): number {
    return this.#reads;
  }

  /** Resolves when the view is newer than the moment. */
  newerThan(mark: number): Promise<void> {
    if (this.#reads > mark) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ after: mark, resolve }));
  }

  /** Reads once out of turn, soon. */
  soon(delayMs: number): void {
    this.#early?.cancel();
    this.#early = this.#options.clock.schedule(delayMs, () => this.#read());
  }

  #read(): void {
    const { runtime, onChange } = this.#options;
    const before = this.#facts;
    const uids = runtime.podUids();
    this.#views = new Map(uids.map((uid) => [uid, runtime.list(uid)]));
    this.#addresses.clear();
    for (const uid of uids) {
      const sandbox = runtime.sandbox(uid);
      if (sandbox !== undefined) this.#addresses.set(uid, sandbox.ip);
    }
    this.#facts = new Map(uids.map((uid) => [uid, this.#factsOf(uid)]));
    this.#reads++;
    for (const [uid, facts] of this.#facts) {
      const known = before.get(uid);
      if ([...facts].some((fact) => known?.has(fact) !== true)) onChange(uid);
    }
    for (const waiter of [...this.#waiting]) {
      if (this.#reads <= waiter.after) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  #factsOf(uid: string): ReadonlySet<string> {
    const instances = this.view(uid).map(({ id, state }) => `${id}:${state}`);
    const sandbox = this.#options.runtime.sandbox(uid)?.ready;
    return new Set([...instances, ...(sandbox === undefined ? [] : [`sandbox:${sandbox}`])]);
  }
}
