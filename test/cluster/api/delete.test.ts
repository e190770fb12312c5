/** Deletes: at once, or with a grace that the kubelet keeps. */
import { afterEach, expect, test } from 'vitest';
import { aPod } from '../memory-client.ts';
import { allRun, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const options = (more: object): object => ({ kind: 'DeleteOptions', apiVersion: 'v1', ...more });

test('a pod without a node goes at once, and watchers see the mark before it goes', async () => {
  const { send, watch, pass } = await startStand();
  await send('POST', pods, aPod('p', { spec: { nodeSelector: { no: 'such' } } }));
  await pass(1_000);
  const { frames } = watch(pods);
  await send('DELETE', `${pods}/p`);
  await pass(10);
  expect(frames.map(({ type, object }) => [type, object.metadata.deletionGracePeriodSeconds])).toEqual([
    ['ADDED', undefined],
    ['MODIFIED', 0],
    ['DELETED', 0],
  ]);
});

test('a pod that runs is marked with a time in the future, and goes when its containers have ended', async () => {
  const { send, podWhen, clock, pass } = await startStand();
  await send('POST', pods, aPod('p'));
  await podWhen('p', allRun);
  const { status, body } = await send('DELETE', `${pods}/p`, options({ gracePeriodSeconds: 20 }));
  expect(status).toBe(200);
  expect(Date.parse(body.metadata.deletionTimestamp) - clock.now()).toBeGreaterThan(18_000);
  expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 20, generation: 2 });
  await pass(5_000);
  expect((await send('GET', `${pods}/p`)).status).toBe(404);
});

test('grace 0 takes a running pod at once, and its containers are ended afterwards', async () => {
  const { send, podWhen, pass, watch, cluster } = await startStand();
  await send('POST', pods, aPod('p', { image: 'lab.local/forever:1' }));
  await podWhen('p', allRun);
  const { frames } = watch('/api/v1/namespaces/default/events');
  await send('DELETE', `${pods}/p`, options({ gracePeriodSeconds: 0 }));
  expect((await send('GET', `${pods}/p`)).status).toBe(404);
  await pass(5_000);
  expect(frames.map(({ object }) => object.reason)).toContain('Killing');
  expect(
    cluster.requests.count({ verb: 'delete', userAgent: 'podwright-cluster/kubelet' }),
    'nothing is left to delete',
  ).toBe(0);
});

test('preconditions are held', async () => {
  const { send } = await startStand();
  const { body: pod } = await send('POST', pods, aPod('p'));
  const wrong = await send('DELETE', `${pods}/p`, options({ preconditions: { uid: 'other' } }));
  expect(wrong.body).toMatchObject({ code: 409, reason: 'Conflict' });
  expect(wrong.body.message).toContain(
    `the UID in the precondition (other) does not match the UID in record (${pod.metadata.uid})`,
  );
  const right = await send('DELETE', `${pods}/p`, options({ preconditions: { uid: pod.metadata.uid } }));
  expect(right.status).toBe(200);
});

test('the same or a longer grace changes nothing', async () => {
  const { send, podWhen } = await startStand();
  await send('POST', pods, aPod('p', { image: 'lab.local/stubborn:1' }));
  await podWhen('p', allRun);
  const first = await send('DELETE', `${pods}/p`, options({ gracePeriodSeconds: 30 }));
  const second = await send('DELETE', `${pods}/p`, options({ gracePeriodSeconds: 60 }));
  expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
});

test('finalizers keep a pod until they are taken away', async () => {
  const { send, podWhen, pass } = await startStand();
  await send('POST', pods, { ...aPod('p'), metadata: { name: 'p', finalizers: ['example.com/hold'] } });
  await podWhen('p', allRun);
  await send('DELETE', `${pods}/p`, options({ gracePeriodSeconds: 1 }));
  await pass(10_000);
  const held = await send('GET', `${pods}/p`);
  expect(held.body.status.phase).toBe('Succeeded');
  await send('PATCH', `${pods}/p`, { metadata: { finalizers: null } }, { contentType: 'application/merge-patch+json' });
  await pass(10_000);
  expect((await send('GET', `${pods}/p`)).status).toBe(404);
});

test('a collection goes by its selector', async () => {
  const { send, pass } = await startStand();
  for (const name of ['a', 'b', 'c']) await send('POST', pods, aPod(name, { labels: { keep: String(name === 'b') } }));
  const { status } = await send('DELETE', `${pods}?labelSelector=keep%3Dfalse`);
  expect(status).toBe(200);
  await pass(10_000);
  const { body } = await send('GET', pods);
  expect(body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['b']);
});

test('what is not there cannot be deleted', async () => {
  const { send } = await startStand();
  expect((await send('DELETE', `${pods}/none`)).body).toMatchObject({ code: 404, message: 'pods "none" not found' });
});
