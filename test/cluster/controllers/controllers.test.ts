/** Namespaces, owners and silent nodes. */
import { afterEach, describe, expect, test } from 'vitest';
import { aPod, merge } from '../memory-client.ts';
import { allRun, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

describe('namespaces', () => {
  test('each has its default service account and the root certificates', async () => {
    const { send, pass } = await startStand();
    await send('POST', '/api/v1/namespaces', { metadata: { name: 'fresh' } });
    await pass(100);
    expect((await send('GET', '/api/v1/namespaces/fresh/serviceaccounts/default')).status).toBe(200);
    expect((await send('GET', '/api/v1/namespaces/fresh/configmaps/kube-root-ca.crt')).status).toBe(200);
  });

  test('one that is deleted takes nothing new, loses its pods with their grace, and goes', async () => {
    const { send, pass, watch } = await startStand();
    const own = '/api/v1/namespaces/fresh';
    await send('POST', '/api/v1/namespaces', { metadata: { name: 'fresh' } });
    await send('POST', `${own}/pods`, aPod('p', { image: 'lab.local/forever:1' }));
    await pass(3_000);
    const { frames } = watch(`${own}/pods`);
    expect((await send('DELETE', own)).body.status.phase).toBe('Terminating');
    expect((await send('POST', `${own}/pods`, aPod('q'))).body).toMatchObject({
      code: 403,
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    await pass(20_000);
    expect(frames.at(-1)).toMatchObject({ type: 'DELETED', object: { status: { phase: 'Failed' } } });
    expect((await send('GET', own)).status).toBe(404);
    expect((await send('GET', `${own}/configmaps`)).body.items).toEqual([]);
  });
});

describe('owners', () => {
  const secrets = '/api/v1/namespaces/default/secrets';

  test('what belongs to a pod goes with it, the rest stays', async () => {
    const { send, pass } = await startStand();
    const { body: pod } = await send('POST', pods, aPod('p'));
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: pod.metadata.uid };
    await send('POST', secrets, { metadata: { name: 'owned', ownerReferences: [owner] } });
    await send('POST', secrets, { metadata: { name: 'free' } });
    await pass(5_000);
    expect((await send('GET', `${secrets}/owned`)).status).toBe(200);
    await send('DELETE', `${pods}/p`, { gracePeriodSeconds: 0 });
    await pass(5_000);
    expect((await send('GET', `${secrets}/owned`)).status).toBe(404);
    expect((await send('GET', `${secrets}/free`)).status).toBe(200);
  });

  test('what belongs to another pod of the name goes', async () => {
    const { send, pass } = await startStand();
    await send('POST', pods, aPod('p'));
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'long gone' };
    await send('POST', secrets, { metadata: { name: 'late', ownerReferences: [owner] } });
    await pass(5_000);
    expect((await send('GET', `${secrets}/late`)).status).toBe(404);
  });
});

describe('a node that falls silent', () => {
  test('alone: its pods are marked, none is evicted, and all goes on when it is back', async () => {
    const { cluster, send, podWhen, pass } = await startStand();
    await send('POST', pods, aPod('p'));
    await podWhen('p', allRun);
    await cluster.node.stopKubelet();
    await pass(400_000);
    const silent = (await send('GET', `${pods}/p`)).body;
    expect(silent.metadata.deletionTimestamp).toBeUndefined();
    expect(silent.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'False' }));
    expect((await send('GET', '/api/v1/nodes/localhost')).body.status.conditions[0].status).toBe('Unknown');
    const started = cluster.node.startKubelet();
    await pass(15_000);
    await started;
    expect((await send('GET', `${pods}/p`)).body.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'True' }),
    );
  });

  test('takes no new pods, and takes those that wait when it is back, with its own taints as they were', async () => {
    const { cluster, send, podWhen, pass } = await startStand();
    const node = '/api/v1/nodes/localhost';
    const taint = { key: 'own', effect: 'PreferNoSchedule' };
    await send('PATCH', node, { spec: { taints: [taint] } }, merge);
    await cluster.node.stopKubelet();
    await pass(70_000);
    await send('POST', pods, aPod('p'));
    await pass(1_000);
    const waiting = (await send('GET', `${pods}/p`)).body;
    expect(waiting.spec.nodeName).toBeUndefined();
    expect(waiting.status.conditions[0]).toMatchObject({
      reason: 'Unschedulable',
      message: expect.stringContaining('0/1 nodes are available: 1 node(s) had untolerated taint(s).'),
    });
    const started = cluster.node.startKubelet();
    await pass(15_000);
    await started;
    await podWhen('p', allRun);
    expect((await send('GET', node)).body.spec.taints).toEqual([taint]);
  });

  test('beside another: its pods are deleted after their toleration, and stay until it is back', async () => {
    const { cluster, send, podWhen, pass, clock } = await startStand();
    const heartbeat = (): object => ({
      conditions: [
        { type: 'Ready', status: 'True', lastHeartbeatTime: new Date(clock.now() + 3_600_000).toISOString() },
      ],
    });
    await send('POST', '/api/v1/nodes', {
      metadata: { name: 'other' },
      spec: { unschedulable: true },
      status: heartbeat(),
    });
    await send('POST', pods, aPod('p'));
    await podWhen('p', allRun);
    await cluster.node.stopKubelet();
    await pass(200_000);
    expect((await send('GET', `${pods}/p`)).body.metadata.deletionTimestamp).toBeUndefined();
    await pass(200_000);
    const lost = (await send('GET', `${pods}/p`)).body;
    expect(lost.metadata.deletionTimestamp).toBeDefined();
    expect(lost.status).toMatchObject({ phase: 'Running', containerStatuses: [{ state: { running: {} } }] });
    expect(lost.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'DeletionByTaintManager' }),
    );
    const { body } = await send('GET', '/api/v1/namespaces/default/events?fieldSelector=reason%3DTaintManagerEviction');
    expect(body.items[0].involvedObject.uid).toBeUndefined();
    const started = cluster.node.startKubelet();
    await pass(60_000);
    await started;
    expect((await send('GET', `${pods}/p`)).status).toBe(404);
  });
});

describe('eviction', () => {
  const evict = { kind: 'Eviction', apiVersion: 'policy/v1', metadata: { name: 'p' } };

  test('is a delete with a mark', async () => {
    const { send, podWhen, pass, watch } = await startStand();
    await send('POST', pods, aPod('p'));
    await podWhen('p', allRun);
    const { frames } = watch(pods);
    expect((await send('POST', `${pods}/p/eviction`, evict)).status).toBe(201);
    await pass(10_000);
    const marked = frames.find(({ type }) => type === 'MODIFIED').object.status.conditions;
    expect(marked).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }),
    );
    expect(frames.at(-1).type).toBe('DELETED');
  });

  test('is refused while a budget forbids it', async () => {
    const { send, podWhen } = await startStand();
    const selector = { matchLabels: { app: 'x' } };
    await send('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
      metadata: { name: 'b' },
      spec: { minAvailable: 1, selector },
    });
    await send('POST', pods, aPod('p', { labels: { app: 'x' } }));
    await podWhen('p', allRun);
    const { body } = await send('POST', `${pods}/p/eviction`, evict);
    expect(body).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      details: { causes: [{ reason: 'DisruptionBudget' }] },
    });
    expect(body.message).toBe("Cannot evict pod as it would violate the pod's disruption budget.");
  });

  const expression = (operator: string, ...values: string[]): object => ({
    matchExpressions: [{ key: 'app', operator, ...(values.length > 0 && { values }) }],
  });
  test.each([
    [{}, true],
    [undefined, false],
    [{ matchLabels: { app: 'y' } }, false],
    [expression('In', 'x', 'y'), true],
    [expression('In', 'y'), false],
    [expression('NotIn', 'y'), true],
    [expression('NotIn', 'x'), false],
    [expression('Exists'), true],
    [expression('DoesNotExist'), false],
  ])('a budget with the selector %j forbids it: %s', async (selector, forbids) => {
    const { send, podWhen } = await startStand();
    await send('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
      metadata: { name: 'b' },
      spec: { maxUnavailable: 0, ...(selector && { selector }) },
    });
    await send('POST', pods, aPod('p', { labels: { app: 'x' } }));
    await podWhen('p', allRun);
    expect((await send('POST', `${pods}/p/eviction`, evict)).status).toBe(forbids ? 429 : 201);
  });
});
