// The builds of a cluster are listed as a person expects them, whatever order the server answers in.
import { expect, test } from 'vitest';
import { listBuilds } from '../../src/cli/builds.ts';
import { firstContact } from '../../src/cli/connect.ts';
import { type ErrorCode, PodwrightError } from '../../src/errors.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { buildPod, planBuild } from '../../src/pod/build-pod.ts';
import { defaultPlaceholder, placeholderStrategy } from '../../src/pod/start-strategy.ts';

test('oldest first, those of one second by name; what is no build is left out', async () => {
  const pods = [
    aPod('later', '2026-01-01T00:00:01Z'),
    aPod('b', '2026-01-01T00:00:00Z'),
    { metadata: { name: 'without a plan', uid: 'u' } },
    aPod('a', '2026-01-01T00:00:00Z'),
    aPod('c', '2026-01-01T00:00:00Z'),
  ];
  const client = { list: () => Promise.resolve({ items: pods }) } as unknown as KubeClient;
  expect((await listBuilds(client, 'builds')).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'later']);
});

test('a server that keeps its version to itself has answered all the same', async () => {
  const answering = (code: ErrorCode) => ({ version: () => Promise.reject(new PodwrightError(code, 'no')) });
  expect(await firstContact(answering('ERR_PODWRIGHT_FORBIDDEN'))).toBe('of an unknown version');
  const refused = firstContact(answering('ERR_PODWRIGHT_UNAUTHORIZED'));
  await expect(refused).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_UNAUTHORIZED' });
});

function aPod(id: string, creationTimestamp: string) {
  const where = { owner: 'test', namespace: 'builds', placeholder: defaultPlaceholder };
  const spec = { id, containers: [{ name: 'step', image: 'alpine:3', role: 'step' as const, script: 'true' }] };
  const pod = buildPod(planBuild(spec, where), placeholderStrategy(), 'a1');
  return { ...pod, metadata: { ...pod.metadata, creationTimestamp } };
}
