/** A runtime is opened or is not: it does not wait for a server that is not there. */
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { startApiServer, until, writeKubeConfig } from '../kube/api-server.ts';

test.each([
  ['refuses connections', true],
  ['never answers', false],
])('a server that %s is told after a while, also when no rights are asked for', async (_what, isGone) => {
  const api = await startApiServer();
  api.answer = () => undefined;
  const kubeConfig = await writeKubeConfig(api.url);
  if (isGone) await api.stop();
  const clock = new VirtualClock();
  let end: unknown;
  const opening = createRuntime({ kubeConfig, namespace: 'builds', checkAccess: false, clock }).then(
    () => 'opened',
    (error: unknown) => error,
  );
  void opening.then((result) => {
    end = result;
  });
  const drive = setInterval(() => clock.advance(1_000), 1);
  try {
    await until(() => end !== undefined);
  } finally {
    clearInterval(drive);
  }
  expect(end).toMatchObject({ code: 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE' });
  expect(clock.nextAt).toBeUndefined();
  expect(clock.now()).toBeGreaterThanOrEqual(40_000);
});
