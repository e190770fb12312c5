/** What goes wrong is told with its cause, in time, and leaves nothing behind. */
import { existsSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PodwrightError } from '../../src/errors.ts';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import {
  assembled,
  broken,
  clientWith,
  clockThatHolds,
  eventually,
  hasPod,
  missingImage,
  namespace,
  type Stand,
  spec,
  startStand,
  step,
  unreachable,
} from './embedded.ts';

let stand: Stand;
let runtime: Runtime;
beforeAll(async () => {
  stand = await startStand();
  runtime = await stand.open();
});
afterAll(() => stand?.end());

const nowhere = { nodeSelector: { 'no-such': 'node' } };

/** The pod as the server has it, as text. */
async function shown({ podName: name }: Build): Promise<string> {
  return JSON.stringify(await stand.admin.get({ resource: 'pods', namespace, name }));
}

/** A build with a step that does not end when it is asked to. */
async function runDeaf(more: Partial<BuildSpec>): Promise<Build> {
  const flag = join(tmpdir(), `podwright-deaf-${process.pid}-${Date.now()}`);
  const script = `trap '' TERM; touch ${flag}; while :; do sleep 0.1; done`;
  const build = await runtime.setupBuild({ ...spec(step('a', script)), ...more });
  await runtime.assembleBuild(build);
  await runtime.runContainer(build, 'a');
  await eventually(() => existsSync(flag), 'it hears nothing');
  rmSync(flag);
  return build;
}

describe('time limits', () => {
  it('a pod without a node is told with the words of the scheduler', async () => {
    const { clock, release } = clockThatHolds(333);
    const other = await stand.open({ owner: 'worker-nowhere', clock });
    const build = await other.setupBuild({ ...spec(step('a', 'true')), pod: nowhere, timeouts: { scheduleMs: 333 } });
    const assembling = other.assembleBuild(build).catch((reason: unknown) => reason);
    await eventually(() => other.inspectBuild(build).story.join().includes('FailedScheduling'), 'it cannot be placed');
    await release();
    const error = await assembling;
    expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_TIMEOUT', details: { phase: 'schedule' } });
    expect((error as Error).message).toMatch(/has no node after 0\.333 s.*FailedScheduling/s);
    expect(await other.waitContainer(build, 'a')).toMatchObject({
      outcome: 'canceled',
      reason: 'timeout',
      phase: 'schedule',
    });
    expect(await other.removeBuild(build)).toMatchObject({ gone: true });
  });

  it('a placeholder that cannot be had is told in seconds, with the registry’s words', async () => {
    const { clock, release } = clockThatHolds(1_555);
    const other = await stand.open({ owner: 'worker-missing', placeholder: { image: missingImage }, clock });
    const build = await other.setupBuild({ ...spec(step('a', 'true')), timeouts: { startMs: 1_555 } });
    const assembling = other.assembleBuild(build).catch((reason: unknown) => reason);
    await eventually(async () => (await hasPod(stand, build)) && /ErrImagePull/.test(await shown(build)), 'no image');
    await release();
    const error = await assembling;
    expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_TIMEOUT', details: { phase: 'start' } });
    expect((error as Error).message).toMatch(/The image ".*none:1" cannot be had: .*not found/s);
    await other.removeBuild(build);
  });

  it('a pull that takes too long is canceled as such, and its step never runs', async () => {
    const { clock, release } = clockThatHolds(444);
    const patient = await stand.open({ owner: 'patient', grace: { permanentMs: 60_000 }, clock });
    const build = await patient.setupBuild({ ...spec(broken('a')), timeouts: { pullMs: 444 } });
    await patient.assembleBuild(build);
    const launched = patient.runContainer(build, 'a');
    await eventually(() => patient.inspectContainer(build, 'a').state === 'pulling', 'it is pulling');
    await release();
    expect(await launched).toMatchObject({ outcome: 'canceled', reason: 'timeout', phase: 'pull' });
    expect(patient.inspectBuild(build).story.join('\n')).toMatch(/container a: pulling → canceled/);
    await patient.removeBuild(build);
  });

  it('a run that takes too long is canceled as such; the limit of a container wins over the build’s', async () => {
    const slow = step('slow', 'sleep 60', { timeouts: { runMs: 200 } });
    const build = await runtime.setupBuild({
      ...spec(slow, step('quick', 'true')),
      timeouts: { runMs: 60_000 },
      pod: { terminationGracePeriodSeconds: 1 },
    });
    await runtime.assembleBuild(build);
    await runtime.runContainer(build, 'slow');
    expect(await runtime.waitContainer(build, 'slow')).toMatchObject({ outcome: 'canceled', phase: 'run' });
    await runtime.runContainer(build, 'quick');
    expect(await runtime.waitContainer(build, 'quick')).toMatchObject({ exitCode: 0 });
    await runtime.removeBuild(build);
  });

  it('a removal that takes too long is forced', async () => {
    const build = await runDeaf({ timeouts: { removeMs: 300 }, pod: { terminationGracePeriodSeconds: 30 } });
    expect(await runtime.removeBuild(build)).toEqual({ gone: true, forced: true, remaining: [] });
    expect(await hasPod(stand, build)).toBe(false);
  });
});

describe('cancellation', () => {
  it('a build whose signal has aborted is never created', async () => {
    const build = await runtime.setupBuild(spec(step('a', 'true')), { signal: AbortSignal.abort() });
    await expect(runtime.assembleBuild(build)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    expect(await hasPod(stand, build)).toBe(false);
    await runtime.removeBuild(build);
  });

  it('the signal of the build cancels it at any later time', async () => {
    const controller = new AbortController();
    const build = await runtime.setupBuild(spec(step('a', 'sleep 60')), { signal: controller.signal });
    await runtime.assembleBuild(build);
    await runtime.runContainer(build, 'a');
    const waiting = runtime.waitContainer(build, 'a');
    controller.abort(new DOMException('late', 'TimeoutError'));
    expect(await waiting).toMatchObject({ outcome: 'canceled', reason: 'timeout', phase: 'run' });
    expect(runtime.inspectBuild(build).state).toBe('canceled');
    await runtime.removeBuild(build, { gracePeriodSeconds: 1 });
  });

  it('a cancel before the create answered leaves no pod after the removal', async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let sent = false;
    const client = clientWith(stand, {
      create: async (path, body, options) => {
        const made = await stand.admin.create(path, body, options);
        if (path.resource === 'pods') {
          sent = true;
          await answered;
        }
        return made as never;
      },
    });
    const other = await stand.open({ client, owner: 'worker-slow' });
    const build = await other.setupBuild(spec(step('a', 'true')));
    const assembling = other.assembleBuild(build).catch((error: unknown) => error);
    await eventually(() => sent, 'the create is sent');
    const removing = other.removeBuild(build);
    expect(await hasPod(stand, build)).toBe(true);
    answer();
    expect(await removing).toMatchObject({ gone: true });
    expect(await assembling).toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    expect(await hasPod(stand, build)).toBe(false);
  });

  it('aborting the signal of a removal ends the call, and another call goes on', async () => {
    const build = await runDeaf({ pod: { terminationGracePeriodSeconds: 1 } });
    const removing = runtime.removeBuild(build, { signal: AbortSignal.timeout(100) });
    await expect(removing).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  });
});

describe('a create whose answer is lost', () => {
  it('is recognised when it worked', async () => {
    let lost = 0;
    const client = clientWith(stand, {
      create: async (path, body, options) => {
        const made = await stand.admin.create(path, body, options);
        if (path.resource === 'pods' && lost++ === 0) throw unreachable();
        return made as never;
      },
    });
    const other = await stand.open({ client, owner: 'worker-lost' });
    const build = await assembled(other, step('a', 'exit 9'));
    await other.runContainer(build, 'a');
    expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 9 });
    await other.removeBuild(build);
    expect(lost).toBe(1);
  });

  it('is sent again when it did not', async () => {
    let tries = 0;
    const client = clientWith(stand, {
      create: async (path, body, options) => {
        if (path.resource === 'pods' && tries++ === 0) throw unreachable();
        return (await stand.admin.create(path, body, options)) as never;
      },
    });
    const other = await stand.open({ client, owner: 'worker-again' });
    const build = await assembled(other, step('a', 'true'));
    expect(tries).toBe(2);
    await other.removeBuild(build);
  });

  it('is recognised when it arrives after it was sent again (409)', async () => {
    let tries = 0;
    const client = clientWith(stand, {
      create: async (path, body, options) => {
        if (path.resource !== 'pods') return (await stand.admin.create(path, body, options)) as never;
        if (tries++ === 0) throw unreachable();
        await stand.admin.create(path, body, options);
        return (await stand.admin.create(path, body, options)) as never;
      },
    });
    const other = await stand.open({ client, owner: 'worker-409' });
    const build = await assembled(other, step('a', 'true'));
    await other.removeBuild(build);
  });

  it('a pod of an earlier run under the same name is never taken over', async () => {
    const one = spec(step('a', 'true'));
    const first = await stand.open({ owner: 'worker-twice' });
    await first.assembleBuild(await first.setupBuild(one));
    await first.close();
    const second = await stand.open({ owner: 'worker-twice' });
    const build = await second.setupBuild(one);
    await expect(second.assembleBuild(build)).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_CONFLICT',
      remedy: expect.stringContaining('Adopt it') as string,
    });
    expect(await second.removeBuild(build)).toMatchObject({ gone: true });
    expect(await hasPod(stand, build)).toBe(true);
    const [adopted] = await second.adopt();
    if (adopted === undefined) throw new Error('it was not adopted');
    expect(await second.removeBuild(adopted)).toMatchObject({ gone: true });
  });
});

it('a patch whose answer is lost is looked up on the pod', async () => {
  const client = clientWith(stand, {
    patch: async (path, body, options) => {
      await stand.admin.patch(path, body, options);
      throw unreachable();
    },
  });
  const other = await stand.open({ client, owner: 'worker-patch' });
  const build = await assembled(other, step('a', 'exit 8'));
  await other.runContainer(build, 'a');
  expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 8 });
  await other.removeBuild(build);
});

it('a patch that is refused is an error, and may be tried again', async () => {
  let refusals = 0;
  const client = clientWith(stand, {
    patch: async (path, body, options) => {
      if (refusals++ === 0) throw new PodwrightError('ERR_PODWRIGHT_FORBIDDEN', 'no');
      return (await stand.admin.patch(path, body, options)) as never;
    },
  });
  const other = await stand.open({ client, owner: 'worker-refused' });
  const build = await assembled(other, step('a', 'exit 8'));
  await expect(other.runContainer(build, 'a')).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_FORBIDDEN' });
  await other.runContainer(build, 'a');
  expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 8 });
  await other.removeBuild(build);
});

it('a pod that was lost before it started is made again by option, once', async () => {
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), pod: nowhere });
  const assembling = runtime.assembleBuild(build, { retries: 1 }).catch((error: unknown) => error);
  const uids: (string | null)[] = [];
  for (let i = 0; i < 2; i++) {
    await eventually(() => {
      const { uid } = runtime.inspectBuild(build).pod;
      return uid !== null && !uids.includes(uid);
    }, 'a new pod');
    uids.push(runtime.inspectBuild(build).pod.uid);
    await stand.admin.delete({ resource: 'pods', namespace, name: build.podName }, { gracePeriodSeconds: 0 });
  }
  expect(await assembling).toMatchObject({
    code: 'ERR_PODWRIGHT_POD_LOST',
    details: { retriable: true, podCause: 'podDeleted' },
  });
  await runtime.removeBuild(build);
});

it('a pod that a finalizer holds is reported with its finalizer, and is gone once that is', {
  timeout: 40_000,
}, async () => {
  const build = await runtime.setupBuild({ ...spec(step('a', 'true')), timeouts: { removeMs: 300 } });
  await runtime.assembleBuild(build);
  const path = { resource: 'pods', namespace, name: build.podName };
  await stand.admin.patch(path, { metadata: { finalizers: ['example.com/hold'] } }, { type: 'merge' });
  const report = await runtime.removeBuild(build);
  expect(report).toMatchObject({ gone: false, forced: true });
  expect(report.remaining).toEqual([`pod ${namespace}/${build.podName}: held by the finalizers example.com/hold`]);
  await stand.admin.patch(path, { metadata: { finalizers: null } }, { type: 'merge' });
  expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
});

it('what cannot be removed is reported, and the next call tries again', async () => {
  const build = await assembled(runtime, step('a', 'true'));
  const client = clientWith(stand, {
    delete: async () => {
      throw new PodwrightError('ERR_PODWRIGHT_FORBIDDEN', 'User "worker" cannot delete resource "pods"');
    },
  });
  await runtime.close();
  const powerless = await stand.open({ client });
  const [adopted] = (await powerless.adopt()).filter(({ id }) => id === build.id);
  if (adopted === undefined) throw new Error('it was not adopted');
  const report = await powerless.removeBuild(adopted);
  expect(report).toMatchObject({ gone: false });
  expect(report.remaining.join()).toMatch(/pod builds\/pw-build-.*cannot delete/);
  await powerless.close();
  runtime = await stand.open();
  const [again] = (await runtime.adopt()).filter(({ id }) => id === build.id);
  if (again === undefined) throw new Error('it was not adopted again');
  expect(await runtime.removeBuild(again)).toMatchObject({ gone: true });
});
