/** A pod that loses its sandbox, or its whole machine. */
import { afterEach, expect, test } from 'vitest';
import { type Anything, aPod } from '../memory-client.ts';
import { allRun, containerOf, events, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const forever = { image: 'lab.local/forever:1' };

test.each([
  ['its sandbox is killed', 'killSandboxes'],
  ['its machine reboots', 'rebootNode'],
] as const)('a pod that may restart begins anew when %s: init containers, then all others', async (_what, kind) => {
  const { cluster, send, podWhen, pass, watch } = await startStand();
  const step = { name: 'i', image: 'lab.local/step:1' };
  const containers = [
    { name: 'a', ...forever },
    { name: 'b', ...forever },
  ];
  await send('POST', pods, aPod('p', { containers, spec: { restartPolicy: 'Always', initContainers: [step] } }));
  await podWhen('p', allRun);
  await pass(5_000);
  const { frames } = watch(pods);
  void cluster.faults.strike({ kind });
  const restarted = (pod: Anything): boolean =>
    ['a', 'b'].every((name) => containerOf(pod, name).restartCount === 1 && containerOf(pod, name).state.running);
  const pod = await podWhen('p', restarted);
  expect(pod.status.initContainerStatuses[0]).toMatchObject({
    restartCount: 1,
    state: { terminated: { exitCode: 0 } },
  });
  // The main ones wait for the init container of the new sandbox.
  const early = frames.filter(({ object }) => object.status.initContainerStatuses[0].state.running !== undefined);
  expect(early.length).toBeGreaterThan(0);
  for (const { object } of early) {
    for (const { state } of object.status.containerStatuses) expect(state.running).toBeUndefined();
  }
  const { body } = await send('GET', `${events}?fieldSelector=reason%3DSandboxChanged`);
  expect(body.items).toMatchObject([
    { type: 'Normal', message: 'Pod sandbox changed, it will be killed and re-created.' },
  ]);
});

test('what has succeeded is not started again on failure', async () => {
  const { cluster, send, podWhen, pass } = await startStand();
  const containers = [
    { name: 'a', image: 'lab.local/quiet:1' },
    { name: 'b', ...forever },
  ];
  await send('POST', pods, aPod('p', { containers, spec: { restartPolicy: 'OnFailure' } }));
  const { metadata } = await podWhen('p', (pod) => containerOf(pod, 'a')?.state.terminated !== undefined);
  cluster.node.killSandbox(metadata.uid);
  const pod = await podWhen('p', (one) => containerOf(one, 'b').restartCount === 1);
  await pass(30_000);
  expect(containerOf(pod, 'a')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
});

test('a pod that may not restart ends with its sandbox, and no other is made', async () => {
  const { cluster, send, podWhen } = await startStand();
  await send('POST', pods, aPod('p', forever));
  const { metadata } = await podWhen('p', allRun);
  cluster.node.killSandbox(metadata.uid);
  await podWhen('p', ({ status }) => status.phase === 'Failed');
  const { body } = await send('GET', `${events}?fieldSelector=reason%3DSandboxChanged`);
  expect(body.items).toEqual([]);
});
