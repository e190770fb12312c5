/** The log of a process that the embedded cluster runs, through dropped connections. */
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { startCluster } from '../../src/cluster/index.ts';
import { connect } from '../../src/kube/client.ts';
import { Informer } from '../../src/kube/informer.ts';
import { followLog } from '../../src/logs/follow.ts';
import type { ContainerStatus, Pod } from '../../src/pod/types.ts';

const namespace = 'builds';

test('20,000 lines come all, once and in order, while connections are dropped', async () => {
  const cluster = await startCluster({ namespaces: [namespace] });
  const client = await connect({ kubeConfig: cluster.kubeConfig });
  const pods = new Informer<Pod>({
    client,
    path: { resource: 'pods', namespace },
    trim: (pod) => pod,
    bookmarks: true,
    clock: systemClock,
  });
  onTestFinished(async () => {
    await pods.stop();
    await client.close();
    await cluster.stop();
  });
  const when = (holds: (status: ContainerStatus) => boolean): Promise<ContainerStatus> =>
    new Promise((resolve) => {
      pods.addHandler(({ object }) => {
        const [status] = object.status?.containerStatuses ?? [];
        if (status !== undefined && holds(status)) resolve(status);
      });
    });
  pods.start();
  const script =
    'for part in 0 1 2 3 4 5 6 7 8 9; do seq $((part * 2000 + 1)) $((part * 2000 + 2000)); sleep 0.1; done';
  await client.create(
    { resource: 'pods', namespace },
    {
      metadata: { name: 'many' },
      spec: {
        restartPolicy: 'Never',
        containers: [{ name: 'step', image: 'lab.local/base:1', args: ['sh', '-c', script] }],
      },
    },
  );
  const lines: string[] = [];
  for await (const { text, gap } of followLog({
    client,
    namespace,
    pod: 'many',
    container: 'step',
    clock: systemClock,
    source: {
      started: async () => {
        const { containerID = '' } = await when(
          ({ state, containerID }) => containerID !== undefined && state?.waiting === undefined,
        );
        return { containerID };
      },
      ended: () => when(({ state }) => state?.terminated !== undefined).then(() => 'terminated'),
      which: () => 'current',
    },
  })) {
    // The first line comes long before the last: this connection is cut for certain, later ones mostly.
    if (lines.length % 4_000 === 0) cluster.dropConnections();
    lines.push(gap === undefined ? text : `<gap ${gap.message}>`);
  }
  expect(lines).toHaveLength(20_000);
  expect(lines.findIndex((line, index) => line !== String(index + 1))).toBe(-1);
  expect(cluster.requests.count({ subresource: 'log' })).toBeGreaterThan(2);
});
