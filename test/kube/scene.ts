/** An informer before a server that answers its lists and watches as each test says, on a clock that the test moves. */
import { onTestFinished } from 'vitest';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import { connect } from '../../src/kube/client.ts';
import { type Delta, Informer, type InformerOptions } from '../../src/kube/informer.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import type { LogFields } from '../../src/logger.ts';
import {
  type Answer,
  type ApiServer,
  type Exchange,
  startApiServer,
  status,
  until,
  writeKubeConfig,
} from './api-server.ts';

export interface Thing extends KubeObject {
  readonly spec?: object;
}

export const thing = (name: string, version: number, uid = `uid-${name}`): Thing => ({
  metadata: { name, namespace: 'builds', uid, resourceVersion: String(version) },
});

/** Answers lists and watches apart, as a test queues them; a list nobody queued is empty, a watch stays open. */
export class Scene {
  readonly api: ApiServer;
  readonly clock: VirtualClock;
  readonly informer: Informer<Thing>;
  readonly seen: string[] = [];
  readonly logged: { message: string; fields: LogFields }[] = [];
  readonly lists: Answer[] = [];
  readonly watches: Answer[] = [];

  constructor(api: ApiServer, clock: VirtualClock, informer: (scene: Scene) => Informer<Thing>) {
    this.api = api;
    this.clock = clock;
    this.informer = informer(this);
    api.answer = (exchange) => {
      const isWatch = exchange.query.has('watch');
      const answer = (isWatch ? this.watches : this.lists).shift();
      if (answer !== undefined) answer(exchange);
      else if (isWatch) exchange.open();
      else list(10)(exchange);
    };
    this.informer.addHandler((delta) => this.seen.push(brief(delta)));
  }

  requests(kind: 'list' | 'watch'): Exchange[] {
    return this.api.requests.filter((exchange) => exchange.query.has('watch') === (kind === 'watch'));
  }

  /** The n-th watch, once it is open. */
  async watch(n: number): Promise<Exchange> {
    await until(() => this.requests('watch').length > n && this.informer.health.counters.watches > n);
    const exchange = this.requests('watch')[n];
    if (exchange === undefined) throw new Error('no such watch');
    return exchange;
  }

  async told(count: number): Promise<readonly string[]> {
    await until(() => this.seen.length >= count);
    return this.seen;
  }

  /** Waits for the pause between two tries, which the test then lets pass. */
  async pass(): Promise<void> {
    await until(() => this.pausing());
    this.clock.advanceTo(this.clock.nextAt ?? 0);
  }

  /** Whether the next timer is a pause's; a watch's is 90 s. */
  pausing(): boolean {
    return this.clock.nextAt !== undefined && this.clock.nextAt - this.clock.now() < 60_000;
  }
}

export async function startScene(options: Partial<InformerOptions<Thing>> = {}): Promise<Scene> {
  const api = await startApiServer();
  const client = await connect({ kubeConfig: await writeKubeConfig(api.url), clock: systemClock });
  const clock = new VirtualClock(1_000_000);
  const scene = new Scene(
    api,
    clock,
    ({ logged }) =>
      new Informer<Thing>({
        client,
        path: { resource: 'pods', namespace: 'builds' },
        labelSelector: 'app=ci',
        trim: ({ metadata }) => ({ metadata }),
        bookmarks: true,
        clock,
        random: () => 0.5,
        logger: { info: (message, fields = {}) => void logged.push({ message, fields }), debug: () => undefined },
        ...options,
      }),
  );
  onTestFinished(async () => {
    await scene.informer.stop();
    await client.close();
  });
  return scene;
}

export const list =
  (version: number, ...items: readonly Thing[]): Answer =>
  (exchange) =>
    exchange.json(200, { kind: 'PodList', metadata: { resourceVersion: String(version) }, items });

export const fail =
  (code: number, reason: string, message: string): Answer =>
  (exchange) =>
    exchange.json(code, status(code, reason, message));

export function brief({ kind, object: { metadata }, finalStateKnown }: Delta<Thing>): string {
  return `${kind} ${metadata.name} ${metadata.resourceVersion}${finalStateKnown ? '' : ' unseen'}`;
}
