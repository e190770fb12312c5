/** Against the embedded cluster: whatever happens to its API server, the informer ends with what it holds. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { checkAccess } from '../../src/kube/access.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import { type Delta, Informer } from '../../src/kube/informer.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { isNewer } from '../../src/kube/store.ts';

/** The test's own time limit is the one that counts. */
const patience = { timeout: 25_000 };
const namespace = 'builds';
const pods = { resource: 'pods', namespace };

async function start(): Promise<{ cluster: EmbeddedCluster; client: KubeClient }> {
  const cluster = await startCluster({ backend: 'scripted', namespaces: [namespace] });
  const client = await connect({ kubeConfig: cluster.kubeConfig });
  onTestFinished(async () => {
    await client.close();
    await cluster.stop();
  });
  return { cluster, client };
}

function informerOf(client: KubeClient, resource: 'pods' | 'events'): Informer<KubeObject> {
  const informer = new Informer<KubeObject>({
    client,
    path: { resource, namespace },
    trim: ({ metadata }) => ({ metadata }),
    bookmarks: resource === 'pods',
    clock: systemClock,
    random: () => 0,
  });
  onTestFinished(() => informer.stop());
  return informer;
}

const aPod = (name: string): object => ({
  metadata: { name, labels: { app: 'ci' } },
  spec: { restartPolicy: 'Never', containers: [{ name: 'step', image: 'lab.local/base:1', args: ['true'] }] },
});

test('each fault of the API server is survived, with no state out of order and none missing in the end', async () => {
  const { cluster, client } = await start();
  const informer = informerOf(client, 'pods');
  const deltas: Delta<KubeObject>[] = [];
  informer.addHandler((delta) => deltas.push(delta));
  informer.start();
  await informer.synced();
  const faults: [string, () => Promise<void> | void][] = [
    ['nothing', () => undefined],
    ['dropped connections', () => cluster.dropConnections()],
    ['compaction', () => cluster.compact()],
    [
      'compaction while disconnected',
      async () => {
        cluster.stopApiServer();
        cluster.compact();
        cluster.startApiServer();
      },
    ],
    [
      'restart',
      () => {
        cluster.stopApiServer();
        cluster.startApiServer();
      },
    ],
  ];
  for (const [index, [, strike]] of faults.entries()) {
    const name = `pod-${index}`;
    await client.create(pods, aPod(name));
    await strike();
    await client.patch({ ...pods, name }, { metadata: { labels: { touched: 'yes' } } }, { type: 'merge' });
    if (index % 2 === 0) await client.delete({ ...pods, name }, { gracePeriodSeconds: 0 });
  }
  const state = (items: readonly KubeObject[]): string =>
    items
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`)
      .sort()
      .join();
  await expect
    .poll(async () => {
      const { items } = await client.list<KubeObject>(pods);
      return informer.health.state === 'live' && state(items) === state(informer.list());
    }, patience)
    .toBe(true);
  const newest = new Map<string, string>();
  for (const { object } of deltas) {
    const { uid, resourceVersion } = object.metadata;
    const before = newest.get(uid);
    if (before !== undefined) expect(resourceVersion === before || isNewer(resourceVersion, before)).toBe(true);
    newest.set(uid, resourceVersion);
  }
  expect(
    informer
      .list()
      .map(({ metadata }) => metadata.name)
      .sort(),
  ).toEqual(['pod-1', 'pod-3']);
});

test('pods and Events take one watch each, seen by the server, and stop closes both', async () => {
  const { cluster, client } = await start();
  const informers = [informerOf(client, 'pods'), informerOf(client, 'events')];
  for (const informer of informers) informer.start();
  await Promise.all(informers.map((informer) => informer.synced()));
  for (let index = 0; index < 5; index++) await client.create(pods, aPod(`pod-${index}`));
  await expect.poll(() => informers[1]?.list().length ?? 0, patience).toBeGreaterThan(5);
  const open = (): string[] =>
    cluster.requests.find({ verb: 'watch', userAgent: 'podwright/', open: true }).map(({ resource }) => resource);
  expect(open().sort()).toEqual(['events', 'pods']);
  await Promise.all(informers.map((informer) => informer.stop()));
  await expect.poll(open, patience).toEqual([]);
});

test('the administrator of an embedded cluster misses no right', async () => {
  const { client } = await start();
  const { missing, unknown } = await checkAccess(client, namespace);
  expect([...missing, ...unknown]).toEqual([]);
});
