/** The stock @kubernetes/client-node on the embedded cluster: informer, watch, log, dynamic objects. */
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';

let cluster: EmbeddedCluster;
const config = new KubeConfig();

beforeAll(async () => {
  cluster = await startCluster({ namespaces: ['foreign'] });
  config.loadFromFile(cluster.kubeConfig);
});

afterAll(() => cluster.stop());

test('client-node lists the namespaces', async () => {
  const { items } = await config.makeApiClient(CoreV1Api).listNamespace();
  expect(items.map(({ metadata }) => metadata?.name)).toContain('foreign');
});
