/** Handlers see what the server's objects do, through every fault of the connection, until `stop()`. */
import { expect, onTestFinished, test } from 'vitest';
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

interface Thing extends KubeObject {
  readonly spec?: object;
}

const thing = (name: string, version: number, uid = `uid-${name}`): Thing => ({
  metadata: { name, namespace: 'builds', uid, resourceVersion: String(version) },
});

/** Answers lists and watches apart, as a test queues them; a list nobody queued is empty, a watch stays open. */
class Scene {
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

async function startScene(options: Partial<InformerOptions<Thing>> = {}): Promise<Scene> {
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

const list =
  (version: number, ...items: readonly Thing[]): Answer =>
  (exchange) =>
    exchange.json(200, { kind: 'PodList', metadata: { resourceVersion: String(version) }, items });

const fail =
  (code: number, reason: string, message: string): Answer =>
  (exchange) =>
    exchange.json(code, status(code, reason, message));

function brief({ kind, object: { metadata }, finalStateKnown }: Delta<Thing>): string {
  return `${kind} ${metadata.name} ${metadata.resourceVersion}${finalStateKnown ? '' : ' unseen'}`;
}

test('what is listed is added, what is watched follows, from the version of the list on', async () => {
  const scene = await startScene();
  scene.lists.push(list(7, thing('a', 3), thing('b', 5)));
  scene.informer.start();
  await scene.informer.synced();
  const watch = await scene.watch(0);
  watch.frame('MODIFIED', { ...thing('a', 8), spec: { big: true } });
  watch.frame('DELETED', thing('b', 9));
  watch.frame('ADDED', thing('c', 10));
  expect(await scene.told(5)).toEqual(['added a 3', 'added b 5', 'updated a 8', 'deleted b 9', 'added c 10']);
  expect(scene.informer.get('builds/a')).toEqual(thing('a', 8));
  expect(scene.informer.list()).toHaveLength(2);
  expect(Object.fromEntries(watch.query)).toEqual({
    watch: 'true',
    labelSelector: 'app=ci',
    resourceVersion: '7',
    timeoutSeconds: '435',
    allowWatchBookmarks: 'true',
  });
  expect(Object.fromEntries(scene.requests('list')[0]?.query ?? [])).toEqual({ labelSelector: 'app=ci', limit: '500' });
});

test.each([
  ['the server ends the watch', (watch: Exchange) => watch.end()],
  ['the connection is cut', (watch: Exchange) => watch.reset()],
  [
    'the connection is cut in the middle of a line',
    (watch: Exchange) => {
      watch.write('{"type":"MODIFIED","object":{"metadata":{"na');
      setImmediate(() => watch.reset());
    },
  ],
])('when %s, the next watch goes on from the last version', async (_fault, act) => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  watch.frame('ADDED', thing('a', 21));
  watch.frame('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '30' } });
  await until(() => scene.informer.health.counters.bookmarks === 1);
  scene.clock.advance(2_000);
  act(watch);
  const next = await scene.watch(1);
  expect(next.query.get('resourceVersion')).toBe('30');
  next.frame('MODIFIED', thing('a', 31));
  expect(await scene.told(2)).toEqual(['added a 21', 'updated a 31']);
  expect(scene.requests('list')).toHaveLength(1);
});

test.each<[string, Answer]>([
  [
    'in the stream',
    (exchange) => {
      exchange.open();
      exchange.frame('ERROR', status(410, 'Expired', 'too old resource version: 10 (99)'));
    },
  ],
  ['as an HTTP status', fail(410, 'Gone', 'too old')],
])('410 %s leads to a new list, and what it lacks is told as deleted unseen', async (_where, expired) => {
  const scene = await startScene();
  scene.lists.push(list(10, thing('a', 3), thing('b', 4)), list(200, thing('b', 150), thing('c', 160)));
  scene.watches.push(expired);
  scene.informer.start();
  expect(await scene.told(5)).toEqual(['added a 3', 'added b 4', 'deleted a 3 unseen', 'updated b 150', 'added c 160']);
  await until(() => scene.requests('watch').length === 2);
  expect(scene.requests('watch')[1]?.query.get('resourceVersion')).toBe('200');
  expect(scene.informer.health.counters.expirations).toBe(1);
});

test('a watch on which nothing is heard for 90 s is opened anew, bookmarks count as heard', async () => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  scene.clock.advance(80_000);
  watch.frame('BOOKMARK', { metadata: { resourceVersion: '11' } });
  await until(() => scene.informer.health.counters.bookmarks === 1);
  scene.clock.advance(80_000);
  watch.frame('ADDED', thing('a', 12));
  await scene.told(1);
  expect(scene.informer.health).toMatchObject({ state: 'live', counters: { stalls: 0, watches: 1 } });
  scene.clock.advance(80_000);
  scene.clock.advance(10_000);
  const next = await scene.watch(1);
  expect(next.query.get('resourceVersion')).toBe('12');
  expect(scene.informer.health.counters.stalls).toBe(1);
  await until(() => watch.closed);
});

test('a server that accepts a watch and never answers is left after 90 s', async () => {
  const scene = await startScene();
  scene.watches.push(() => undefined);
  scene.informer.start();
  await until(() => scene.requests('watch').length === 1 && scene.clock.nextAt !== undefined);
  scene.clock.advance(90_000);
  await until(() => scene.informer.health.counters.stalls === 1);
});

test('without bookmarks silence is normal, and the watch is opened anew by the time it was given', async () => {
  const scene = await startScene({ bookmarks: false });
  scene.informer.start();
  const watch = await scene.watch(0);
  expect(watch.query.get('timeoutSeconds')).toBe('90');
  expect(watch.query.has('allowWatchBookmarks')).toBe(false);
  scene.clock.advance(94_000);
  expect(scene.informer.health.counters.stalls).toBe(0);
  scene.clock.advance(1_000);
  await scene.watch(1);
});

test('a frame that cannot be read leads to a list: nothing is skipped in silence', async () => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  scene.lists.push(list(50, thing('a', 40)));
  watch.write('{"type":"ADDED","object":{"metadata":{}}}\n');
  await scene.pass();
  expect(await scene.told(1)).toEqual(['added a 40']);
  expect(scene.informer.health.counters.malformedFrames).toBe(1);
});

test.each([
  [
    '429 in plain text with Retry-After',
    (exchange: Exchange) => exchange.text(429, 'Too many requests', { 'retry-after': '4' }),
    4_000,
  ],
  ['500', fail(500, 'InternalError', 'Internal error occurred: oops'), 600],
  ['an answer cut off', (exchange: Exchange) => exchange.reset(), 600],
])('a list answered with %s is tried again after the pause', async (_what, answer, pauseMs) => {
  const scene = await startScene();
  scene.lists.push(answer, list(5, thing('a', 1)));
  scene.informer.start();
  await until(() => scene.clock.nextAt === 1_000_000 + pauseMs);
  expect(scene.informer.health.state).toBe('stale');
  scene.clock.advance(pauseMs);
  await scene.informer.synced();
  expect(scene.seen).toEqual(['added a 1']);
});

test.each([401, 403, 404])('HTTP %i degrades, rejects who waits, and heals when the server allows it', async (code) => {
  const scene = await startScene();
  const states: string[] = [];
  scene.informer.subscribeHealth(({ state }) => states.push(state));
  const refusal = fail(code, 'Refused', 'pods is forbidden: no');
  scene.lists.push(refusal, refusal);
  scene.informer.start();
  await expect(scene.informer.synced()).rejects.toMatchObject({ details: { status: code } });
  expect(scene.informer.health).toMatchObject({ state: 'degraded', lastError: { details: { status: code } } });
  scene.lists.length = 0;
  await scene.pass();
  await scene.informer.synced();
  await scene.watch(0);
  expect(scene.informer.health).toMatchObject({ state: 'live', lastError: null });
  expect(states).toEqual(['degraded', 'starting', 'live']);
});

test('a watch that is refused degrades without forgetting what is known', async () => {
  const scene = await startScene();
  scene.lists.push(list(10, thing('a', 3)));
  scene.watches.push(fail(403, 'Forbidden', 'no watch'));
  scene.informer.start();
  await until(() => scene.informer.health.state === 'degraded');
  expect(scene.informer.get('builds/a')).toBeDefined();
  await scene.pass();
  await scene.watch(0);
  expect(scene.requests('list')).toHaveLength(1);
});

test('health says since when the cache is stale', async () => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  scene.clock.advance(30_000);
  watch.frame('ADDED', thing('a', 11));
  await scene.told(1);
  scene.clock.advance(5_000);
  await scene.api.stop();
  await until(() => scene.informer.health.state === 'stale' && scene.pausing());
  expect(scene.informer.health).toMatchObject({
    since: 1_030_000,
    lastContactAt: 1_030_000,
    lastError: { code: 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE' },
  });
  await scene.api.restart();
  await scene.pass();
  await until(() => scene.informer.health.state === 'live');
  expect(scene.informer.get('builds/a')).toBeDefined();
});

test('pages of a list are put together; a page that expired leads to one list in one piece', async () => {
  const scene = await startScene();
  const page =
    (token: string | undefined, ...items: Thing[]): Answer =>
    (exchange) =>
      exchange.json(200, {
        metadata: { resourceVersion: '9', ...(token === undefined ? {} : { continue: token }) },
        items,
      });
  scene.lists.push(page('t1', thing('a', 1)), page(undefined, thing('b', 2)));
  scene.informer.start();
  await scene.informer.synced();
  expect(scene.seen).toEqual(['added a 1', 'added b 2']);
  expect(scene.requests('list')[1]?.query.get('continue')).toBe('t1');

  const other = await startScene();
  other.lists.push(
    page('t1', thing('a', 1)),
    fail(410, 'Expired', 'The provided continue parameter is too old'),
    list(20, thing('a', 1), thing('b', 15)),
  );
  other.informer.start();
  await other.informer.synced();
  expect(other.seen).toEqual(['added a 1', 'added b 15']);
  expect(other.requests('list')[2]?.query.has('limit')).toBe(false);
});

test('a handler that throws is logged and counted, others and later deltas are not disturbed', async () => {
  const scene = await startScene();
  const unlucky: string[] = [];
  scene.informer.addHandler((delta) => {
    unlucky.push(brief(delta));
    throw new Error('no luck');
  });
  const later: string[] = [];
  scene.informer.addHandler((delta) => later.push(brief(delta)));
  scene.lists.push(list(7, thing('a', 3)));
  scene.informer.start();
  (await scene.watch(0)).frame('MODIFIED', thing('a', 8));
  await scene.told(2);
  expect(unlucky).toEqual(['added a 3', 'updated a 8']);
  expect(later).toEqual(unlucky);
  expect(scene.informer.health.counters.handlerErrors).toBe(2);
  expect(scene.logged.map(({ message }) => message)).toEqual(['A handler threw', 'A handler threw']);
});

test('a handler that comes late is told what there is, and one that left is told nothing more', async () => {
  const scene = await startScene();
  scene.lists.push(list(7, thing('a', 3), thing('b', 4)));
  scene.informer.start();
  await scene.informer.synced();
  const late: string[] = [];
  const remove = scene.informer.addHandler((delta) => late.push(brief(delta)));
  expect(late).toEqual(['added a 3', 'added b 4']);
  remove();
  (await scene.watch(0)).frame('DELETED', thing('a', 9));
  await scene.told(3);
  expect(late).toHaveLength(2);
});

test('a handler added by a handler is told each object once', async () => {
  const scene = await startScene();
  const nested: string[] = [];
  let isAdded = false;
  scene.informer.addHandler(() => {
    if (isAdded) return;
    isAdded = true;
    scene.informer.addHandler((delta) => nested.push(brief(delta)));
  });
  scene.lists.push(list(7, thing('a', 3), thing('b', 4)));
  scene.informer.start();
  await scene.informer.synced();
  expect(nested).toEqual(['added a 3', 'added b 4']);
});

test('the cache shows a change before any handler is told', async () => {
  const scene = await startScene();
  const shown: unknown[] = [];
  scene.informer.addHandler(({ key, kind }) => shown.push([kind, scene.informer.get(key)?.metadata.resourceVersion]));
  scene.lists.push(list(7, thing('a', 3)));
  scene.informer.start();
  const watch = await scene.watch(0);
  watch.frame('MODIFIED', thing('a', 8));
  watch.frame('DELETED', thing('a', 9));
  await scene.told(3);
  expect(shown).toEqual([
    ['added', '3'],
    ['updated', '8'],
    ['deleted', undefined],
  ]);
});

test.each<[string, (scene: Scene) => Promise<unknown>]>([
  ['the list', (scene) => until(() => scene.requests('list').length === 1)],
  [
    'the connect of the watch',
    (scene) => {
      scene.lists.push(list(1));
      return until(() => scene.requests('watch').length === 1);
    },
  ],
  [
    'the watch',
    (scene) => {
      scene.lists.push(list(1));
      scene.watches.push((exchange) => exchange.open());
      return scene.watch(0);
    },
  ],
  [
    'a pause',
    (scene) => {
      scene.lists.push(fail(500, 'InternalError', 'no'));
      return until(() => scene.pausing());
    },
  ],
])('stop during %s ends it: no request, no timer, no handler is left', async (_when, reach) => {
  const scene = await startScene();
  const hang: Answer = () => undefined;
  scene.informer.start();
  const reached = reach(scene);
  scene.lists.push(hang);
  scene.watches.push(hang);
  await reached;
  const before = scene.api.requests.length;
  await Promise.all([scene.informer.stop(), scene.informer.stop()]);
  expect(scene.clock.nextAt).toBeUndefined();
  await until(() => scene.api.requests.every((exchange) => exchange.closed));
  scene.informer.start();
  expect(scene.api.requests).toHaveLength(before);
  expect(scene.informer.health.state).toBe('stopped');
  await expect(scene.informer.synced(AbortSignal.timeout(1)))
    .resolves.toBeUndefined()
    .catch(() => undefined);
});

test('nothing is delivered after stop was called, though frames are on their way', async () => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  let stopped: Promise<void> | undefined;
  const after: string[] = [];
  scene.informer.addHandler((delta) => {
    if (stopped === undefined) stopped = scene.informer.stop();
    else after.push(brief(delta));
  });
  watch.write(
    [11, 12, 13]
      .map((version) => `${JSON.stringify({ type: 'ADDED', object: thing(`t${version}`, version) })}\n`)
      .join(''),
  );
  await until(() => stopped !== undefined);
  await stopped;
  expect(after).toEqual([]);
});

test('nothing is delivered after a handler stopped it in the middle of a list', async () => {
  const scene = await startScene();
  scene.lists.push(list(7, thing('a', 3), thing('b', 4), thing('c', 5)));
  const remove = scene.informer.addHandler(() => void scene.informer.stop());
  scene.informer.start();
  await scene.told(1);
  await scene.informer.stop();
  remove();
  expect(scene.seen).toEqual(['added a 3']);
});

test('starting twice is starting once', async () => {
  const scene = await startScene();
  scene.informer.start();
  scene.informer.start();
  await scene.watch(0);
  expect(scene.requests('list')).toHaveLength(1);
  expect(scene.requests('watch')).toHaveLength(1);
});

test('who waits for the first list is told when it is stopped, or gives up by its own signal', async () => {
  const scene = await startScene();
  scene.lists.push(() => undefined);
  scene.informer.start();
  const reason = new Error('enough');
  const giveUp = new AbortController();
  const impatient = scene.informer.synced(giveUp.signal);
  const patient = scene.informer.synced();
  giveUp.abort(reason);
  await expect(impatient).rejects.toBe(reason);
  const rejected = expect(patient).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
  await scene.informer.stop();
  await rejected;
});

test('ten thousand frames at once arrive in order and let timers run in between', async () => {
  const scene = await startScene();
  scene.informer.start();
  const watch = await scene.watch(0);
  let most = 0;
  let before = 0;
  let isDone = false;
  const tick = (): void => {
    most = Math.max(most, scene.seen.length - before);
    before = scene.seen.length;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  const versions = Array.from({ length: 10_000 }, (_, index) => 100 + index);
  watch.write(
    versions.map((version) => `${JSON.stringify({ type: 'MODIFIED', object: thing('a', version) })}\n`).join(''),
  );
  await scene.told(10_000);
  isDone = true;
  expect(scene.seen.map((line) => Number(line.split(' ')[2]))).toEqual(versions);
  expect(most).toBeLessThan(2_000);
});
