// In a build pod only the step's own container can be debugged; pods without a plan have no placeholder.
import { expect, test } from 'vitest';
import { isOwnContainer } from '../../src/debug/own-container.ts';
import { annotations, requestAnnotation } from '../../src/pod/labels.ts';
import { writeRecoveryPlan } from '../../src/pod/recovery.ts';
import type { Pod } from '../../src/pod/types.ts';

const plan = writeRecoveryPlan({
  version: 1,
  owner: 'o',
  buildId: 'b',
  placeholder: { image: 'pause:1' },
  containers: [{ name: 'unit tests', containerName: 'test', image: 'node:24', role: 'step' }],
  timeouts: {},
});

test.each([
  ['a pod of somebody else', {}, 'web:1', 'web', 'c1', true],
  ['before the step is asked for', { [annotations.plan]: plan }, 'pause:1', 'test', 'c1', false],
  [
    'the placeholder, just after the switch',
    { [annotations.plan]: plan, ...request('c1') },
    'node:24',
    'test',
    'c1',
    false,
  ],
  ['the step', { [annotations.plan]: plan, ...request('c1') }, 'node:24', 'test', 'c2', true],
  ['a step whose request was written over', { [annotations.plan]: plan }, 'node:24', 'test', 'c2', true],
  ['a sidecar that was injected', { [annotations.plan]: plan }, 'pause:1', 'proxy', 'c9', true],
  ['a pod of another version', { [annotations.plan]: '{"version":99}' }, 'pause:1', 'test', 'c1', true],
])('%s', (_name, all, image, container, containerID, expected) => {
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1', annotations: all },
    spec: { containers: [{ name: 'test', image }] },
  };
  expect(isOwnContainer(pod, { name: container, containerID, state: { running: {} } })).toBe(expected);
});

function request(placeholder: string): Record<string, string> {
  const value = JSON.stringify({ at: '2026-01-01T00:00:00Z', placeholder, restartCount: 0 });
  return { [requestAnnotation('test')]: value };
}
