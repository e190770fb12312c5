/**
 * The two watches of a whole runtime, however many builds it has: the pods of its owner by label, and the Events about
 * pods of its namespace. Each object goes to the one build whose pod has that name.
 */
import type { Clock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Delta, Informer } from '../kube/informer.ts';
import type { Logger } from '../logger.ts';
import { labels, labelValue } from '../pod/labels.ts';
import { bareEvent, trimEvent, trimPod } from '../pod/trim.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import type { RuntimeHealth } from './contract.ts';

/** Whoever wants what is seen of one pod name. */
export interface PodListener {
  onPod(delta: Delta<Pod>): void;
  onEvent(event: KubeEvent): void;
  onHealth(health: RuntimeHealth): void;
}

/** More than one list may take; as long as a request is tried again. */
const firstListMs = 40_000;

/** Field selector of the Events about pods. */
export const podEvents = 'involvedObject.kind=Pod';

export interface WatchesOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Watches {
  readonly #pods: Informer<Pod>;
  readonly #events: Informer<KubeEvent>;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #listeners = new Map<string, PodListener>();
  readonly #undo: (() => void)[];

  constructor({ client, namespace, owner, clock, logger }: WatchesOptions) {
    this.#namespace = namespace;
    this.#clock = clock;
    this.#pods = new Informer<Pod>({
      client,
      path: { resource: 'pods', namespace },
      labelSelector: `${labels.owner}=${labelValue(owner)}`,
      trim: trimPod,
      bookmarks: true,
      clock,
      logger,
    });
    this.#events = new Informer<KubeEvent>({
      client,
      path: { resource: 'events', namespace },
      fieldSelector: podEvents,
      trim: trimEvent,
      keep: bareEvent,
      bookmarks: false,
      clock,
      logger,
    });
    const tellHealth = (): void => {
      const { health } = this;
      for (const listener of [...this.#listeners.values()]) listener.onHealth(health);
    };
    this.#undo = [
      this.#pods.addHandler((delta) => this.#listeners.get(delta.object.metadata.name)?.onPod(delta)),
      this.#events.addHandler((delta) => {
        if (delta.kind === 'deleted') return;
        this.#listeners.get(delta.object.involvedObject.name ?? '')?.onEvent(delta.object);
      }),
      this.#pods.subscribeHealth(tellHealth),
      this.#events.subscribeHealth(tellHealth),
    ];
  }

  /**
   * Resolves once all pods are known. The Events are hints: nothing waits for them. Rejects with the last failure when
   * the server refuses, or cannot be asked for too long.
   */
  async start(signal?: AbortSignal): Promise<void> {
    this.#pods.start();
    this.#events.start();
    const limit = new AbortController();
    const timer = this.#clock.schedule(firstListMs, () => limit.abort(this.#overdue()));
    try {
      await this.#pods.synced(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]));
    } finally {
      timer.cancel();
    }
  }

  #overdue(): Error {
    const what = `the pods of the namespace "${this.#namespace}" could not be listed`;
    return (
      this.#pods.health.lastError ??
      new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', `${what} within ${firstListMs / 1000} s`, {
        remedy: 'Check that the API server answers.',
      })
    );
  }

  get health(): RuntimeHealth {
    return { pods: this.#pods.health, events: this.#events.health };
  }

  subscribeHealth(listener: (health: RuntimeHealth) => void): () => void {
    const undo = [this.#pods, this.#events].map((informer) => informer.subscribeHealth(() => listener(this.health)));
    return () => {
      for (const end of undo) end();
    };
  }

  /** From now on what is seen of this pod name goes to `listener`. */
  attach(podName: string, listener: PodListener): void {
    this.#listeners.set(podName, listener);
  }

  detach(podName: string, listener: PodListener): void {
    if (this.#listeners.get(podName) === listener) this.#listeners.delete(podName);
  }

  pod(podName: string): Pod | undefined {
    return this.#pods.get(`${this.#namespace}/${podName}`);
  }

  pods(): readonly Pod[] {
    return this.#pods.list();
  }

  async close(): Promise<void> {
    for (const end of this.#undo) end();
    this.#listeners.clear();
    await Promise.all([this.#pods.stop(), this.#events.stop()]);
  }
}
