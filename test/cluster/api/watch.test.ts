/** WATCH: from where it begins, what it tells, how it ends. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Anything, aPod, merge } from '../memory-client.ts';
import { allRun, events, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const told = (frames: readonly Anything[]): string[] =>
  frames.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`);

test('from a version come the changes after it, each once and in order', async () => {
  const { send, watch, pass, podWhen } = await startStand();
  await send('POST', pods, aPod('a'));
  const from = (await send('GET', pods)).body.metadata.resourceVersion;
  await podWhen('a', allRun);
  const late = watch(`${pods}?resourceVersion=${from}`);
  await pass(10);
  const versions = late.frames.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions.length).toBeGreaterThan(2);
  expect(versions).toEqual([...versions].sort((a, b) => a - b));
  expect(versions[0]).toBeGreaterThan(Number(from));
});

test('without a version come the objects as they are, by their keys', async () => {
  const { send, watch, pass } = await startStand();
  for (const name of ['c', 'a', 'b']) await send('POST', pods, aPod(name));
  const { frames } = watch(pods);
  await pass(0);
  expect(told(frames).slice(0, 3)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
});

test('what falls out of the selector is told as deleted, as it was, at the version at which it fell out', async () => {
  const { send, watch, pass } = await startStand();
  await send('POST', pods, aPod('a', { labels: { in: 'yes' }, spec: { nodeSelector: { no: 'such' } } }));
  await pass(1_000);
  const { frames } = watch(`${pods}?labelSelector=in%3Dyes`);
  await pass(0);
  const out = await send('PATCH', `${pods}/a`, { metadata: { labels: { in: 'no' } } }, merge);
  await send('PATCH', `${pods}/a`, { metadata: { labels: { other: 'x' } } }, merge);
  await send('PATCH', `${pods}/a`, { metadata: { labels: { in: 'yes' } } }, merge);
  await pass(0);
  expect(told(frames)).toEqual(['ADDED a', 'DELETED a', 'ADDED a']);
  expect(frames[1].object.metadata).toMatchObject({
    labels: { in: 'yes' },
    resourceVersion: out.body.metadata.resourceVersion,
  });
});

describe('a version that is too old', () => {
  test('is told in the stream, in the words of the watch cache', async () => {
    const { send, watch, pass, cluster } = await startStand();
    await send('POST', pods, aPod('a'));
    await pass(3_000);
    cluster.compact();
    const watching = watch(`${pods}?resourceVersion=5`);
    await pass(0);
    expect(watching.frames[0]).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', code: 410, reason: 'Expired' },
    });
    expect(watching.frames[0].object.message).toMatch(/^too old resource version: 5 \(\d+\)$/);
    expect(watching.ended).toBe(true);
  });

  test('of Events is told in the words of etcd', async () => {
    const { send, watch, pass, cluster } = await startStand();
    await send('POST', pods, aPod('a'));
    await pass(3_000);
    cluster.compact();
    const { frames } = watch(`${events}?resourceVersion=5`);
    await pass(0);
    expect(frames[0].object.message).toBe('The resourceVersion for the provided watch is too old.');
  });
});

describe('bookmarks', () => {
  test('come once a minute where they are asked for', async () => {
    const { watch, pass } = await startStand();
    const asked = watch(`${pods}?allowWatchBookmarks=true`);
    const silent = watch(pods);
    await pass(125_000);
    expect(told(asked.frames)).toEqual(['BOOKMARK ', 'BOOKMARK ']);
    expect(asked.frames[0].object).toMatchObject({
      kind: 'Pod',
      apiVersion: 'v1',
      spec: { containers: null },
      status: {},
    });
    expect(silent.frames).toEqual([]);
  });

  test('never come for Events', async () => {
    const { watch, pass } = await startStand();
    const { frames } = watch(`${events}?allowWatchBookmarks=true`);
    await pass(125_000);
    expect(frames).toEqual([]);
  });

  test('mark the end of the initial events, where those are asked for', async () => {
    const { send, watch, pass } = await startStand();
    await send('POST', pods, aPod('a', { spec: { nodeSelector: { no: 'such' } } }));
    await pass(1_000);
    const { frames } = watch(
      `${pods}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await pass(0);
    expect(told(frames)).toEqual(['ADDED a', 'BOOKMARK ']);
    expect(frames[1].object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });
});

test('it ends cleanly after its timeout', async () => {
  const { watch, pass } = await startStand();
  const watching = watch(`${pods}?timeoutSeconds=30&allowWatchBookmarks=true`);
  await pass(29_000);
  expect(watching.ended).toBe(false);
  expect(told(watching.frames), 'a last bookmark').toEqual(['BOOKMARK ']);
  await pass(1_000);
  expect(watching.ended).toBe(true);
  expect(watching.error).toBeUndefined();
});

test('initial events are refused where the version has none, and without their match', async () => {
  const old = await startStand({ profile: '1.31' });
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  expect((await old.send('GET', `${pods}?${query}`)).body).toMatchObject({ code: 422 });
  const { send } = await startStand();
  expect((await send('GET', `${pods}?watch=true&sendInitialEvents=true`)).body).toMatchObject({ code: 422 });
});

test('its end is seen in the request log', async () => {
  const { watch, pass, cluster } = await startStand();
  const watching = watch(`${pods}?labelSelector=x`);
  await pass(10);
  const open = { verb: 'watch', userAgent: 'test', open: true } as const;
  expect(cluster.requests.count(open)).toBe(1);
  watching.stop();
  await pass(10);
  expect(cluster.requests.count(open)).toBe(0);
});
