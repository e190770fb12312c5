/** A cluster that shows of a pod what no real one shows says so when it is stopped: every test on it fails. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { StatusManager } from '../../src/cluster/kubelet/status-manager.ts';
import { type PodRevision, SelfCheck, type Writer } from '../../src/cluster/self-check.ts';
import type { ContainerStatus, PodObject, PodStatus } from '../../src/cluster/types.ts';
import { aPod, merge } from './memory-client.ts';
import { allRun, pods, startStand } from './stand.ts';

afterEach(() => vi.restoreAllMocks());

const id = 'containerd://1';
const running: ContainerStatus['state'] = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended = (exitCode = 0, finishedAt = '2026-01-01T00:00:09Z'): ContainerStatus['state'] => ({
  terminated: { exitCode, startedAt: '2026-01-01T00:00:01Z', finishedAt, containerID: id },
});

function container(name: string, state: ContainerStatus['state'], restartCount = 0): ContainerStatus {
  const shown = { ready: false, image: 'x', imageID: '', containerID: id };
  return { name, state, lastState: {}, restartCount, ...shown };
}

interface Version {
  readonly phase?: PodStatus['phase'];
  readonly statuses?: readonly ContainerStatus[];
  readonly metadata?: object;
  readonly spec?: object;
  readonly message?: string;
}

const both = (state: ContainerStatus['state']): ContainerStatus[] => [container('a', state), container('b', state)];

let version = 0;

function revision(
  { phase = 'Running', statuses, metadata, spec, message }: Version,
  type: PodRevision['type'] = 'MODIFIED',
): PodRevision {
  version += 1;
  const object = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'p', uid: 'u', resourceVersion: String(version), creationTimestamp: '', ...metadata },
    spec: { restartPolicy: 'Never', containers: ['a', 'b'].map((name) => ({ name, image: 'x' })), ...spec },
    status: { phase, ...(statuses && { containerStatuses: [...statuses] }), ...(message && { message }) },
  } satisfies PodObject;
  return { type, object };
}

function brokenBy(...revisions: readonly (PodRevision | readonly [PodRevision, Writer])[]): readonly string[] {
  const check = new SelfCheck();
  for (const one of revisions) {
    if ('type' in one) check.see(one, 'own');
    else check.see(...one);
  }
  return check.broken.map((text) => text.replace(/^pod p at \d+: /, ''));
}

describe('is broken', () => {
  test.each<[string, string, readonly PodRevision[]]>([
    [
      'by a status that vanishes',
      'lost a container status',
      [revision({ statuses: both(running) }), revision({ statuses: [container('a', running)] })],
    ],
    [
      'by the status of an init container that vanishes',
      'lost the status of an init container',
      [
        revision({ statuses: both(running), spec: { initContainers: [{ name: 'i', image: 'x' }] } }),
        revision({ statuses: both(running), spec: { initContainers: [{ name: 'i', image: 'x' }] } }),
      ],
    ],
    [
      'by statuses in another order',
      'statuses are not sorted by name',
      [revision({}), revision({ statuses: both(running).reverse() })],
    ],
    [
      'by an end that is taken back',
      'a came back to life',
      [
        revision({ statuses: [container('a', ended()), container('b', running)] }),
        revision({ statuses: [container('a', running, 1), container('b', running)] }),
      ],
    ],
    [
      'by an end that becomes a wait',
      'a came back to life',
      [
        revision({ statuses: [container('a', ended(1)), container('b', running)] }),
        revision({ statuses: [container('a', { waiting: {} }), container('b', running)] }),
      ],
    ],
    [
      'by the same try that runs again, also where it may be restarted',
      'a came back to life',
      [
        revision({ statuses: [container('a', ended()), container('b', running)], spec: { restartPolicy: 'Always' } }),
        revision({ statuses: both(running), spec: { restartPolicy: 'Always' } }),
      ],
    ],
    [
      'by a count of restarts that falls',
      'a lost restarts',
      [
        revision({ statuses: [container('a', running, 2), container('b', running)] }),
        revision({ statuses: both(running) }),
      ],
    ],
    [
      'by a terminal phase that is left',
      'left a terminal phase',
      [
        revision({ phase: 'Failed', statuses: both(ended()) }),
        revision({ phase: 'Succeeded', statuses: both(ended()) }),
      ],
    ],
    [
      'by an end before the start',
      'b ended before it started',
      [revision({ statuses: [container('a', running), container('b', ended(0, '2025-12-31T23:59:59Z'))] })],
    ],
    [
      'by a pod that goes while a container of it runs',
      'gone while b runs',
      [
        revision({ statuses: [container('a', ended()), container('b', running)] }),
        revision({ statuses: [container('a', ended()), container('b', running)] }, 'DELETED'),
      ],
    ],
  ])('%s', (_what, text, revisions) => {
    expect(brokenBy(...revisions)).toContain(text);
  });

  test('by a version that is older than the one before', () => {
    const older = revision({});
    expect(brokenBy(revision({}), older)).toEqual(['went back in time']);
  });
});

describe('holds', () => {
  test.each<[string, readonly (PodRevision | readonly [PodRevision, Writer])[]]>([
    [
      'for a container that its rules restart',
      [
        revision({
          statuses: [container('a', ended(213)), container('b', running)],
          spec: {
            containers: [
              {
                name: 'a',
                image: 'x',
                restartPolicy: 'Never',
                restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
              },
              { name: 'b', image: 'x' },
            ],
          },
        }),
        revision({
          statuses: [container('a', { waiting: { reason: 'ErrImagePull' } }), container('b', running)],
          spec: {
            containers: [
              {
                name: 'a',
                image: 'x',
                restartPolicy: 'Never',
                restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
              },
              { name: 'b', image: 'x' },
            ],
          },
        }),
      ],
    ],
    [
      'for a pod that a client forces away',
      [
        revision({ statuses: both(running) }),
        [revision({ statuses: both(running), metadata: { deletionGracePeriodSeconds: 0 } }), 'client'],
        [revision({ statuses: both(running), metadata: { deletionGracePeriodSeconds: 0 } }, 'DELETED'), 'client'],
      ],
    ],
    [
      'for a pod whose status a client writes',
      [
        revision({ statuses: both(ended()) }),
        [revision({ statuses: [] }), 'client'],
        revision({ phase: 'Pending', statuses: [container('a', running)] }),
      ],
    ],
    [
      'for a pod that the node rejects when it looks again',
      [
        revision({ phase: 'Pending', statuses: both({ waiting: {} }) }),
        revision({ phase: 'Failed', message: 'Pod was rejected: no room' }),
      ],
    ],
    [
      'for another pod of the same name',
      [revision({ phase: 'Failed' }), revision({ phase: 'Pending', metadata: { uid: 'other' } }, 'ADDED')],
    ],
  ])('%s', (_what, revisions) => {
    expect(brokenBy(...revisions)).toEqual([]);
  });
});

test('a kubelet that loses a status makes the stop of its cluster fail, after everything is stopped', async () => {
  const { set } = StatusManager.prototype;
  let loses = false;
  vi.spyOn(StatusManager.prototype, 'set').mockImplementation(function (this: StatusManager, pod, status) {
    set.call(this, pod, loses ? { ...status, containerStatuses: [] } : status);
  });
  const { cluster, clock, send, podWhen } = await startStand();
  await send('POST', pods, aPod('p', { image: 'lab.local/forever:1' }));
  await podWhen('p', allRun);
  loses = true;
  cluster.node.killContainer((await send('GET', `${pods}/p`)).body.metadata.uid, 'a');
  await podWhen('p', ({ status }) => status.containerStatuses === undefined || status.containerStatuses.length === 0);
  const stopped = cluster.stop();
  await expect(stopped).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_ASSERTION',
    message: expect.stringMatching(/pod p at \d+: lost a container status/),
  });
  expect(cluster.stop()).toBe(stopped);
  expect(clock.nextAt).toBeUndefined();
});

test('what a client writes into a status is its own affair', async () => {
  const { cluster, send, podWhen } = await startStand();
  await send('POST', pods, aPod('p'));
  await podWhen('p', allRun);
  const { status } = await send('PATCH', `${pods}/p/status`, { status: { containerStatuses: [] } }, merge);
  expect(status).toBe(200);
  await cluster.stop();
});
