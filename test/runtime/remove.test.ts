/** A removal is for everybody who asks, goes on when a call is left, and tells what it could not do. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { PodwrightError } from '../../src/errors.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import {
  assembled,
  clientWith,
  eventually,
  hasPod,
  namespace,
  type Stand,
  spec,
  startStand,
  step,
  unreachable,
} from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

it('a build whose removal nobody waits for any more makes room for the next one of its id', async () => {
  const runtime = await stand.open({ owner: 'worker-left' });
  const one = spec(step('a', 'true'));
  const build = await runtime.setupBuild(one);
  await runtime.assembleBuild(build);
  const removing = runtime.removeBuild(build, { signal: AbortSignal.abort() });
  await expect(removing).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
  await eventually(() => runtime.inspectBuild(build).state === 'removed', 'it is removed');
  expect(await hasPod(stand, build)).toBe(false);
  expect(await runtime.setupBuild(one)).toMatchObject({ id: one.id });
});

it('whether there is a pod cannot be found out: the report tells, and the next call tries again', async () => {
  let isAway = true;
  const runtime = await stand.open({
    owner: 'worker-unsure',
    client: clientWith(stand, {
      create: async (...asked) => {
        const made = await stand.admin.create(...asked);
        if (isAway) throw unreachable();
        return made as never;
      },
      get: async (...asked) => (isAway ? Promise.reject(unreachable()) : stand.admin.get(...asked)),
    }),
  });
  const build = await runtime.setupBuild(spec(step('a', 'true')));
  await expect(runtime.assembleBuild(build)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE' });
  expect(await runtime.removeBuild(build)).toEqual({
    gone: false,
    forced: false,
    remaining: [expect.stringMatching(`pod ${namespace}/${build.podName}: .*the answer was lost`)],
  });
  isAway = false;
  expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  expect(await hasPod(stand, build)).toBe(false);
});

it('a delete that cannot be sent for a while is not taken for a grace that is over', async () => {
  const asked: (number | undefined)[] = [];
  let failures = 2;
  const runtime = await stand.open({
    owner: 'worker-outage',
    client: clientWith(stand, {
      delete: async (path, options) => {
        asked.push(options?.gracePeriodSeconds);
        if (failures-- > 0) throw unreachable();
        await stand.admin.delete(path, options);
      },
    }),
  });
  const build = await assembled(runtime, step('a', 'true'));
  expect(await runtime.removeBuild(build, { gracePeriodSeconds: 7 })).toEqual({
    gone: true,
    forced: false,
    remaining: [],
  });
  expect(asked).toEqual([7, 7, 7]);
});

it('the log of a build that another had removed ends at once, with a gap', async () => {
  const beaten: KubeClient['delete'] = async (path) => {
    await stand.admin.delete(path, { gracePeriodSeconds: 0 });
    throw new PodwrightError('ERR_PODWRIGHT_NOT_FOUND', 'it was deleted already');
  };
  const runtime = await stand.open({ owner: 'worker-beaten', client: clientWith(stand, { delete: beaten }) });
  const build = await assembled(runtime, step('a', 'echo begun; sleep 60'));
  await runtime.runContainer(build, 'a');
  await runtime.removeBuild(build);
  const lines = [];
  for await (const { text, gap } of runtime.tailContainer(build, 'a')) lines.push(gap?.message ?? text);
  expect(lines).toEqual(['the log is gone with its pod']);
});
