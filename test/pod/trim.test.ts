/** What is cut from watched objects is what nobody reads. */
import { expect, it } from 'vitest';
import { trimEvent, trimPod } from '../../src/pod/trim.ts';
import type { KubeEvent, Pod } from '../../src/pod/types.ts';

const metadata = {
  name: 'p',
  namespace: 'n',
  uid: 'u',
  resourceVersion: '7',
  generation: 2,
  labels: { a: 'b' },
  annotations: { 'podwright.dev/plan': '{}', 'kubectl.kubernetes.io/last-applied-configuration': '{…}' },
  managedFields: [{}],
};

it('a pod keeps identity, labels, images, rules and its whole status', () => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }];
  const pod = {
    metadata,
    spec: {
      nodeName: 'node',
      containers: [
        { name: 'c', image: 'i', env: [{ name: 'TOKEN', value: 'x' }], args: ['y'], restartPolicyRules: rules },
      ],
      initContainers: [{ name: 'init', image: 'i', restartPolicy: 'Always', command: ['z'] }],
      volumes: [{}],
    },
    status: { phase: 'Running', podIP: '10.0.0.1', containerStatuses: [{ name: 'c', restartCount: 1 }] },
  };
  expect(trimPod(pod as unknown as Pod)).toEqual({
    metadata: {
      name: 'p',
      namespace: 'n',
      uid: 'u',
      resourceVersion: '7',
      generation: 2,
      labels: { a: 'b' },
      annotations: { 'podwright.dev/plan': '{}' },
    },
    spec: {
      nodeName: 'node',
      containers: [{ name: 'c', image: 'i', restartPolicyRules: rules }],
      initContainers: [{ name: 'init', image: 'i', restartPolicy: 'Always' }],
    },
    status: pod.status,
  });
});

it('a pod that is hardly one stays what it is', () => {
  const pod: Pod = { metadata: { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' } };
  expect(trimPod(pod)).toEqual(pod);
});

it('an Event keeps what it tells, and null times', () => {
  const event = {
    metadata: { name: 'e', namespace: 'n', uid: 'u', resourceVersion: '1', managedFields: [{}] },
    involvedObject: { kind: 'Pod', name: 'p', uid: 'x', fieldPath: 'spec.containers{c}' },
    reason: 'Failed',
    message: 'Error: ErrImagePull',
    type: 'Warning',
    count: 2,
    firstTimestamp: null,
    eventTime: '2026-01-01T00:00:00.000000Z',
    related: {},
  };
  const { related: _, ...kept } = event;
  const { managedFields: __, ...meta } = event.metadata;
  expect(trimEvent(event as unknown as KubeEvent)).toEqual({ ...kept, metadata: meta });
});
