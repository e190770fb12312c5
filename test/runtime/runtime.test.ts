/** The verbs of the runtime on the embedded cluster: what they give, what they cost, in any order. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSuccess } from '../../machines/outcome.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import {
  assembled,
  broken,
  hasPod,
  logOf,
  namespace,
  placeholder0,
  type Stand,
  spec,
  startStand,
  step,
} from './embedded.ts';

describe.each(['1.34', '1.36'] as const)('on Kubernetes %s', (profile) => {
  let stand: Stand;
  let runtime: Runtime;
  beforeAll(async () => {
    stand = await startStand({ profile });
    runtime = await stand.open({ grace: { permanentMs: 300 } });
  });
  afterAll(() => stand?.end());

  it('a step that ends with 0 is a success, and its log is there', async () => {
    const build = await assembled(runtime, step('a', 'echo one; echo two'));
    await runtime.runContainer(build, 'a');
    expect(await logOf(runtime, build, 'a')).toEqual(['one', 'two']);
    const outcome = await runtime.waitContainer(build, 'a');
    expect(outcome).toMatchObject({ outcome: 'terminated', exitCode: 0, cause: 'completed' });
    expect(isSuccess(outcome)).toBe(true);
    expect(await runtime.removeBuild(build)).toEqual({ gone: true, forced: false, remaining: [] });
    expect(await hasPod(stand, build)).toBe(false);
  });

  it('a step that ends with 3 is not', async () => {
    const build = await assembled(runtime, step('a', 'exit 3'));
    await runtime.runContainer(build, 'a');
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({
      outcome: 'terminated',
      exitCode: 3,
      cause: 'error',
    });
    await runtime.removeBuild(build);
  });

  it('an image that is not there is a failed pull, and says whether it was tried again', async () => {
    const build = await assembled(runtime, broken('a'), step('b', 'true'));
    const retries = profile === '1.36';
    expect(runtime.inspectBuild(build).pod.retriesPulls).toBe(retries);
    const outcome = await runtime.runContainer(build, 'a');
    expect(outcome).toMatchObject({ outcome: 'pullFailed', class: 'notFound', permanent: true, retried: retries });
    expect((outcome as { message: string }).message).toContain('none:1: not found');
    expect(await logOf(runtime, build, 'a')).toEqual([]);
    await runtime.removeBuild(build);
  });

  it('the placeholder of another kind works as well', async () => {
    const other = await stand.open({ placeholder: placeholder0, owner: 'worker-0' });
    const build = await assembled(other, step('a', 'exit 7'), broken('b'));
    await other.runContainer(build, 'a');
    expect(await other.waitContainer(build, 'a')).toMatchObject({ exitCode: 7 });
    expect(await other.runContainer(build, 'b')).toMatchObject({ outcome: 'pullFailed', retried: false });
    await other.removeBuild(build);
  });
});

describe('costs', () => {
  let stand: Stand;
  let runtime: Runtime;
  beforeAll(async () => {
    stand = await startStand();
    runtime = await stand.open();
  });
  afterAll(() => stand?.end());

  it('two watches, however many builds', async () => {
    const builds = await Promise.all([1, 2, 3, 4].map(() => assembled(runtime, step('a', 'sleep 0.1'))));
    expect(stand.count({ verb: 'watch', open: true })).toBe(2);
    expect(stand.count({ verb: 'watch' })).toBe(2);
    await Promise.all(builds.map((build) => runtime.removeBuild(build)));
    expect(stand.count({ verb: 'watch' })).toBe(2);
  });

  it('one POST, one PATCH for each step, one DELETE, at most two log requests for each log', async () => {
    const before = stand.count({});
    const build = await assembled(runtime, step('a', 'echo a; sleep 0.3'), step('b', 'echo b; sleep 0.3'));
    for (const name of ['a', 'b']) {
      await runtime.runContainer(build, name);
      await logOf(runtime, build, name);
      await runtime.waitContainer(build, name);
    }
    await runtime.removeBuild(build);
    const pods = { resource: 'pods', subresource: '' };
    const own = (filter: object): number => stand.count({ name: build.podName, ...filter });
    expect(own({ ...pods, verb: 'patch' })).toBe(2);
    expect(own({ ...pods, verb: 'delete' })).toBe(1);
    expect(own({ ...pods, verb: 'get' })).toBe(0);
    const logs = own({ subresource: 'log' });
    expect(logs).toBeLessThanOrEqual(4);
    expect(stand.count({}) - before).toBe(1 + 2 + 1 + logs);
  });

  it('two requests more with secrets', async () => {
    const before = stand.count({});
    const build = await assembled(runtime, step('a', 'test "$TOKEN" = s3cret', { secrets: { TOKEN: 's3cret' } }));
    const pod = { name: build.podName, uid: runtime.inspectBuild(build).pod.uid };
    const secret = { resource: 'secrets', namespace, name: `${build.podName}-secrets` };
    // The garbage collector of a cluster removes what its owner leaves.
    expect(await stand.admin.get(secret)).toMatchObject({ metadata: { ownerReferences: [pod] } });
    await runtime.runContainer(build, 'a');
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ exitCode: 0 });
    await runtime.removeBuild(build);
    expect(stand.count({}) - before).toBe(2 + 3);
  });
});

it.each([40_000, 1_500_000])(
  'a script of %i bytes runs to its last line, and is removed with the pod',
  async (bytes) => {
    const stand = await startStand();
    try {
      const runtime = await stand.open();
      const padding = `# ${'ü'.repeat(50)}\n`.repeat(bytes / 100);
      const build = await assembled(runtime, step('a', `echo first\n${padding}echo last; exit 5`));
      const pod = { name: build.podName, uid: runtime.inspectBuild(build).pod.uid };
      const configMap = { resource: 'configmaps', namespace, name: `${build.podName}-scripts-0` };
      expect(await stand.admin.get(configMap)).toMatchObject({ metadata: { ownerReferences: [pod] } });
      await runtime.runContainer(build, 'a');
      expect(await logOf(runtime, build, 'a')).toEqual(['first', 'last']);
      expect(await runtime.waitContainer(build, 'a')).toMatchObject({ exitCode: 5 });
      await runtime.removeBuild(build);
    } finally {
      await stand.end();
    }
  },
);

describe('in any order', () => {
  let stand: Stand;
  let runtime: Runtime;
  beforeAll(async () => {
    stand = await startStand();
    runtime = await stand.open();
  });
  afterAll(() => stand?.end());

  it('run and wait before assemble are refused, and the order is told', async () => {
    const build = await runtime.setupBuild(spec(step('a', 'true')));
    const error = { code: 'ERR_PODWRIGHT_STATE', message: expect.stringContaining('not assembled yet') as string };
    await expect(runtime.runContainer(build, 'a')).rejects.toMatchObject(error);
    await expect(runtime.waitContainer(build, 'a')).rejects.toMatchObject(error);
  });

  it('a build of a known id is refused until it is removed', async () => {
    const one = spec(step('a', 'true'));
    const build = await runtime.setupBuild(one);
    await expect(runtime.setupBuild(one)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_CONFLICT' });
    await runtime.removeBuild(build);
    await expect(runtime.setupBuild(one)).resolves.toMatchObject({ id: one.id, podName: build.podName });
  });

  it('containers, volumes and names are added before it is assembled, and not after', async () => {
    const build = await runtime.setupBuild(spec(step('a', 'true')));
    await runtime.setupContainer(build, step('b', 'exit 5'));
    await runtime.createVolume(build, { name: 'scratch', emptyDir: {} });
    await runtime.createVolume(build, { name: 'other', emptyDir: {} });
    await runtime.removeVolume(build, 'other');
    await runtime.createNetwork(build, ['db.internal']);
    await expect(runtime.setupContainer(build, step('b', 'true'))).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_USAGE',
    });
    await runtime.assembleBuild(build);
    const pod = await stand.admin.get<{ spec: { volumes: { name: string }[]; hostAliases: object[] } }>({
      resource: 'pods',
      namespace,
      name: build.podName,
    });
    expect(pod.spec.volumes.map(({ name }) => name)).toContain('scratch');
    expect(pod.spec.volumes.map(({ name }) => name)).not.toContain('other');
    expect(pod.spec.hostAliases).toEqual([{ ip: '127.0.0.1', hostnames: ['db.internal'] }]);
    const late = { code: 'ERR_PODWRIGHT_STATE' };
    await expect(runtime.setupContainer(build, step('c', 'true'))).rejects.toMatchObject(late);
    await expect(runtime.createVolume(build, { name: 'v', emptyDir: {} })).rejects.toMatchObject(late);
    await expect(runtime.removeVolume(build, 'scratch')).rejects.toMatchObject(late);
    await expect(runtime.createNetwork(build, ['x'])).rejects.toMatchObject(late);
    await runtime.runContainer(build, 'b');
    expect(await runtime.waitContainer(build, 'b')).toMatchObject({ exitCode: 5 });
    await runtime.removeBuild(build);
  });

  it('called at the same time, each verb does its work once', async () => {
    const build = await runtime.setupBuild(spec(step('a', 'echo once; exit 4')));
    await Promise.all([runtime.assembleBuild(build), runtime.assembleBuild(build)]);
    const ran = await Promise.all([1, 2, 3].map(() => runtime.runContainer(build, 'a')));
    expect(new Set(ran.map(({ outcome }) => outcome)).size).toBeLessThanOrEqual(2);
    const ended = await Promise.all([1, 2, 3].map(() => runtime.waitContainer(build, 'a')));
    expect(ended.map((end) => (end.outcome === 'terminated' ? end.exitCode : end.outcome))).toEqual([4, 4, 4]);
    expect(await logOf(runtime, build, 'a')).toEqual(['once']);
    const reports = await Promise.all([runtime.removeBuild(build), runtime.removeBuild(build)]);
    expect(reports.map(({ gone }) => gone)).toEqual([true, true]);
    const pods = { resource: 'pods', name: build.podName, subresource: '' };
    expect(stand.count({ ...pods, verb: 'patch' })).toBe(1);
    expect(stand.count({ ...pods, verb: 'delete' })).toBe(1);
  });

  it('run and wait may be called while the build is being assembled', async () => {
    const build = await runtime.setupBuild(spec(step('a', 'exit 6')));
    const assembling = runtime.assembleBuild(build);
    const ended = runtime.waitContainer(build, 'a');
    await runtime.runContainer(build, 'a');
    await assembling;
    expect(await ended).toMatchObject({ exitCode: 6 });
    await runtime.removeBuild(build);
  });

  it('after removal the verdicts stay, and nothing new begins', async () => {
    const build = await assembled(runtime, step('a', 'exit 2'), step('b', 'true'));
    await runtime.runContainer(build, 'a');
    await runtime.waitContainer(build, 'a');
    await runtime.removeBuild(build);
    expect(await runtime.runContainer(build, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 2 });
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 2 });
    expect(await runtime.runContainer(build, 'b')).toMatchObject({ outcome: 'canceled', reason: 'caller' });
    expect(runtime.inspectBuild(build)).toMatchObject({ state: 'removed' });
    expect(runtime.inspectContainer(build, 'a')).toMatchObject({ state: 'terminated' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
    await expect(runtime.assembleBuild(build)).resolves.toBe(undefined);
    await expect(runtime.setupContainer(build, step('c', 'true'))).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_STATE',
    });
    expect(await hasPod(stand, build)).toBe(false);
  });

  it('a build that was never assembled is removed without a request', async () => {
    const before = stand.count({});
    const build = await runtime.setupBuild(spec(step('a', 'true')));
    expect(await runtime.removeBuild(build)).toEqual({ gone: true, forced: false, remaining: [] });
    await expect(runtime.assembleBuild(build)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STATE' });
    expect(stand.count({}) - before).toBe(0);
  });

  it('a tail whose signal is aborted ends without an error, and its container goes on', async () => {
    const build = await assembled(runtime, step('a', 'echo begun; sleep 1'));
    await runtime.runContainer(build, 'a');
    const controller = new AbortController();
    const lines: string[] = [];
    for await (const line of runtime.tailContainer(build, 'a', { signal: controller.signal })) {
      lines.push(line.text);
      controller.abort();
    }
    expect(lines).toEqual(['begun']);
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
    await runtime.removeBuild(build);
  });

  it('a container that is not in the build is refused by name', async () => {
    const build = await assembled(runtime, step('a', 'true'));
    await expect(runtime.runContainer(build, 'b')).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_USAGE',
      remedy: 'It has: a.',
    });
    expect(() => runtime.tailContainer(build, 'b')).toThrow(/no container "b"/);
    await runtime.removeBuild(build);
  });

  it('a build of another runtime is refused', async () => {
    const other = await stand.open({ owner: 'worker-2' });
    const build = await other.setupBuild(spec(step('a', 'true')));
    await expect(runtime.assembleBuild(build)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_USAGE' });
  });

  it('a removed container never runs, and the others do', async () => {
    const build = await assembled(runtime, step('a', 'echo ran'), step('b', 'exit 1'));
    await runtime.removeContainer(build, 'a');
    expect(await runtime.runContainer(build, 'a')).toMatchObject({ outcome: 'canceled', reason: 'caller' });
    await runtime.runContainer(build, 'b');
    expect(await runtime.waitContainer(build, 'b')).toMatchObject({ exitCode: 1 });
    await runtime.removeBuild(build);
    expect(stand.count({ resource: 'pods', name: build.podName, subresource: '', verb: 'patch' })).toBe(1);
  });
});
