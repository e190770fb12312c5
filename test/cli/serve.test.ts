// `podwright serve` shows builds that others run, and `podwright watch` what can be debugged, on any cluster.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import type { State } from '../../src/events/state.ts';
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts';

const bin = fileURLToPath(new URL('../../bin/podwright.js', import.meta.url));
let cluster: EmbeddedCluster;
let runtime: Runtime;

beforeAll(async () => {
  cluster = await startCluster({});
  runtime = await createRuntime({ kubeConfig: cluster.kubeConfig, namespace: 'default', owner: 'a worker' });
});
afterAll(async () => {
  await runtime.close();
  await cluster.stop();
});

test('serve: builds that run already and that come later, their verdicts, and logs when somebody looks', async () => {
  const step = { image: 'alpine:3', role: 'step' as const };
  const early = await runtime.setupBuild({
    id: 'early',
    containers: [{ ...step, name: 'one', script: 'echo hello; sleep 2; exit 3' }],
  });
  await runtime.assembleBuild(early);
  await runtime.runContainer(early, 'one');
  const served = await start(['serve'], /inspector: (http:\S+)/);
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
  await expect.poll(verdicts, { timeout: 20_000 }).toEqual([
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
    .poll(async () => Object.values((await state()).builds).map((build) => build.state), { timeout: 20_000 })
    .toEqual(['removed', 'removed']);
  expect(await served.stop()).toBe(0);
});

test('watch: what can be debugged, as lines and as Skaffold’s events', async () => {
  const watched = await start(['watch', '--events-port', '0'], /events: (http:\S+)/);
  const annotations = { [debugAnnotation]: JSON.stringify({ web: { runtime: 'python', ports: { dap: 5678 } } }) };
  const build = await runtime.setupBuild({
    id: 'debugged',
    annotations,
    containers: [{ name: 'web', image: 'alpine:3', role: 'step', script: 'sleep 1' }],
  });
  await runtime.assembleBuild(build);
  await runtime.runContainer(build, 'web');
  await runtime.waitContainer(build, 'web');
  await runtime.removeBuild(build);
  await watched.line(/debug: a python debugger can attach to pod\/\S+:web \(default\): dap 5678 \(alpine:3\)/);
  await watched.line(/ended with exit code 0/);
  const events = await (await fetch(`${watched.url}/v3/events?format=ndjson&follow=false`)).text();
  // The placeholder ran before the step, and is not told.
  expect(events.match(/"type":"debug.started"/g)?.length).toBe(1);
  expect(events.match(/"type":"debug.terminated"/g)?.length).toBe(1);
  const state = (await (await fetch(`${watched.url}/v1/state`)).json()) as { debuggingContainers: unknown[] };
  expect(state.debuggingContainers).toEqual([]);
  expect(await watched.stop()).toBe(0);
});

async function start(args: readonly string[], pattern: RegExp) {
  const all = [bin, ...args, '--kubeconfig', cluster.kubeConfig, '--namespace', 'default'];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const ended = once(child, 'close');
  const line = async (wanted: RegExp): Promise<string> => {
    await expect.poll(() => output, { timeout: 20_000 }).toMatch(wanted);
    return wanted.exec(output)?.[1] ?? '';
  };
  const url = await line(pattern);
  await line(/watching the (builds|pods) of namespace default/);
  const stop = async (): Promise<unknown> => {
    child.kill('SIGINT');
    return (await ended)[0];
  };
  return { url, line, stop };
}
