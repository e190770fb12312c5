/** Each fault of a pod, its node or the cluster as a whole does what it says. */
import { afterEach, describe, expect, test } from 'vitest';
import { aPod } from '../memory-client.ts';
import { allRun, containerOf, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

describe('of a pod', () => {
  test('its node rejects it: Failed, with no containers, for the reason that was given', async () => {
    const { cluster, podWhen, pass, send: ask } = await startStand();
    cluster.faults.add({ fault: { kind: 'rejectPod' } });
    await ask('POST', pods, aPod('a'));
    const rejected = await podWhen('a', ({ status }) => status.phase === 'Failed');
    expect(rejected.status).toMatchObject({
      reason: 'UnexpectedAdmissionError',
      message: expect.stringMatching(/^Pod was rejected: Allocate failed due to .*, which is unexpected$/),
    });
    expect(rejected.status.containerStatuses).toBeUndefined();
    cluster.faults.add({ fault: { kind: 'rejectPod', reason: 'OutOfpods', message: 'full' } });
    await ask('POST', pods, aPod('b'));
    expect((await podWhen('b', ({ status }) => status.phase === 'Failed')).status).toMatchObject({
      reason: 'OutOfpods',
      message: 'Pod was rejected: full',
    });
    await ask('POST', pods, aPod('c'));
    await podWhen('c', allRun);
    await pass(1_000);
    const { body } = await ask('GET', `${events}?fieldSelector=reason%3DOutOfpods`);
    expect(body.items).toMatchObject([{ type: 'Warning', message: 'full' }]);
  });

  test('its sandbox cannot be made, until it can', async () => {
    const { cluster, podWhen, pass, clock, send: ask } = await startStand();
    cluster.faults.add({ fault: { kind: 'failSandbox', message: 'no network' }, times: 2 });
    const from = clock.now();
    await ask('POST', pods, aPod('a'));
    await pass(5_000);
    const { body: waiting } = await ask('GET', `${pods}/a`);
    expect(containerOf(waiting, 'a').state).toEqual({ waiting: { reason: 'ContainerCreating' } });
    await podWhen('a', allRun);
    expect(clock.now() - from).toBeGreaterThan(20_000);
    const { body } = await ask('GET', `${events}?fieldSelector=reason%3DFailedCreatePodSandBox`);
    expect(body.items).toMatchObject([
      { type: 'Warning', count: 2, message: 'Failed to create pod sandbox: no network' },
    ]);
  });
});

test('a container that writes more than its limit of storage is evicted', async () => {
  const lives = [{ match: { container: 'a' }, runs: 'forever' as const, overfillsStorage: true }];
  const { podWhen, send: ask } = await startStand({ lives });
  const resources = { limits: { 'ephemeral-storage': '1Gi' } };
  await ask('POST', pods, aPod('p', { containers: [{ name: 'a', image: 'lab.local/forever:1', resources }] }));
  const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
  expect(pod.status).toMatchObject({
    reason: 'Evicted',
    message: 'Container a exceeded its local ephemeral storage limit "1Gi". ',
  });
});

describe('of the cluster', () => {
  async function withStep(image: string): Promise<Stand & { uid: string }> {
    const stand = await startStand();
    await stand.send('POST', pods, aPod('p', { image }));
    const pod = await stand.podWhen('p', allRun);
    return { ...stand, uid: pod.metadata.uid };
  }

  test('an eviction ends the pod as Failed, with the kubelet’s mark, only when it is over', async () => {
    const { cluster, podWhen } = await withStep('lab.local/forever:1');
    await cluster.faults.strike({ kind: 'evictPods' });
    const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'Evicted',
      message: expect.stringContaining('low on resource: memory'),
    });
    expect(pod.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'TerminationByKubelet' }),
    );
    expect(containerOf(pod, 'a').state.terminated).toMatchObject({ exitCode: 9 });
  });

  test('a shutdown of the node ends its pods as Terminated', async () => {
    const { cluster, podWhen } = await withStep('lab.local/forever:1');
    await cluster.faults.strike({ kind: 'shutDownNode' });
    const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(pod.status.reason).toBe('Terminated');
  });

  test('a reboot leaves containers of which nobody knows the end', async () => {
    const { cluster, podWhen, pass } = await withStep('lab.local/forever:1');
    void cluster.faults.strike({ kind: 'rebootNode' });
    await pass(100);
    const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(containerOf(pod, 'a').state.terminated).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  });

  test('a killed container and a killed sandbox', async () => {
    const { cluster, podWhen } = await withStep('lab.local/forever:1');
    await cluster.faults.strike({ kind: 'killContainers' });
    const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(containerOf(pod, 'a').state.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    const other = await withStep('lab.local/forever:1');
    await other.cluster.faults.strike({ kind: 'killSandboxes' });
    expect((await other.podWhen('p', ({ status }) => status.phase === 'Failed')).status.reason).toBeUndefined();
  });

  test('a restarted kubelet takes its pods up again, and nothing runs twice', async () => {
    const { cluster, podWhen, pass, send: ask } = await withStep('lab.local/step:1');
    const struck = cluster.faults.strike({ kind: 'restartKubelet', downMs: 5_000 });
    await pass(8_000);
    await struck;
    const pod = await podWhen('p', ({ status }) => status.phase === 'Succeeded');
    expect(containerOf(pod, 'a')).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 0 } } });
    const { body } = await ask('GET', `${events}?fieldSelector=reason%3DStarted`);
    expect(body.items.map(({ count }: { count: number }) => count)).toEqual([1]);
  });

  test('while the API server is away requests are refused, and watches from before it are too old', async () => {
    const { cluster, pass, send: ask, watch: follow } = await withStep('lab.local/step:1');
    const from = (await ask('GET', pods)).body.metadata.resourceVersion;
    const watching = follow(pods);
    await pass(10);
    const struck = cluster.faults.strike({ kind: 'restartApiServer', downMs: 3_000 });
    await pass(1);
    expect(watching.ended).toBe(true);
    await expect(ask('GET', pods)).rejects.toThrow('ECONNREFUSED');
    await pass(5_000);
    await struck;
    expect((await ask('GET', pods)).status).toBe(200);
    await ask('POST', pods, aPod('later'));
    cluster.compact();
    const late = follow(`${pods}?resourceVersion=${from}`);
    await pass(1);
    expect(late.frames[0]).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  });

  test('a node whose clock is wrong stamps what it says with the wrong time', async () => {
    const { cluster, send: ask, podWhen, clock } = await startStand();
    await cluster.faults.strike({ kind: 'skewNodeClock', ms: -3_600_000 });
    await ask('POST', pods, aPod('p'));
    const pod = await podWhen('p', allRun);
    expect(clock.now() - Date.parse(containerOf(pod, 'a').state.running.startedAt)).toBeGreaterThan(3_500_000);
    expect(clock.now() - Date.parse(pod.metadata.creationTimestamp)).toBeLessThan(60_000);
  });

  test('a clock that is set back while a pod runs delays nothing that is said of it', async () => {
    const { cluster, podWhen, clock } = await withStep('lab.local/forever:1');
    await podWhen('p', allRun);
    const setBackAt = clock.now();
    await cluster.faults.strike({ kind: 'skewNodeClock', ms: -3_600_000 });
    await cluster.faults.strike({ kind: 'killContainers' });
    await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(clock.now() - setBackAt).toBeLessThan(60_000);
  });

  test('what had to wait for its turn does not come after all were taken away', async () => {
    const { cluster, pass, send: ask } = await startStand();
    cluster.faults.add({ fault: { kind: 'silenceNode', downMs: 60_000 }, afterMs: 1_000 });
    cluster.faults.add({ fault: { kind: 'restartApiServer', downMs: 60_000 }, afterMs: 2_000 });
    await pass(10_000);
    cluster.faults.clear();
    await pass(80_000);
    expect((await ask('GET', pods)).status).toBe(200);
  });

  test('by schedule it happens again and again, until it is taken away', async () => {
    const { cluster, pass, watch: follow } = await startStand();
    const name = cluster.faults.add({ fault: { kind: 'dropConnections' }, everyMs: 10_000 });
    for (let at = 0; at < 3; at += 1) {
      const watching = follow(pods);
      await pass(10_000);
      expect(watching.ended).toBe(true);
    }
    expect(cluster.faults.remove(name)).toBe(true);
    const watching = follow(pods);
    await pass(60_000);
    expect(watching.ended).toBe(false);
  });
});
