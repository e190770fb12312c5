/**
 * A cluster whose admission writes other images than it was sent: pinned by digest, as policies for signatures do, or
 * of a mirror. The test is that admission, and the kubelet.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Pod } from '../../src/pod/types.ts';
import type { Build, Runtime } from '../../src/runtime/runtime.ts';
import { placeholder, placeholderEnded, type Shown, step as stepShown } from '../helpers/build.ts';
import { clientWith, eventually, namespace, placeholder0, type Stand, spec, startStand, step } from './embedded.ts';

const image = 'registry.example.com/tools:1';
const digest = `sha256:${'5'.repeat(64)}`;
let stand: Stand;
beforeAll(async () => {
  stand = await startStand({ backend: 'scripted' });
  await stand.cluster.node.stopKubelet();
});
afterAll(() => stand?.end());

/** Pins what it is sent. An image that is pinned stays as it is. */
function pinning(stand: Stand): KubeClient {
  const pinned = <T>(body: T): T =>
    JSON.parse(JSON.stringify(body), (key, value) =>
      key === 'image' && !value.includes('@') ? `mirror.example/${value}@${digest}` : value,
    );
  return clientWith(stand, {
    create: (path, body, options) => stand.admin.create(path, pinned(body), options),
    patch: (path, body, options) => stand.admin.patch(path, pinned(body), options),
  });
}

const open = (owner: string): Promise<Runtime> =>
  stand.open({ client: pinning(stand), owner, placeholder: placeholder0 });

async function show(runtime: Runtime, build: Build, shown: Shown): Promise<void> {
  const [container] = runtime.inspectBuild(build).containers;
  const status = { phase: 'Running', containerStatuses: [{ name: container?.containerName, ready: false, ...shown }] };
  const path = { resource: 'pods', namespace, name: build.podName, subresource: 'status' } as const;
  await stand.admin.patch<Pod>(path, { status }, { type: 'merge' });
}

async function waitingBuild(runtime: Runtime): Promise<Build> {
  const build = await runtime.setupBuild(spec(step('a', 'true', { image })));
  const assembled = runtime.assembleBuild(build);
  const isScheduled = (): boolean => runtime.inspectBuild(build).pod.node !== null;
  await eventually(isScheduled, 'the pod has a node');
  await show(runtime, build, placeholder('P-a', { image: digest, imageID: '' }));
  await assembled;
  return build;
}

const isAsked = async (build: Build): Promise<boolean> => {
  const pod = await stand.admin.get<Pod>({ resource: 'pods', namespace, name: build.podName });
  return pod.spec?.containers?.some((container) => container.image === `mirror.example/${image}@${digest}`) === true;
};

test('a placeholder that ended for nothing is a failed pull, with the class that the Event tells', async () => {
  const runtime = await open('worker-pinned');
  const build = await waitingBuild(runtime);
  const run = runtime.runContainer(build, 'a');
  await eventually(() => isAsked(build), 'the step is asked for');
  const { containerName } = runtime.inspectContainer(build, 'a');
  const { uid } = (await stand.admin.get<Pod>({ resource: 'pods', namespace, name: build.podName })).metadata;
  const pinned = `mirror.example/${image}@${digest}`;
  const time = new Date().toISOString();
  await stand.admin.create(
    { resource: 'events', namespace },
    {
      metadata: { name: `${build.podName}.1`, namespace },
      involvedObject: {
        kind: 'Pod',
        namespace,
        name: build.podName,
        uid,
        fieldPath: `spec.containers{${containerName}}`,
      },
      reason: 'Failed',
      message: `Failed to pull image "${pinned}": rpc error: code = NotFound desc = ${pinned}: not found`,
      type: 'Warning',
      count: 1,
      firstTimestamp: time,
      lastTimestamp: time,
      source: { component: 'kubelet' },
    },
  );
  await show(runtime, build, placeholderEnded('P-a', 0, { image: digest, imageID: '' }));
  expect(await run).toMatchObject({ outcome: 'pullFailed', class: 'notFound', retried: false });
});

test('a step that was asked for is known to be by the next worker, and not asked for again', async () => {
  const first = await open('worker-next');
  const build = await waitingBuild(first);
  const run = first.runContainer(build, 'a');
  run.catch(() => undefined);
  await eventually(() => isAsked(build), 'the step is asked for');
  await show(first, build, stepShown('C-a', { image: digest, imageID: '' }));
  expect(await run).toMatchObject({ outcome: 'running' });
  await first.close();
  const second = await open('worker-next');
  const [adopted] = await second.adopt();
  if (adopted === undefined) throw new Error('nothing was adopted');
  expect(second.inspectContainer(adopted, 'a')).toMatchObject({ state: 'running', containerID: 'C-a' });
  const patches = stand.cluster.requests.count({ verb: 'patch' });
  expect(await second.runContainer(adopted, 'a')).toMatchObject({ outcome: 'running' });
  expect(stand.cluster.requests.count({ verb: 'patch' })).toBe(patches);
});
