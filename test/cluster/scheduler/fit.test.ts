/** The filters: taints and tolerations, node selectors and affinities, and what a pod asks for in all. */
import { describe, expect, test } from 'vitest';
import { podRequest } from '../../../src/cluster/requests.ts';
import { type NodeObject, obstacle } from '../../../src/cluster/scheduler/fit.ts';
import type { PodObject, PodSpec } from '../../../src/cluster/types.ts';

const metadata = { name: 'x', uid: 'x', resourceVersion: '1', creationTimestamp: '' };

function aNode(spec: NodeObject['spec'], labels: Record<string, string> = {}): NodeObject {
  const allocatable = { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi' };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: { ...metadata, name: 'n', labels },
    spec,
    status: { allocatable },
  };
}

function aPod(spec: Partial<PodSpec>): PodObject {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata,
    spec: { restartPolicy: 'Never', containers: [], ...spec },
    status: { phase: 'Pending' },
  };
}

describe('a taint', () => {
  const taint = { key: 'gpu', value: 'big', effect: 'NoSchedule' };
  test.each([
    ['nothing', undefined, false],
    ['its key, whatever the value', { key: 'gpu', operator: 'Exists' }, true],
    ['its key and value', { key: 'gpu', value: 'big' }, true],
    ['its key and another value', { key: 'gpu', operator: 'Equal', value: 'small' }, false],
    ['its key without its value', { key: 'gpu' }, false],
    ['another key', { key: 'disk', operator: 'Exists' }, false],
    ['everything', { operator: 'Exists' }, true],
    ['its key for another effect', { key: 'gpu', operator: 'Exists', effect: 'NoExecute' }, false],
    ['its key for its effect', { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }, true],
  ])('before a pod that tolerates %s', (_what, toleration, fits) => {
    const pod = aPod({ ...(toleration && { tolerations: [toleration] }) });
    const found = obstacle(pod, { node: aNode({ taints: [taint] }), pods: [] });
    expect(found?.reasons).toEqual(fits ? undefined : ['node(s) had untolerated taint(s)']);
  });

  test('that only prefers keeps nobody away, a closed node does', () => {
    const preferring = aNode({ taints: [{ ...taint, effect: 'PreferNoSchedule' }] });
    expect(obstacle(aPod({}), { node: preferring, pods: [] })).toBeUndefined();
    const closed = { node: aNode({ unschedulable: true }), pods: [] };
    expect(obstacle(aPod({}), closed)?.reasons).toEqual(['node(s) were unschedulable']);
    expect(obstacle(aPod({ tolerations: [{ operator: 'Exists' }] }), closed)).toBeUndefined();
  });
});

describe('a required affinity', () => {
  const node = aNode({}, { zone: 'a', size: '8' });
  const requires = (...terms: object[]): PodObject =>
    aPod({
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
    });
  const expression = (key: string, operator: string, ...values: string[]): object => ({
    matchExpressions: [{ key, operator, values }],
  });
  test.each([
    ['In', expression('zone', 'In', 'a', 'b'), true],
    ['In, not met', expression('zone', 'In', 'b'), false],
    ['NotIn', expression('zone', 'NotIn', 'b'), true],
    ['NotIn without the label', expression('none', 'NotIn', 'b'), true],
    ['Exists', expression('zone', 'Exists'), true],
    ['Exists, not met', expression('none', 'Exists'), false],
    ['DoesNotExist', expression('none', 'DoesNotExist'), true],
    ['Gt', expression('size', 'Gt', '4'), true],
    ['Gt, not met', expression('size', 'Gt', '8'), false],
    ['Lt', expression('size', 'Lt', '9'), true],
    ['Lt without the label', expression('none', 'Lt', '9'), false],
    ['a field', { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }, true],
    ['a term without anything', {}, false],
  ])('%s', (_what, term, fits) => {
    expect(obstacle(requires(term), { node, pods: [] }) === undefined).toBe(fits);
  });

  test('is met by one of its terms, and by all that the term says', () => {
    const unmet = expression('zone', 'In', 'b');
    expect(obstacle(requires(unmet, expression('zone', 'Exists')), { node, pods: [] })).toBeUndefined();
    const half = { ...unmet, matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] };
    expect(obstacle(requires(half), { node, pods: [] })?.reasons).toEqual([
      "node(s) didn't match Pod's node affinity/selector",
    ]);
  });
});

test('a pod asks for its containers together, or for the init container that asks for most beside its sidecars', () => {
  const one = (cpu: string, restartPolicy?: 'Always'): PodSpec['containers'][number] => ({
    name: 'c',
    image: 'x',
    resources: { requests: { cpu } },
    ...(restartPolicy && { restartPolicy }),
  });
  const asked = (spec: Partial<PodSpec>): number => podRequest(aPod(spec).spec, 'cpu');
  expect(asked({ containers: [one('0.1'), one('200m')] })).toBe(300);
  expect(asked({ containers: [one('1')], initContainers: [one('3'), one('2')] })).toBe(3_000);
  expect(asked({ containers: [one('1')], initContainers: [one('500m', 'Always'), one('1')] })).toBe(1_500);
  expect(asked({ containers: [one('0.0001')] })).toBe(1);
});
