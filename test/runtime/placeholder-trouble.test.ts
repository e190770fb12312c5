/** A placeholder that cannot be pulled is trouble at once, and final only when trying again will not help. */
import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../../src/pod/types.ts';
import { PlaceholderCheck } from '../../src/runtime/placeholder-trouble.ts';

function pod(waiting: { reason: string; message?: string } | undefined, of: 'init' | 'container' = 'container'): Pod {
  const status: ContainerStatus = { name: 'a', ...(waiting === undefined ? {} : { state: { waiting } }) };
  const spec = { name: 'a', image: 'registry/wait:1' };
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u', resourceVersion: '1' },
    spec: of === 'init' ? { initContainers: [spec] } : { containers: [spec] },
    status: of === 'init' ? { initContainerStatuses: [status] } : { containerStatuses: [status] },
  };
}
const notFound = { reason: 'ErrImagePull', message: 'registry/wait:1: not found' };
const backOff = { reason: 'ImagePullBackOff', message: 'Back-off pulling image "registry/wait:1"' };

describe.each(['container', 'init'] as const)('of a %s', (of) => {
  it('a permanent failure is final 15 s after its first sign, through the back-off', () => {
    const check = new PlaceholderCheck();
    expect(check.look(pod(notFound, of), 1_000)).toEqual({
      image: 'registry/wait:1',
      message: 'registry/wait:1: not found',
      isFinal: false,
    });
    expect(check.look(pod(backOff, of), 15_999)?.isFinal).toBe(false);
    expect(check.look(pod(backOff, of), 16_000)).toMatchObject({ message: notFound.message, isFinal: true });
  });

  it('a transient one is never final', () => {
    const check = new PlaceholderCheck();
    const refused = { reason: 'ErrImagePull', message: 'dial tcp 10.0.0.1:443: connect: connection refused' };
    expect(check.look(pod(refused, of), 0)?.isFinal).toBe(false);
    expect(check.look(pod(refused, of), 10 ** 7)?.isFinal).toBe(false);
  });

  it('progress forgets it', () => {
    const check = new PlaceholderCheck();
    check.look(pod(notFound, of), 0);
    expect(check.look(pod(undefined, of), 10_000)).toBe(undefined);
    expect(check.look(pod(notFound, of), 20_000)?.isFinal).toBe(false);
  });
});

it('a back-off without its cause is trouble, and not final', () => {
  expect(new PlaceholderCheck().look(pod(backOff), 0)).toMatchObject({ message: backOff.message, isFinal: false });
});

it('no pod, and a pod that waits for something else, is no trouble', () => {
  const check = new PlaceholderCheck();
  expect(check.look(undefined, 0)).toBe(undefined);
  expect(check.look(pod({ reason: 'ContainerCreating' }), 0)).toBe(undefined);
});
