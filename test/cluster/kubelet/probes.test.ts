/** Probes: when a container counts as started, ready and alive, and what becomes of one that does not. */
import { afterEach, describe, expect, test } from 'vitest';
import { labLives, type MatchedLife } from '../../../src/cluster/index.ts';
import { type Anything, aPod, strategic } from '../memory-client.ts';
import { allRun, containerOf, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const probe = (command: string, more: object = {}): object => ({
  exec: { command: ['sh', '-c', command] },
  periodSeconds: 1,
  ...more,
});
const answers = (command: string, exitCodes: readonly number[], text = 'sick\n'): MatchedLife => ({
  match: { exec: true, command },
  exitCodes,
  output: [{ at: 0, text }],
});

async function withProbes(probes: object, lives: MatchedLife[], spec: object = {}): Promise<Stand> {
  const stand = await startStand({ lives: [...lives, ...labLives()] });
  const containers = [{ name: 'a', image: 'lab.local/forever:1', ...probes }];
  await stand.send('POST', pods, aPod('p', { containers, spec }));
  return stand;
}

async function told({ send }: Stand, reason: string): Promise<Anything[]> {
  return (await send('GET', `${events}?fieldSelector=reason%3D${reason}`)).body.items;
}

const runs = (pod: Anything): boolean => containerOf(pod, 'a')?.state.running !== undefined;

describe('readiness', () => {
  test('comes with the probe, not with the start, and goes with it', async () => {
    const codes = [1, 1, 0, 0, 0, 1, 1, 1, 0];
    const stand = await withProbes({ readinessProbe: probe('ready', { failureThreshold: 3 }) }, [
      answers('ready', codes),
    ]);
    const unready = await stand.podWhen('p', runs);
    expect(containerOf(unready, 'a')).toMatchObject({ ready: false, started: true });
    expect(unready.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }),
    );
    const ready = await stand.podWhen('p', (pod) => containerOf(pod, 'a').ready);
    expect(ready.status.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    await stand.podWhen('p', (pod) => !containerOf(pod, 'a').ready);
    await stand.podWhen('p', (pod) => containerOf(pod, 'a').ready);
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy).toMatchObject({
      type: 'Warning',
      message: 'Readiness probe failed: sick\n',
      count: 5,
      involvedObject: { fieldPath: 'spec.containers{a}' },
    });
    expect(await told(stand, 'Killing')).toEqual([]);
  });

  test('needs as many successes in a row as it asks for', async () => {
    const codes = [0, 1, 0, 0];
    const ask = { successThreshold: 2, initialDelaySeconds: 10 };
    const { podWhen, clock } = await withProbes({ readinessProbe: probe('ready', ask) }, [answers('ready', codes)]);
    await podWhen('p', runs);
    const from = clock.now();
    await podWhen('p', (pod) => containerOf(pod, 'a').ready);
    // Ten seconds of delay, then the fourth try is the second success in a row.
    expect(clock.now() - from).toBeGreaterThan(12_000);
    expect(clock.now() - from).toBeLessThan(16_000);
  });
});

describe('liveness', () => {
  const liveness = { livenessProbe: probe('alive', { failureThreshold: 2 }) };

  test('lost, the container is restarted where it may be', async () => {
    const lives = [answers('alive', [0, 0, 1, 1, 0])];
    const stand = await withProbes(liveness, lives, { restartPolicy: 'Always' });
    const pod = await stand.podWhen('p', (one) => runs(one) && containerOf(one, 'a').restartCount === 1);
    expect(containerOf(pod, 'a').lastState.terminated).toMatchObject({ exitCode: 9 });
    expect((await told(stand, 'Killing')).map(({ message }) => message)).toEqual([
      'Container a failed liveness probe, will be restarted',
    ]);
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy).toMatchObject({ count: 2, message: 'Liveness probe failed: sick\n' });
    await stand.pass(60_000);
    expect((await stand.send('GET', `${pods}/p`)).body.status.containerStatuses[0].restartCount).toBe(1);
  });

  test('lost, it is ended for good where it may not be, and others go on', async () => {
    const stand = await startStand({ lives: [answers('alive', [1]), ...labLives()] });
    const containers = [
      { name: 'a', image: 'lab.local/forever:1', ...liveness },
      { name: 'b', image: 'lab.local/forever:1' },
    ];
    await stand.send('POST', pods, aPod('p', { containers }));
    const pod = await stand.podWhen('p', (one) => containerOf(one, 'a')?.state.terminated !== undefined);
    expect(containerOf(pod, 'b').state.running).toBeDefined();
    expect((await told(stand, 'Killing')).map(({ message }) => message)).toEqual(['Container a failed liveness probe']);
    await stand.pass(30_000);
    expect((await stand.send('GET', `${pods}/p`)).body.status.phase).toBe('Running');
  });

  test('is lost by an answer that does not come in time', async () => {
    const slow: MatchedLife = { match: { exec: true, command: 'alive' }, runs: 3_000 };
    const stand = await withProbes({ livenessProbe: probe('alive', { timeoutSeconds: 2 }) }, [slow]);
    await stand.podWhen('p', ({ status }) => status.phase === 'Failed');
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy).toMatchObject({ count: 3, message: 'Liveness probe failed: command "sh -c alive" timed out' });
  });
});

describe('the startup probe', () => {
  test('holds the others back until it has succeeded', async () => {
    const probes = {
      startupProbe: probe('up', { failureThreshold: 10 }),
      livenessProbe: probe('alive', { failureThreshold: 1 }),
      readinessProbe: probe('ready'),
    };
    const lives = [answers('up', [1, 1, 1, 1, 1, 0]), answers('alive', [0]), answers('ready', [0])];
    const stand = await withProbes(probes, lives);
    const early = await stand.podWhen('p', runs);
    expect(containerOf(early, 'a')).toMatchObject({ started: false, ready: false });
    const from = stand.clock.now();
    const pod = await stand.podWhen('p', (one) => containerOf(one, 'a').ready);
    expect(containerOf(pod, 'a').started).toBe(true);
    expect(stand.clock.now() - from).toBeGreaterThan(4_000);
    expect((await told(stand, 'Unhealthy')).map(({ message }) => message)).toEqual(['Startup probe failed: sick\n']);
  });

  test('ends a container that does not start in time', async () => {
    const stand = await withProbes({ startupProbe: probe('up', { failureThreshold: 3 }) }, [answers('up', [1])]);
    const pod = await stand.podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(containerOf(pod, 'a').state.terminated.exitCode).toBe(9);
    expect((await told(stand, 'Killing')).map(({ message }) => message)).toContain('Stopping container a');
  });
});

describe('over the network', () => {
  const ports = [{ name: 'web', containerPort: 8080 }];

  test('a container answers unless its script says otherwise, also at a port with a name', async () => {
    const refuses: MatchedLife = { match: { exec: true, command: 'httpGet:8080/health' }, exitCodes: [1, 1, 0] };
    const readinessProbe = { httpGet: { port: 'web', path: '/health' }, periodSeconds: 1, failureThreshold: 1 };
    const startupProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
    const stand = await withProbes({ ports, startupProbe, readinessProbe }, [refuses]);
    await stand.podWhen('p', (pod) => containerOf(pod, 'a')?.ready);
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy).toMatchObject({
      count: 2,
      message:
        'Readiness probe failed: Get "http://127.0.0.1:8080/health": dial tcp 127.0.0.1:8080: connect: connection refused',
    });
  });

  test('nobody answers in a placeholder, and the step that comes after it does', async () => {
    const stand = await startStand();
    const readinessProbe = { tcpSocket: { port: 6379 }, periodSeconds: 1 };
    const containers = [{ name: 'a', image: 'lab.local/placeholder:1', readinessProbe }];
    await stand.send('POST', pods, aPod('p', { containers }));
    await stand.podWhen('p', runs);
    await stand.pass(5_000);
    expect(containerOf((await stand.send('GET', `${pods}/p`)).body, 'a').ready).toBe(false);
    const image = 'lab.local/forever:1';
    await stand.send('PATCH', `${pods}/p`, { spec: { containers: [{ name: 'a', image }] } }, strategic);
    const pod = await stand.podWhen('p', (one) => containerOf(one, 'a').ready);
    expect(containerOf(pod, 'a').image).toBe(image);
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy.message).toBe('Readiness probe failed: dial tcp 127.0.0.1:6379: connect: connection refused');
  });

  test('an answer that does not come in time is a failure', async () => {
    const hangs: MatchedLife = { match: { exec: true, command: 'tcpSocket:1' }, runs: 'forever' };
    const livenessProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 };
    const stand = await withProbes({ livenessProbe }, [hangs]);
    await stand.podWhen('p', ({ status }) => status.phase === 'Failed');
    const [unhealthy] = await told(stand, 'Unhealthy');
    expect(unhealthy.message).toBe('Liveness probe failed: dial tcp 127.0.0.1:1: i/o timeout');
  });
});

test('a pod that is deleted is not probed any more', async () => {
  const stand = await withProbes({ readinessProbe: probe('ready') }, [answers('ready', [0])], {
    terminationGracePeriodSeconds: 1,
  });
  await stand.podWhen('p', allRun);
  await stand.send('DELETE', `${pods}/p`);
  await stand.pass(10_000);
  expect((await stand.send('GET', `${pods}/p`)).status).toBe(404);
  expect(await told(stand, 'Unhealthy')).toEqual([]);
});
