/** List-watches against a real API server: what an informer ends with is what the server has, whatever was cut. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { checkAccess } from '../../src/kube/access.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import { FrameDecoder, type WatchFrame } from '../../src/kube/frames.ts';
import { type Delta, Informer } from '../../src/kube/informer.ts';
import type { KubeObject } from '../../src/kube/resource.ts';
import { isNewer } from '../../src/kube/store.ts';
import { images, type Lab, openLab } from './lab.ts';
import { startProxy } from './proxy.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await openLab('watch');
});
afterAll(() => lab.end());

function informerOf(client: KubeClient, resource: 'pods' | 'events'): Informer<KubeObject> {
  const informer = new Informer<KubeObject>({
    client,
    path: { resource, namespace: lab.namespace },
    trim: ({ metadata }) => ({ metadata }),
    bookmarks: resource === 'pods',
    clock: systemClock,
  });
  onTestFinished(() => informer.stop());
  return informer;
}

const podPath = (name?: string) => ({
  resource: 'pods',
  namespace: lab.namespace,
  ...(name === undefined ? {} : { name }),
});

function podBody(name: string): object {
  return {
    metadata: { name, labels: { app: 'watch' } },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'step', image: images.base, args: ['sh', '-c', 'echo hello; sleep 2'] }],
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50));
}

test('pods that come, change and go while connections are cut are told in order and in the end exactly', async () => {
  const proxy = await startProxy();
  onTestFinished(() => proxy.close());
  const client = await connect({ kubeConfig: proxy.kubeConfig });
  onTestFinished(() => client.close());
  const informer = informerOf(client, 'pods');
  const deltas: Delta<KubeObject>[] = [];
  informer.addHandler((delta) => deltas.push(delta));
  informer.start();
  await informer.synced();
  const cutting = setInterval(() => proxy.cut(), 150);
  const names = Array.from({ length: 8 }, (_, index) => `pod-${index}`);
  for (const name of names) {
    await lab.client.create(podPath(), podBody(name));
    await lab.client.patch(podPath(name), { metadata: { labels: { step: 'one' } } }, { type: 'merge' });
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await Promise.all(names.slice(0, 4).map((name) => lab.client.delete(podPath(name), { gracePeriodSeconds: 0 })));
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  clearInterval(cutting);
  // Connections that were cut before they were watches do not count: the rest is cut for certain.
  await until(() => {
    const isEnough = proxy.cuts > 2 && informer.health.counters.watches > 2;
    if (!isEnough && informer.health.state === 'live') proxy.cut();
    return isEnough;
  });
  const versions = (items: readonly KubeObject[]): string =>
    items
      .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
      .sort()
      .join();
  // The pods go on changing: both sides are looked at until they stand still together.
  await expect
    .poll(
      async () => {
        const { items } = await lab.client.list<KubeObject>(podPath());
        return versions(informer.list()) === versions(items) && informer.health.state === 'live';
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(true);
  expect(proxy.cuts).toBeGreaterThan(2);
  expect(informer.health.counters.watches).toBeGreaterThan(2);
  expect(informer.health.counters.lists).toBe(1);
  const last = new Map<string, string>();
  for (const { object } of deltas) {
    const { uid, resourceVersion } = object.metadata;
    const before = last.get(uid);
    if (before !== undefined) expect(isNewer(resourceVersion, before)).toBe(true);
    last.set(uid, resourceVersion);
  }
  for (const name of names.slice(0, 4)) {
    expect(deltas.filter(({ kind, object }) => kind === 'deleted' && object.metadata.name === name)).toHaveLength(1);
  }
});

test('Events are followed without bookmarks', async () => {
  const informer = informerOf(lab.client, 'events');
  informer.start();
  await informer.synced();
  await lab.client.create(podPath(), podBody('eventful'));
  await until(() => informer.list().filter(({ metadata }) => metadata.name.startsWith('eventful.')).length >= 3);
  expect(informer.health).toMatchObject({ state: 'live', counters: { lists: 1, failures: 0 } });
});

const young = 'the API server is too young to have forgotten its first version';

/** A server that was started a moment ago, on an empty etcd, can tell everything since. */
async function hasForgotten(): Promise<boolean> {
  const leave = new AbortController();
  const giveUp = AbortSignal.any([leave.signal, AbortSignal.timeout(20_000)]);
  try {
    const stream = await lab.client.openWatch(podPath(), { resourceVersion: '1' }, giveUp);
    const decoder = new FrameDecoder<KubeObject>();
    for await (const chunk of stream) {
      const [first] = decoder.push(chunk);
      if (first !== undefined) return first.type === 'ERROR';
    }
    return false;
  } catch (error) {
    if (giveUp.aborted) return false;
    throw error;
  } finally {
    leave.abort();
  }
}

test('a version that the server has forgotten ends a watch with an in-stream 410', async (context) => {
  if (!(await hasForgotten())) context.skip(young);
  const stream = await lab.client.openWatch(podPath(), { resourceVersion: '1' }, AbortSignal.timeout(20_000));
  const decoder = new FrameDecoder<KubeObject>();
  const frames: WatchFrame<KubeObject>[] = [];
  for await (const chunk of stream) frames.push(...decoder.push(chunk));
  expect(frames).toEqual([{ type: 'ERROR', status: expect.objectContaining({ code: 410, reason: 'Expired' }) }]);
});

test('an informer whose version was forgotten lists anew and goes on', async (context) => {
  if (!(await hasForgotten())) context.skip(young);
  const real = lab.client;
  let isForgotten = false;
  const client: KubeClient = {
    ...bound(real),
    // As after a compaction: the first watch is asked from a version that is too old.
    openWatch: (path, query, signal) => {
      const resourceVersion = isForgotten ? query.resourceVersion : '1';
      isForgotten = true;
      return real.openWatch(path, { ...query, ...(resourceVersion === undefined ? {} : { resourceVersion }) }, signal);
    },
  };
  const informer = informerOf(client, 'pods');
  informer.start();
  await until(() => informer.health.counters.lists === 2 && informer.health.state === 'live');
  expect(informer.health.counters.expirations).toBe(1);
});

test('an administrator misses no right, and every right is one the server knows', async () => {
  const { missing, unknown, version } = await checkAccess(lab.client, lab.namespace);
  expect(missing).toEqual([]);
  expect(unknown).toEqual([]);
  expect(version.major).toBe('1');
});

/** The client's methods live on its prototype, which a spread would leave behind. */
function bound(client: KubeClient): KubeClient {
  return {
    server: client.server,
    namespace: client.namespace,
    get: (...args) => client.get(...args),
    list: (...args) => client.list(...args),
    create: (...args) => client.create(...args),
    patch: (...args) => client.patch(...args),
    delete: (...args) => client.delete(...args),
    openWatch: (...args) => client.openWatch(...args),
    openLog: (...args) => client.openLog(...args),
    version: (...args) => client.version(...args),
    canI: (...args) => client.canI(...args),
    close: () => client.close(),
  };
}
