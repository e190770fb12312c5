import { describe, expect, test } from 'vitest';
import { deletionBegin, endingOf, failedInit, isByEnding, isNodeSilent } from '../../src/pod/ending.ts';
import type { Pod } from '../../src/pod/types.ts';
import { condition, initEnded } from '../helpers/build.ts';

const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' };
const time = Date.parse('2026-11-30T20:00:00Z');
const at = (seconds: number): string => new Date(time + seconds * 1000).toISOString();

function pod(
  status: Pod['status'] = {},
  more: Partial<Pod['metadata']> = {},
  spec: Pod['spec'] = { restartPolicy: 'Never' },
): Pod {
  return { metadata: { ...metadata, ...more }, spec, status };
}

describe('why a pod ends', () => {
  test.each([
    ['nothing', {}, {}, null],
    ['its own phase', { phase: 'Failed' }, {}, null],
    ['a deletion', {}, { deletionTimestamp: at(30) }, 'podDeleted'],
    [
      'the more telling of two reasons',
      { conditions: [condition('DisruptionTarget', 'True', 'PreemptionByScheduler')] },
      { deletionTimestamp: at(30) },
      'preempted',
    ],
    [
      'the kubelet’s reason above all',
      {
        reason: 'Evicted',
        phase: 'Failed',
        containerStatuses: [{ name: 'a' }],
        conditions: [condition('DisruptionTarget', 'True', 'TerminationByKubelet')],
      },
      {},
      'evicted',
    ],
    [
      'a disruption that is over',
      { conditions: [condition('DisruptionTarget', 'False', 'EvictionByEvictionAPI')] },
      {},
      null,
    ],
    ['an eviction at admission', { reason: 'Evicted', phase: 'Failed' }, {}, 'rejected'],
    ['a shutdown at admission', { reason: 'NodeShutdown', phase: 'Failed', containerStatuses: [] }, {}, 'rejected'],
    ['a deadline before anything ran', { reason: 'DeadlineExceeded', phase: 'Failed' }, {}, 'deadlineExceeded'],
    ['a reason of a later Kubernetes', { reason: 'Whatever', phase: 'Failed' }, {}, 'rejected'],
    [
      'a rejection by a restarted kubelet',
      { reason: 'OutOfpods', phase: 'Failed', containerStatuses: [{ name: 'a' }] },
      {},
      'rejected',
    ],
    [
      'a deletion of what a restarted kubelet had rejected',
      { reason: 'OutOfpods', phase: 'Failed', containerStatuses: [{ name: 'a' }] },
      { deletionTimestamp: at(30) },
      'podDeleted',
    ],
    [
      'a rejection before anything ran, deleted or not',
      { reason: 'OutOfpods', phase: 'Failed' },
      { deletionTimestamp: at(30) },
      'rejected',
    ],
    [
      'a rejection of a later Kubernetes',
      {
        reason: 'Whatever',
        message: 'Pod was rejected: whatever',
        phase: 'Failed',
        containerStatuses: [{ name: 'a' }],
      },
      {},
      'rejected',
    ],
    [
      'a reason of a later Kubernetes, of a pod that had begun',
      { reason: 'Whatever', phase: 'Failed', containerStatuses: [{ name: 'a' }] },
      {},
      'unknown',
    ],
    ['a reason while it lives', { reason: 'Whatever', phase: 'Running' }, {}, null],
  ])('%s', (_what, status, more, cause) => {
    expect(endingOf(pod(status, more), null)?.cause ?? null).toBe(cause);
  });
});

describe('an end is the pod’s doing', () => {
  const evicted = pod({ conditions: [condition('DisruptionTarget', 'True', 'EvictionByEvictionAPI', at(60))] });

  test.each([
    [57, false],
    [58, false],
    [59, true],
    [61, true],
  ])('when it came at %s s, of an eviction at 60: %s', (seconds, isByPod) => {
    expect(isByEnding(endingOf(evicted, null), time + seconds * 1000)).toBe(isByPod);
  });

  test('when nobody knows when one of them was', () => {
    expect(isByEnding(endingOf(evicted, null), null)).toBe(true);
    const kubelet = pod({ conditions: [condition('DisruptionTarget', 'True', 'TerminationByKubelet', at(60))] });
    expect(isByEnding(endingOf(kubelet, null), time)).toBe(true);
    const deleted = pod({}, { deletionTimestamp: at(90) });
    expect(isByEnding(endingOf(deleted, null), time)).toBe(true);
    expect(isByEnding(endingOf(deleted, time + 60_000), time)).toBe(false);
  });

  test('unless it came before the pod’s deadline', () => {
    const status = {
      reason: 'DeadlineExceeded',
      phase: 'Failed',
      startTime: at(0),
      containerStatuses: [{ name: 'a' }],
    };
    const ending = endingOf(pod(status, {}, { activeDeadlineSeconds: 100 }), null);
    expect(isByEnding(ending, time + 90_000)).toBe(false);
    expect(isByEnding(ending, time + 101_000)).toBe(true);
  });

  test('never, where the pod was rejected after its containers had ended', () => {
    expect(
      isByEnding(
        endingOf(
          pod({ reason: 'UnexpectedAdmissionError', phase: 'Failed', containerStatuses: [{ name: 'a' }] }),
          null,
        ),
        null,
      ),
    ).toBe(false);
  });
});

describe('the begin of a deletion', () => {
  test.each([
    ['is the time less the grace', 30, 30, time + 60_000],
    ['is not told by the kubelet’s last delete', 0, 30, null],
    ['is not told by a grace that was shortened', 5, 30, null],
    ['is told by a longer grace', 45, 30, time + 45_000],
    ['is not told without any grace of its own', 0, 0, null],
  ])('%s', (_what, grace, own, begin) => {
    const deleted = pod(
      {},
      { deletionTimestamp: at(90), deletionGracePeriodSeconds: grace },
      { terminationGracePeriodSeconds: own },
    );
    expect(deletionBegin(deleted)).toBe(begin);
  });
});

describe('an init container', () => {
  test.each([
    ['that failed is the end', [initEnded('i', 1)], 'i'],
    ['that succeeded is none', [initEnded('i', 0)], null],
    ['that is a sidecar is none', [initEnded('side', 137)], null],
  ])('%s', (_what, initContainerStatuses, name) => {
    const spec = { restartPolicy: 'Never', initContainers: [{ name: 'i' }, { name: 'side', restartPolicy: 'Always' }] };
    expect(failedInit(pod({ initContainerStatuses }, {}, spec))?.name ?? null).toBe(name);
  });
});

test.each([
  ['the node controller’s Ready=False', [condition('Ready', 'False'), condition('ContainersReady', 'True')], true],
  [
    'the kubelet’s Ready=False',
    [condition('Ready', 'False', 'PodCompleted'), condition('ContainersReady', 'False')],
    false,
  ],
  [
    'a readiness gate',
    [condition('Ready', 'False', 'ReadinessGatesNotReady'), condition('ContainersReady', 'True')],
    false,
  ],
  ['Ready', [condition('Ready', 'True'), condition('ContainersReady', 'True')], false],
])('%s tells a silent node: %s', (_what, conditions, isSilent) => {
  expect(isNodeSilent(pod({ conditions }))).toBe(isSilent);
});
