/** A list-watch goes on through every fault of the connection and of the server, and says how far it can be trusted. */
import { expect, test } from 'vitest';
import { type Answer, type Exchange, status, until } from './api-server.ts';
import { fail, list, startScene, type Thing, thing } from './scene.ts';

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
