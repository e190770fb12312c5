// The runtime on a real cluster: verdicts, logs, cancel, removal, adoption.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerSpecRequest } from '../../src/pod/build-spec.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

if (kubeConfig === undefined) console.log('skipped: the runtime on a real cluster, because KUBECONFIG is not set');

const step = (name: string, script: string, more: Partial<ContainerSpecRequest> = {}): ContainerSpecRequest => ({
  name,
  image: images.base,
  role: 'step',
  script,
  ...more,
});

describe.skipIf(kubeConfig === undefined)('the runtime on a real cluster', () => {
  let lab: Lab;
  let runtime: Runtime;
  let count = 0;

  beforeAll(async () => {
    lab = await openLab('runtime');
    runtime = await openRuntime();
  });
  afterAll(async () => {
    await runtime?.close();
    await lab?.end();
  });

  function openRuntime(owner = 'worker-1'): Promise<Runtime> {
    return createRuntime({ client: lab.client, namespace: lab.namespace, placeholder: images.placeholder213, owner });
  }
  async function assembled(...containers: ContainerSpecRequest[]): Promise<Build> {
    const build = await runtime.setupBuild({ id: `Build #${++count}`, containers });
    await runtime.assembleBuild(build);
    return build;
  }
  async function log(build: Build, name: string): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of runtime.tailContainer(build, name)) lines.push(line.text);
    return lines;
  }
  const phaseOf = async (build: Build): Promise<string | undefined> =>
    lab.client
      .get<{ status: { phase: string } }>({ resource: 'pods', namespace: lab.namespace, name: build.podName })
      .then(
        (pod) => pod.status.phase,
        () => undefined,
      );

  test('a step that ends well, one that exits 3, and their logs', async () => {
    const build = await assembled(step('first', 'echo one; echo two'), step('second', 'echo three; exit 3'));
    expect(await runtime.runContainer(build, 'first')).toMatchObject({
      outcome: expect.stringMatching(/running|terminated/),
    });
    expect(await log(build, 'first')).toEqual(['one', 'two']);
    expect(await runtime.waitContainer(build, 'first')).toMatchObject({
      outcome: 'terminated',
      exitCode: 0,
      cause: 'completed',
    });
    await runtime.runContainer(build, 'second');
    expect(await runtime.waitContainer(build, 'second')).toMatchObject({
      outcome: 'terminated',
      exitCode: 3,
      cause: 'error',
    });
    expect(await log(build, 'second')).toEqual(['three']);
    expect(await runtime.removeBuild(build)).toEqual({ gone: true, forced: false, remaining: [] });
    expect(await phaseOf(build)).toBe(undefined);
  });

  test('an image that is not there is a failed pull with the registry’s words', async () => {
    const build = await assembled(step('first', 'true', { image: images.missing }));
    const outcome = await runtime.runContainer(build, 'first');
    expect(outcome).toMatchObject({ outcome: 'pullFailed', class: 'notFound', permanent: true });
    expect((outcome as { message: string }).message).toMatch(/not found/);
    expect(await log(build, 'first')).toEqual([]);
    await runtime.removeBuild(build);
  });

  test('a cancel ends every wait, and removal leaves nothing', async () => {
    const build = await assembled(step('long', 'sleep 600'), step('next', 'true'));
    await runtime.runContainer(build, 'long');
    const waiting = runtime.waitContainer(build, 'long');
    const next = runtime.waitContainer(build, 'next');
    runtime.cancelBuild(build);
    await expect(waiting).resolves.toMatchObject({ outcome: 'canceled', reason: 'caller', phase: 'run' });
    await expect(next).resolves.toMatchObject({ outcome: 'canceled', reason: 'caller' });
    await expect(runtime.runContainer(build, 'next')).resolves.toMatchObject({ outcome: 'canceled' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
    expect(await phaseOf(build)).toBe(undefined);
  });

  test('a cancel while the image is being pulled ends the call, and stays what it is', async () => {
    const build = await assembled(step('a', 'true', { image: images.missing }));
    const abort = new AbortController();
    const running = runtime.runContainer(build, 'a', { signal: abort.signal });
    await expect.poll(() => runtime.inspectContainer(build, 'a').state, { timeout: 30_000 }).toBe('pulling');
    abort.abort();
    expect(await running).toMatchObject({ outcome: 'canceled', reason: 'caller', phase: 'pull' });
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'canceled' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
    expect(runtime.inspectContainer(build, 'a').outcome).toMatchObject({ outcome: 'canceled' });
  });

  test('a step that ends with 0 because its pod is evicted is evicted, not a success', async () => {
    const build = await assembled(step('a', 'trap "exit 0" TERM; echo begun; while :; do sleep 0.1; done'));
    await runtime.runContainer(build, 'a');
    for await (const line of runtime.tailContainer(build, 'a')) if (line.text === 'begun') break;
    const metadata = { name: build.podName, namespace: lab.namespace };
    await lab.client.create(
      { resource: 'pods', namespace: lab.namespace, name: build.podName, subresource: 'eviction' },
      { apiVersion: 'policy/v1', kind: 'Eviction', metadata },
    );
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', cause: 'evicted' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  });

  test('a pod that no node takes is told in the words of the scheduler', async () => {
    const build = await runtime.setupBuild({
      id: `Build #${++count}`,
      containers: [step('a', 'true')],
      pod: { nodeSelector: { 'no-such': 'node' } },
      // Long enough for a busy scheduler to speak.
      timeouts: { scheduleMs: 10_000 },
    });
    await expect(runtime.assembleBuild(build)).rejects.toThrow(/has no node after 10 s.*node\(s\) didn't match/s);
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  });

  test('a script longer than an argument, and than a ConfigMap, runs to its last line', async () => {
    const long = (bytes: number): string =>
      `echo first\n${`# ${'ü'.repeat(50)}\n`.repeat(bytes / 100)}echo last; exit 7`;
    const build = await assembled(step('a', long(200_000)), step('b', long(1_500_000)));
    for (const name of ['a', 'b']) {
      await runtime.runContainer(build, name);
      expect(await log(build, name)).toEqual(['first', 'last']);
      expect(await runtime.waitContainer(build, name)).toMatchObject({ exitCode: 7 });
    }
    await runtime.removeBuild(build);
  });

  test('a removal while the pod is being created leaves nothing', async () => {
    const build = await runtime.setupBuild({ id: `Build #${++count}`, containers: [step('a', 'true')] });
    const assembling = runtime.assembleBuild(build);
    assembling.catch(() => undefined);
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true, remaining: [] });
    await expect(assembling).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    expect(await phaseOf(build)).toBe(undefined);
  });

  test('a pod deleted by another is podDeleted, never success', async () => {
    const build = await assembled(step('a', 'sleep 600'), step('b', 'true'));
    await runtime.runContainer(build, 'a');
    await lab.client.delete(
      { resource: 'pods', namespace: lab.namespace, name: build.podName },
      { gracePeriodSeconds: 0 },
    );
    expect(await runtime.waitContainer(build, 'a')).toMatchObject({ outcome: 'terminated', cause: 'podDeleted' });
    expect(await runtime.runContainer(build, 'b')).toMatchObject({ outcome: 'terminated', cause: 'podDeleted' });
    expect(await runtime.removeBuild(build)).toMatchObject({ gone: true });
  });

  test('secrets reach the step and the Secret goes with the pod', async () => {
    const build = await assembled(
      step('a', 'echo "$TOKEN" | wc -c; echo "$PRICE"', {
        secrets: { TOKEN: 'five5' },
        environment: { PRICE: '$(TOKEN) $$' },
      }),
    );
    await runtime.runContainer(build, 'a');
    expect(await log(build, 'a')).toEqual(['6', '$(TOKEN) $$']);
    await runtime.removeBuild(build);
    const secret = { resource: 'secrets', namespace: lab.namespace, name: `${build.podName}-secrets` };
    await expect
      .poll(
        () =>
          lab.client.get(secret).then(
            () => 'there',
            () => 'gone',
          ),
        { timeout: 60_000 },
      )
      .toBe('gone');
  });

  test('another runtime of the same owner takes the build up where it is', async () => {
    const build = await assembled(
      step('done', 'exit 4'),
      step('long', 'echo begun; sleep 2; echo ended'),
      step('last', 'true'),
    );
    await runtime.runContainer(build, 'done');
    await runtime.waitContainer(build, 'done');
    await runtime.runContainer(build, 'long');
    await runtime.close();
    runtime = await openRuntime();
    const adopted = (await runtime.adopt()).find(({ id }) => id === build.id);
    if (adopted === undefined) throw new Error('the build was not adopted');
    expect(await runtime.runContainer(adopted, 'done')).toMatchObject({ outcome: 'terminated', exitCode: 4 });
    expect(await log(adopted, 'long')).toEqual(['begun', 'ended']);
    expect(await runtime.waitContainer(adopted, 'long')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
    await runtime.runContainer(adopted, 'last');
    expect(await runtime.waitContainer(adopted, 'last')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
    expect(await runtime.removeBuild(adopted)).toMatchObject({ gone: true });
  });
});
