/** A worker that comes again takes its builds up: nothing runs twice, no verdict and no line is lost. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeClient } from '../../src/kube/client.ts';
import type { ByteStream } from '../../src/kube/resource.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import {
  assembled,
  broken,
  clientWith,
  eventually,
  hasPod,
  logOf,
  namespace,
  type Stand,
  spec,
  startStand,
  step,
} from './embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

let owners = 0;
const newOwner = (): string => `Worker ${++owners} (über)`;

async function adoptOnly(runtime: Runtime, id: string): Promise<Build> {
  const builds = await runtime.adopt();
  expect(builds.map((build) => build.id)).toEqual([id]);
  const [build] = builds;
  if (build === undefined) throw new Error('unreachable');
  return build;
}

it('steps that ran keep their verdicts, a step that runs is awaited, and the rest can be run', async () => {
  const owner = newOwner();
  const file = join(tmpdir(), `podwright-adopt-${process.pid}`);
  const first = await stand.open({ owner });
  const build = await assembled(
    first,
    step('Ended Well', `echo 1 >> ${file}`),
    step('failed', 'exit 3'),
    step('running', `echo 2 >> ${file}; echo begun; sleep 0.6; echo ended`),
    broken('not there'),
    step('last', `echo 3 >> ${file}`),
  );
  for (const name of ['Ended Well', 'failed']) {
    await first.runContainer(build, name);
    await first.waitContainer(build, name);
  }
  await first.runContainer(build, 'running');
  await first.close();

  const second = await stand.open({ owner, grace: { permanentMs: 300 } });
  const adopted = await adoptOnly(second, build.id);
  expect(adopted).toEqual(build);
  expect(await second.runContainer(adopted, 'Ended Well')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
  expect(await second.waitContainer(adopted, 'failed')).toMatchObject({ outcome: 'terminated', exitCode: 3 });
  await second.runContainer(adopted, 'running');
  expect(await logOf(second, adopted, 'running')).toEqual(['begun', 'ended']);
  expect(await second.waitContainer(adopted, 'running')).toMatchObject({ outcome: 'terminated', exitCode: 0 });
  expect(await second.runContainer(adopted, 'not there')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
  await second.runContainer(adopted, 'last');
  expect(await second.waitContainer(adopted, 'last')).toMatchObject({ exitCode: 0 });
  expect(readFileSync(file, 'utf8')).toBe('1\n2\n3\n');
  expect(stand.count({ verb: 'patch', name: build.podName })).toBe(5);
  expect(await second.removeBuild(adopted)).toMatchObject({ gone: true });
  expect(await hasPod(stand, build)).toBe(false);
  rmSync(file);
});

it.each(['1.34', '1.36'] as const)('a pull that failed before is a failed pull afterwards (%s)', async (profile) => {
  const other = await startStand({ profile });
  try {
    const first = await other.open({ grace: { permanentMs: 60_000, causeMs: 60_000 } });
    const build = await assembled(first, broken('a'), step('b', 'true'));
    const running = first.runContainer(build, 'a').catch(() => undefined);
    await eventually(
      () => first.inspectBuild(build).story.some((line) => /Event Failed/.test(line)),
      'the pull has failed',
    );
    await first.close();
    await running;
    const second = await other.open({ grace: { permanentMs: 300 } });
    const adopted = await adoptOnly(second, build.id);
    expect(await second.runContainer(adopted, 'a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
    await second.removeBuild(adopted);
  } finally {
    await other.end();
  }
});

it('the log goes on after the position that the caller kept', async () => {
  const owner = newOwner();
  const first = await stand.open({ owner });
  const build = await assembled(first, step('a', 'for i in 1 2 3 4; do echo $i; sleep 0.15; done'));
  await first.runContainer(build, 'a');
  let position = '';
  const seen: string[] = [];
  for await (const line of first.tailContainer(build, 'a')) {
    seen.push(line.text);
    position = line.position;
    if (seen.length === 2) break;
  }
  await first.close();
  const second = await stand.open({ owner });
  const adopted = await adoptOnly(second, build.id);
  for await (const line of second.tailContainer(adopted, 'a', { from: position })) seen.push(line.text);
  expect(seen).toEqual(['1', '2', '3', '4']);
  await second.removeBuild(adopted);
});

it('a build that was being assembled is assembled, secrets and all', async () => {
  const owner = newOwner();
  const first = await stand.open({ owner });
  const build = await first.setupBuild({
    ...spec(step('a', 'test "$TOKEN" = s3cret', { secrets: { TOKEN: 's3cret' } })),
    pod: { nodeSelector: { 'no-such': 'node' } },
  });
  const assembling = first.assembleBuild(build).catch(() => undefined);
  await eventually(() => first.inspectBuild(build).pod.uid !== null, 'the pod is created');
  await first.close();
  await assembling;
  const second = await stand.open({ owner });
  const adopted = await adoptOnly(second, build.id);
  const running = second.runContainer(adopted, 'a');
  const uid = second.inspectBuild(adopted).pod.uid;
  const secret = { resource: 'secrets', namespace, name: `${build.podName}-secrets` };
  await eventually(
    () =>
      stand.admin
        .get<{ metadata: { ownerReferences?: { uid: string }[] } }>(secret)
        .then(({ metadata }) => metadata.ownerReferences?.[0]?.uid === uid),
    'the Secret belongs to the pod',
  );
  await second.removeBuild(adopted);
  expect(await running).toMatchObject({ outcome: 'canceled' });
});

it('adopting twice gives each build once, and the builds of other owners never', async () => {
  const owner = newOwner();
  const first = await stand.open({ owner });
  const build = await assembled(first, step('a', 'true'));
  expect(await first.adopt()).toEqual([]);
  await first.close();
  const stranger = await stand.open({ owner: newOwner() });
  expect(await stranger.adopt()).toEqual([]);
  const second = await stand.open({ owner });
  const both = await Promise.all([second.adopt(), second.adopt()]);
  expect(both.flat().map(({ id }) => id)).toEqual([build.id]);
  await second.removeBuild(both.flat()[0] ?? build);
});

describe('what the watch had told before the list of the adoption was answered is not lost', () => {
  /** A client that holds the list back until `act` is done and the watch has told of it with these words. */
  function lateClient(act: () => Promise<unknown>, words: string): { client: KubeClient; arm(): void } {
    let isArmed = false;
    let told = '';
    async function* overheard(frames: ByteStream): AsyncGenerator<Uint8Array, void, undefined> {
      for await (const frame of frames) {
        yield frame;
        // Asked for the next one, its reader has dealt with this one.
        told += Buffer.from(frame).toString();
      }
    }
    const openWatch: KubeClient['openWatch'] = async (path, query, signal) =>
      overheard(await stand.admin.openWatch(path, query, signal));
    const list: KubeClient['list'] = async (path, options) => {
      const answer = await stand.admin.list<never>(path, options);
      if (!isArmed) told += JSON.stringify(answer);
      if (isArmed && path.resource === 'pods') {
        isArmed = false;
        await act();
        await eventually(() => told.includes(words), words);
      }
      return answer;
    };
    return {
      client: clientWith(stand, { openWatch, list }),
      arm: () => {
        isArmed = true;
      },
    };
  }

  it('the end of a step', async () => {
    const owner = newOwner();
    const go = join(tmpdir(), `podwright-adopt-go-${process.pid}`);
    const first = await stand.open({ owner });
    const build = await assembled(first, step('a', `until [ -e ${go} ]; do sleep 0.05; done; exit 3`));
    await first.runContainer(build, 'a');
    await first.close();
    const { client, arm } = lateClient(async () => writeFileSync(go, ''), '"phase":"Failed"');
    const second = await stand.open({ owner, client });
    arm();
    const adopted = await adoptOnly(second, build.id);
    expect(await second.waitContainer(adopted, 'a')).toMatchObject({ outcome: 'terminated', exitCode: 3 });
    await second.removeBuild(adopted);
    rmSync(go);
  });

  it('the end of the pod', async () => {
    const owner = newOwner();
    const first = await stand.open({ owner });
    const build = await assembled(first, step('a', 'sleep 30'));
    await first.runContainer(build, 'a');
    await first.close();
    const path = { resource: 'pods', namespace, name: build.podName };
    const { client, arm } = lateClient(() => stand.admin.delete(path, { gracePeriodSeconds: 0 }), '"DELETED"');
    const second = await stand.open({ owner, client });
    arm();
    const adopted = await adoptOnly(second, build.id);
    expect(await second.waitContainer(adopted, 'a')).toMatchObject({ outcome: 'terminated', cause: 'podDeleted' });
    await second.removeBuild(adopted);
  });
});

it('a pod that cannot be understood is left alone and logged', async () => {
  const owner = newOwner();
  const first = await stand.open({ owner });
  const build = await assembled(first, step('a', 'true'));
  await first.close();
  const path = { resource: 'pods', namespace, name: build.podName };
  await stand.admin.patch(path, { metadata: { annotations: { 'podwright.dev/plan': '{' } } }, { type: 'merge' });
  const logged: string[] = [];
  const second = await stand.open({
    owner,
    logger: { info: (message) => logged.push(message), debug: () => undefined },
  });
  expect(await second.adopt()).toEqual([]);
  expect(logged).toContain('a pod of this owner cannot be adopted');
  await stand.admin.delete(path, { gracePeriodSeconds: 0 });
});

it('orphans are the pods of owners that do not live; they can be removed', async () => {
  const dead = newOwner();
  const living = newOwner();
  const first = await stand.open({ owner: dead });
  const orphaned = await assembled(first, step('a', 'true'));
  await first.close();
  const other = await stand.open({ owner: living });
  const alive = await assembled(other, step('a', 'true'));
  const worker = await stand.open({ owner: newOwner() });
  const orphans = await worker.listOrphans({ livingOwners: [living] });
  expect(orphans).toEqual([
    expect.objectContaining({ podName: orphaned.podName, owner: dead, buildId: orphaned.id, phase: 'Running' }),
  ]);
  expect(await worker.listOrphans({ livingOwners: [living], minAgeMs: 3_600_000 })).toEqual([]);
  const [orphan] = orphans;
  if (orphan === undefined) throw new Error('unreachable');
  expect(await worker.removeOrphan(orphan)).toEqual({ gone: true, forced: false, remaining: [] });
  expect(await worker.removeOrphan(orphan)).toEqual({ gone: true, forced: false, remaining: [] });
  expect(await hasPod(stand, alive)).toBe(true);
  await other.removeBuild(alive);
});
