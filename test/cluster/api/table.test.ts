/** Tables are those of kubectl's printers: ages, the words for a pod's state, columns once for a watch. */
import { describe, expect, test } from 'vitest';
import { age, ageSince } from '../../../src/cluster/api/age.ts';
import { podColumns } from '../../../src/cluster/api/pods/columns.ts';
import type { ContainerStatus, PodObject } from '../../../src/cluster/types.ts';
import { aPod } from '../memory-client.ts';
import { pods, startStand } from '../stand.ts';

const seconds = 1_000;
const hours = 3_600 * seconds;
const days = 24 * hours;

test.each([
  [-2 * seconds, '<invalid>'],
  [-1 * seconds, '0s'],
  [119 * seconds, '119s'],
  [120 * seconds, '2m'],
  [121 * seconds, '2m1s'],
  [10 * 60 * seconds, '10m'],
  [179 * 60 * seconds, '179m'],
  [3 * hours, '3h'],
  [3.5 * hours, '3h30m'],
  [8 * hours, '8h'],
  [47 * hours, '47h'],
  [2 * days + 5 * hours, '2d5h'],
  [8 * days + 5 * hours, '8d'],
  [729 * days, '729d'],
  [800 * days, '2y70d'],
  [9 * 365 * days, '9y'],
])('%d ms are %s', (duration, text) => {
  expect(age(duration)).toBe(text);
});

test('what has no time has no age', () => {
  expect(ageSince(null, 0)).toBe('<unknown>');
});

const running = { state: { running: { startedAt: '2026-01-01T00:00:00Z' } }, ready: true };
const exited = (exitCode: number, reason?: string) => ({
  state: { terminated: { exitCode, ...(reason && { reason }), startedAt: null, finishedAt: null } },
});

function podWith(main: readonly object[], more: { status?: object; init?: readonly object[]; metadata?: object } = {}) {
  const complete = (list: readonly object[]): ContainerStatus[] =>
    list.map(
      (one, at) => ({ name: `c${at}`, lastState: {}, ready: false, restartCount: 0, ...one }) as ContainerStatus,
    );
  const { init = [] } = more;
  return {
    metadata: { name: 'p', ...more.metadata },
    spec: {
      containers: main.map((_, at) => ({ name: `c${at}` })),
      initContainers: init.map((one, at) => ({ name: `c${at}`, ...one })),
    },
    status: {
      phase: 'Running',
      containerStatuses: complete(main),
      initContainerStatuses: complete(init),
      ...more.status,
    },
  } as unknown as PodObject;
}

describe('a pod', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  test.each([
    ['that runs', podWith([running]), '1/1 Running'],
    ['with one container done and Ready', podWith([exited(0, 'Completed'), running], { status: ready }), '1/2 Running'],
    ['with one container done and not Ready', podWith([exited(0, 'Completed'), running]), '1/2 NotReady'],
    ['with one done and one failed', podWith([exited(0, 'Completed'), exited(2, 'Error')]), '0/2 Error'],
    ['killed without a reason', podWith([exited(137)]), '0/1 ExitCode:137'],
    ['that waits', podWith([{ state: { waiting: { reason: 'CrashLoopBackOff' } } }]), '0/1 CrashLoopBackOff'],
    [
      'whose init container waits',
      podWith([{ state: { waiting: { reason: 'PodInitializing' } } }], {
        init: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }],
      }),
      '0/1 Init:ImagePullBackOff',
    ],
    [
      'whose init container runs',
      podWith([{ state: {} }], { init: [exited(0), { state: { running: {} } }] }),
      '0/1 Init:1/2',
    ],
    ['whose init container failed', podWith([{ state: {} }], { init: [exited(3, 'Error')] }), '0/1 Init:Error'],
    [
      'with a sidecar',
      podWith([running], { init: [{ ...running, started: true, restartPolicy: 'Always' }] }),
      '2/2 Running',
    ],
    ['that was evicted', podWith([], { status: { phase: 'Failed', reason: 'Evicted' } }), '0/0 Evicted'],
    ['that is deleted', podWith([running], { metadata: { deletionTimestamp: 'x' } }), '1/1 Terminating'],
    [
      'on a lost node',
      podWith([running], { metadata: { deletionTimestamp: 'x' }, status: { reason: 'NodeLost' } }),
      '1/1 Unknown',
    ],
    [
      'that is deleted when over',
      podWith([exited(0, 'Completed')], { metadata: { deletionTimestamp: 'x' }, status: { phase: 'Succeeded' } }),
      '0/1 Completed',
    ],
  ])('%s', (_what, pod, text) => {
    expect(`${podColumns.ready(pod)} ${podColumns.status(pod)}`).toBe(text);
  });

  test('tells how long ago it was restarted last', () => {
    const lastState = exited(1).state;
    const at = { terminated: { ...lastState.terminated, finishedAt: '2026-01-01T00:00:00Z' } };
    const pod = podWith([{ ...running, restartCount: 2, lastState: at }]);
    expect(podColumns.restarts(pod, Date.parse('2026-01-01T00:00:30Z'))).toBe('2 (30s ago)');
  });

  test('with gates counts those that are met', () => {
    const pod = podWith([running], { status: { conditions: [{ type: 'a', status: 'True' }] } });
    pod.spec['readinessGates'] = [{ conditionType: 'a' }, { conditionType: 'b' }];
    expect(podColumns.readinessGates(pod)).toBe('1/2');
  });
});

test('a watch of tables describes its columns once', async () => {
  const stand = await startStand();
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  await stand.send('POST', pods, aPod('one', { spec: { schedulingGates: [{ name: 'a.example/b' }] } }));
  await stand.send('POST', pods, aPod('two', { spec: { schedulingGates: [{ name: 'a.example/b' }] } }));
  const answer = await stand.send('GET', pods, undefined, { headers: { accept } });
  expect(answer.body.rows.map((row: { cells: unknown[] }) => row.cells.slice(0, 4))).toEqual([
    ['one', '0/1', 'SchedulingGated', '0'],
    ['two', '0/1', 'SchedulingGated', '0'],
  ]);
  const watched = stand.send('GET', `${pods}?watch=1&timeoutSeconds=1`, undefined, { headers: { accept } });
  await stand.pass(1_500);
  const tables = (await watched).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).object);
  expect(tables.map(({ kind, columnDefinitions }) => [kind, columnDefinitions?.length])).toEqual([
    ['Table', 9],
    ['Table', undefined],
  ]);
});
