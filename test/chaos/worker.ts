/** A worker that may die at any moment, and the one that comes after it: runtimes of one owner, one at a time. */
import { sleep, type VirtualClock } from '../../src/clock.ts';
import type { EmbeddedCluster } from '../../src/cluster/index.ts';
import { HttpKubeClient, type KubeClient } from '../../src/kube/client.ts';
import { Transport } from '../../src/kube/transport.ts';
import { silentLogger } from '../../src/logger.ts';
import { type Build, createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { MemoryDispatcher } from '../helpers/memory-dispatcher.ts';
import { userAgent } from './faults.ts';
import type { Plan } from './plan.ts';

export const namespace = 'builds';

/** One life of the worker. */
export interface Shift {
  readonly number: number;
  readonly runtime: Runtime;
  /** What it took up when it came, by id. */
  readonly adopted: ReadonlyMap<string, Build>;
}

export class Worker {
  readonly #cluster: EmbeddedCluster;
  readonly #clock: VirtualClock;
  readonly #plan: Plan;
  #now: Promise<Shift>;
  #parts: { dispatcher: MemoryDispatcher; client: KubeClient; runtime: Runtime } | undefined;

  constructor(cluster: EmbeddedCluster, clock: VirtualClock, plan: Plan) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#plan = plan;
    this.#now = this.#begin(1);
  }

  /** The present one; after a death, the next. */
  get shift(): Promise<Shift> {
    return this.#now;
  }

  /** What was sent is on its way; nothing comes back. */
  die(): void {
    this.#now = this.#now.then(async ({ number }) => {
      this.#parts?.dispatcher.die();
      await this.end();
      return await this.#begin(number + 1);
    });
  }

  /** Gives the number of requests that are still open. */
  async end(): Promise<number> {
    await this.#parts?.runtime.close();
    await this.#parts?.client.close();
    return this.#parts?.dispatcher.open ?? 0;
  }

  /** A worker whose start is refused is started again. */
  async #begin(number: number): Promise<Shift> {
    for (let attempt = 0; ; attempt++) {
      const dispatcher = new MemoryDispatcher(this.#cluster.transport);
      const client = memoryClient(dispatcher, this.#clock);
      try {
        const runtime = await createRuntime({
          client,
          clock: this.#clock,
          namespace,
          owner: 'worker',
          placeholder: placeholderOf(this.#plan),
        });
        this.#parts = { dispatcher, client, runtime };
        const builds = await this.#adopt(runtime);
        return { number, runtime, adopted: new Map(builds.map((build) => [build.id, build])) };
      } catch (error) {
        await client.close();
        if (attempt > 50) throw error;
        await sleep(this.#clock, 1_000);
      }
    }
  }

  async #adopt(runtime: Runtime): Promise<readonly Build[]> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await runtime.adopt();
      } catch (error) {
        if (attempt > 50) throw error;
        await sleep(this.#clock, 1_000);
      }
    }
  }
}

function placeholderOf({ placeholderCode }: Plan): { image: string; restartOn?: number } {
  return placeholderCode === 0
    ? { image: 'lab.local/placeholder:1' }
    : { image: 'lab.local/placeholder213:1', restartOn: placeholderCode };
}

function memoryClient(dispatcher: MemoryDispatcher, clock: VirtualClock): KubeClient {
  const credentials = async () => ({ headers: {}, tls: {} });
  const transport = new Transport({
    source: {
      server: new URL('http://memory'),
      namespace: null,
      description: 'memory',
      proxyUrl: null,
      credentials,
      renew: async () => undefined,
    },
    userAgent,
    requestTimeoutMs: 30_000,
    clock,
    random: Math.random,
    logger: silentLogger,
    dispatcher,
  });
  return new HttpKubeClient(transport, null);
}
