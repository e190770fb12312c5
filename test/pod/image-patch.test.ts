/** The request for a step: guarded by uid, repeatable, and never before the placeholder runs. */
import { describe, expect, it } from 'vitest';
import {
  imagePatch,
  isPatched,
  placeholderImagesIn,
  requestRecord,
  runningPlaceholder,
} from '../../src/pod/image-patch.ts';
import type { ContainerStatus, Pod } from '../../src/pod/types.ts';

const record = { at: '2026-01-01T00:00:00.000Z', placeholder: 'containerd://p', restartCount: 0 };
const meta = { name: 'p', namespace: 'n', uid: 'u1', resourceVersion: '1' };
const withStatus = (status: Partial<ContainerStatus>): Pod => ({
  metadata: meta,
  status: { containerStatuses: [{ name: 'test', ...status }] },
});

it('names the pod by uid and the container by name, and leaves what recovery needs', () => {
  const patch = imagePatch('u1', 'test', 'step:1', record);
  expect(patch).toEqual({
    metadata: { uid: 'u1', annotations: { 'request.podwright.dev/test': JSON.stringify(record) } },
    spec: { containers: [{ name: 'test', image: 'step:1' }] },
  });
});

it('the same request gives the same patch, so that sending it twice changes nothing', () => {
  expect(imagePatch('u1', 'test', 'step:1', record)).toEqual(imagePatch('u1', 'test', 'step:1', { ...record }));
});

it('is read back from the pod', () => {
  const pod: Pod = {
    metadata: { ...meta, annotations: { 'request.podwright.dev/test': JSON.stringify(record) } },
    spec: { containers: [{ name: 'test', image: 'step:1' }] },
  };
  expect(requestRecord(pod, 'test')).toEqual(record);
  expect(isPatched(pod, 'test', 'step:1')).toBe(true);
  expect(isPatched({ ...pod, metadata: meta }, 'test', 'step:1')).toBe(true);
  expect(isPatched({ ...pod, metadata: meta }, 'test', 'step:2')).toBe(false);
  expect(isPatched(pod, 'other', 'step:1')).toBe(false);
});

it('is read back where the admission wrote another image', () => {
  const pod: Pod = {
    metadata: { ...meta, annotations: { 'request.podwright.dev/test': JSON.stringify(record) } },
    spec: {
      containers: [
        { name: 'test', image: 'mirror/step:1@sha256:5' },
        { name: 'other', image: 'mirror/wait:1' },
      ],
    },
  };
  expect(isPatched(pod, 'test', 'step:1')).toBe(true);
  expect(placeholderImagesIn(pod, 'wait:1', ['other'])).toEqual(['wait:1', 'mirror/wait:1']);
});

it.each(['', '{', 'null', '[]', '{"at":1}'])('an annotation that somebody else wrote (%j) is not believed', (text) => {
  expect(requestRecord({ metadata: { ...meta, annotations: { 'request.podwright.dev/test': text } } }, 'test')).toBe(
    undefined,
  );
});

describe('the placeholder is known to run', () => {
  it('when its status shows running with an ID', () => {
    const pod = withStatus({ state: { running: {} }, containerID: 'containerd://p', restartCount: 2 });
    expect(runningPlaceholder(pod, 'test')).toEqual({ containerID: 'containerd://p', restartCount: 2 });
  });

  it.each<[string, Partial<ContainerStatus>]>([
    ['while it waits', { state: { waiting: { reason: 'ContainerCreating' } } }],
    ['after it ended', { state: { terminated: { exitCode: 0 } }, containerID: 'containerd://p' }],
    ['without an ID', { state: { running: {} } }],
    ['with an empty ID', { state: { running: {} }, containerID: '' }],
  ])('not %s', (_, status) => {
    expect(runningPlaceholder(withStatus(status), 'test')).toBe(undefined);
  });

  it('not when the pod has no status of it', () => {
    expect(runningPlaceholder({ metadata: meta }, 'test')).toBe(undefined);
  });
});
