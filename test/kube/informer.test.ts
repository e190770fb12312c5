/** Handlers see what the server's objects do, each change once and in order, until `stop()`. */
import { expect, test } from 'vitest';
import { type Answer, until } from './api-server.ts';
import { brief, fail, list, type Scene, startScene, thing } from './scene.ts';

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

test.each<[string, boolean, (scene: Scene) => Promise<unknown>]>([
  ['the list', false, (scene) => until(() => scene.requests('list').length === 1)],
  [
    'the connect of the watch',
    true,
    (scene) => {
      scene.lists.push(list(1));
      return until(() => scene.requests('watch').length === 1);
    },
  ],
  [
    'the watch',
    true,
    (scene) => {
      scene.lists.push(list(1));
      scene.watches.push((exchange) => exchange.open());
      return scene.watch(0);
    },
  ],
  [
    'a pause',
    false,
    (scene) => {
      scene.lists.push(fail(500, 'InternalError', 'no'));
      return until(() => scene.pausing());
    },
  ],
])('stop during %s ends it: no request, no timer, no handler is left', async (_when, hasSynced, reach) => {
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
  const late = scene.informer.synced();
  if (hasSynced) await late;
  else await expect(late).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
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
