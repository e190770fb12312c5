/** The stock @kubernetes/client-node on the embedded cluster: informer, watch, log, dynamic objects. */
import { PassThrough } from 'node:stream';
import {
  ApiException,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  PatchStrategy,
  type V1Pod,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { Folder } from '../cli/podwright.ts';

const namespace = 'foreign';
const patience = { timeout: 20_000, interval: 50 };
const folder = new Folder();
const config = new KubeConfig();
let cluster: EmbeddedCluster;
let core: CoreV1Api;

beforeAll(async () => {
  cluster = await startCluster({ namespaces: [namespace] });
  config.loadFromFile(cluster.kubeConfig);
  core = config.makeApiClient(CoreV1Api);
});

afterAll(async () => {
  await cluster.stop();
  folder.end();
});

function pod(name: string, script: string): V1Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: name } },
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'lab.local/base:1', command: ['sh', '-c', script] }],
    },
  };
}

const create = (name: string, script: string): Promise<V1Pod> =>
  core.createNamespacedPod({ namespace, body: pod(name, script) });

async function ended(name: string): Promise<void> {
  await vi.waitFor(async () => {
    const { status } = await core.readNamespacedPod({ namespace, name });
    expect(['Succeeded', 'Failed']).toContain(status?.phase);
  }, patience);
}

test('an informer sees a pod from its creation to its end, and after connections were cut', async () => {
  const seen: string[] = [];
  const informer = makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/pods`,
    () => core.listNamespacedPod({ namespace, labelSelector: 'app=informed' }),
    'app=informed',
  );
  const note = (what: string) => (object: V1Pod) => void seen.push(`${what} ${object.status?.phase ?? ''}`);
  informer.on('add', note('add'));
  informer.on('update', note('update'));
  informer.on('delete', note('delete'));
  informer.on('error', () => void setTimeout(() => void informer.start(), 50));
  await informer.start();
  await create('informed', folder.untilMade('cut'));
  await vi.waitFor(() => expect(seen).toContain('update Running'), patience);
  cluster.dropConnections();
  folder.file('cut', '');
  await vi.waitFor(() => expect(seen).toContain('update Succeeded'), patience);
  await core.deleteNamespacedPod({ namespace, name: 'informed' });
  await vi.waitFor(() => expect(seen.at(-1)).toBe('delete Succeeded'), patience);
  expect(seen[0]).toBe('add Pending');
  await informer.stop();
});

test('a watch from a compacted version gets 410 in the stream', async () => {
  cluster.compact();
  await create('fresh', 'true');
  cluster.compact();
  const frames: { type: string; code: number }[] = [];
  const done = new Promise<unknown>((resolve, reject) => {
    const options = { resourceVersion: '1' };
    const note = (type: string, object: { code: number }): void => void frames.push({ type, code: object.code });
    new Watch(config).watch(`/api/v1/namespaces/${namespace}/pods`, options, note, resolve).catch(reject);
  });
  await done;
  expect(frames.map(({ type, code }) => [type, code])).toEqual([['ERROR', 410]]);
});

test('a followed log is all that the container printed, and ends with it', async () => {
  await create('talks', 'for n in 1 2 3; do echo line $n; sleep 0.1; done');
  await vi.waitFor(async () => {
    const { status } = await core.readNamespacedPod({ namespace, name: 'talks' });
    expect(status?.containerStatuses?.[0]?.containerID).toBeDefined();
  }, patience);
  const sink = new PassThrough();
  let text = '';
  sink.on('data', (bytes: Buffer) => {
    text += bytes.toString();
  });
  await new Log(config).log(namespace, 'talks', 'main', sink, { follow: true });
  await vi.waitFor(() => expect(text).toBe('line 1\nline 2\nline 3\n'), patience);
  await ended('talks');
});

test('refusals carry their Status', async () => {
  const refused = await core.readNamespacedPod({ namespace, name: 'nothing' }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ApiException);
  const { code, body } = refused as ApiException<string>;
  expect(code).toBe(404);
  expect(JSON.parse(body)).toMatchObject({
    kind: 'Status',
    reason: 'NotFound',
    details: { name: 'nothing', kind: 'pods' },
  });
});

test('objects are handled by kind alone, through discovery', async () => {
  const api = KubernetesObjectApi.makeApiClient(config);
  const metadata = { name: 'dynamic', namespace };
  const head = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  await api.create({ ...head, data: { a: '1' } } as object as typeof head);
  const change = { ...head, data: { b: '2' } } as object as typeof head;
  await api.patch(change, undefined, undefined, undefined, undefined, PatchStrategy.MergePatch);
  expect(await api.read(head)).toMatchObject({ data: { a: '1', b: '2' } });
  expect((await api.list('v1', 'ConfigMap', namespace)).items.map((one) => one.metadata?.name)).toContain('dynamic');
  await api.delete(head);
  await expect(api.read(head)).rejects.toMatchObject({ code: 404 });
});
