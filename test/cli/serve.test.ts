// `podwright serve` shows builds that others run, and `podwright watch` what can be debugged, on any cluster.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import type { State } from '../../src/events/state.ts';
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { Folder, start } from './podwright.ts';

const folder = new Folder();
let cluster: EmbeddedCluster;
let runtime: Runtime;

beforeAll(async () => {
  cluster = await startCluster({});
  runtime = await createRuntime({ kubeConfig: cluster.kubeConfig, namespace: 'default', owner: 'a worker' });
});
afterAll(async () => {
  await runtime.close();
  await cluster.stop();
  folder.end();
});

test('serve: builds that run already and that come later, their verdicts, and logs when somebody looks', async () => {
  const step = { image: 'alpine:3', role: 'step' as const };
  const early = await runtime.setupBuild({
    id: 'early',
    containers: [{ ...step, name: 'one', script: `echo hello; ${folder.untilMade('served')}; exit 3` }],
  });
  await runtime.assembleBuild(early);
  await runtime.runContainer(early, 'one');
  const served = await watching(['serve'], /inspector: (http:\S+)/);
  folder.file('served', '');
  const late = await runtime.setupBuild({
    id: 'late',
    containers: [{ ...step, name: 'unit tests', script: 'echo late' }],
  });
  await runtime.assembleBuild(late);
  await runtime.runContainer(late, 'unit tests');
  await runtime.waitContainer(late, 'unit tests');
  await runtime.waitContainer(early, 'one');
  const state = async (): Promise<State> =>
    ((await (await fetch(`${served.url}/v3/state`)).json()) as { state: State }).state;
  const verdicts = async (): Promise<unknown> =>
    Object.values((await state()).builds).map(({ name, containers }) => [
      name,
      containers.map(({ outcome }) => outcome && 'exitCode' in outcome && outcome.exitCode),
    ]);
  await expect.poll(verdicts).toEqual([
    ['early', [3]],
    ['late', [0]],
  ]);
  const path = `${served.url}/v3/builds/${early.podName}/containers/one/log?format=text`;
  expect(await (await fetch(path)).text()).toBe('hello\n');
  const metrics = await (await fetch(`${served.url}/metrics`)).text();
  expect(metrics).toContain('podwright_watch_live{resource="pods"} 1');
  expect(metrics).toMatch(/podwright_watch_lists_total\{resource="pods"\} 1\n/);
  for (const build of [early, late]) await runtime.removeBuild(build);
  await expect
    .poll(async () => Object.values((await state()).builds).map((build) => build.state))
    .toEqual(['removed', 'removed']);
  expect(await served.stop()).toBe(0);
});

test('watch: what can be debugged, as lines and as Skaffold’s events', async () => {
  const watched = await watching(['watch', '--events-port', '0'], /events: (http:\S+)/);
  const annotations = { [debugAnnotation]: JSON.stringify({ web: { runtime: 'python', ports: { dap: 5678 } } }) };
  const build = await runtime.setupBuild({
    id: 'debugged',
    annotations,
    containers: [{ name: 'web', image: 'alpine:3', role: 'step', script: folder.untilMade('told') }],
  });
  await runtime.assembleBuild(build);
  await runtime.runContainer(build, 'web');
  await watched.line(/debug: a python debugger can attach to pod\/\S+:web \(default\): dap 5678 \(alpine:3\)/);
  folder.file('told', '');
  await runtime.waitContainer(build, 'web');
  await runtime.removeBuild(build);
  await watched.line(/ended with exit code 0/);
  const events = await (await fetch(`${watched.url}/v3/events?format=ndjson&follow=false`)).text();
  // The placeholder ran before the step, and is not told.
  expect(events.match(/"type":"debug.started"/g)?.length).toBe(1);
  expect(events.match(/"type":"debug.terminated"/g)?.length).toBe(1);
  const state = (await (await fetch(`${watched.url}/v1/state`)).json()) as { debuggingContainers: unknown[] };
  expect(state.debuggingContainers).toEqual([]);
  expect(await watched.stop()).toBe(0);
});

/** The command on the cluster, once it watches. */
async function watching(args: readonly string[], pattern: RegExp) {
  const started = start([...args, '--kubeconfig', cluster.kubeConfig, '--namespace', 'default']);
  const url = await started.line(pattern);
  await started.line(/watching the (builds|pods) of namespace default/);
  const stop = async (): Promise<number | null> => {
    started.signal('SIGINT');
    return (await started.ended).code;
  };
  return { url, line: started.line, stop };
}
