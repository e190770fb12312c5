/** A step is asked for once, and nobody waits for the answer when there is a verdict. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { assembled, clientWith, eventually, type Stand, spec, startStand, step, unreachable } from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

it.each([
  ['is never answered', () => new Promise<never>(() => undefined)],
  ['fails later', () => new Promise<never>((_, reject) => setTimeout(reject, 50, unreachable()))],
])('a canceled step whose request %s is canceled for its caller', async (_what, answer) => {
  let sent = 0;
  const runtime = await stand.open({
    owner: `worker-${_what.replaceAll(' ', '-')}`,
    client: clientWith(stand, {
      patch: () => {
        sent++;
        return answer();
      },
    }),
  });
  const build = await assembled(runtime, step('a', 'true'));
  const abort = new AbortController();
  const running = runtime.runContainer(build, 'a', { signal: abort.signal });
  await eventually(() => sent > 0, 'the step is asked for');
  abort.abort();
  expect(await running).toMatchObject({ outcome: 'canceled', reason: 'caller' });
  await runtime.removeBuild(build);
});

it('a wait for readiness ends with its signal, also while the build is being assembled', async () => {
  const runtime = await stand.open({ owner: 'worker-ready' });
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), pod: { nodeSelector: { 'no-such': 'node' } } });
  const assembling = runtime.assembleBuild(build).catch((error: unknown) => error);
  const abort = new AbortController();
  const ready = runtime.readyContainer(build, 'a', { signal: abort.signal });
  const reason = new Error('enough');
  abort.abort(reason);
  await expect(ready).rejects.toBe(reason);
  await runtime.removeBuild(build);
  expect(await assembling).toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
});
