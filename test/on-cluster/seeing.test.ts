// Debug events, the onlooker and forwarded ports on a real cluster.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Observer } from '../../src/cli/observer.ts';
import { forwarder } from '../../src/cli/port-forward.ts';
import { systemClock } from '../../src/clock.ts';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import { publishRuntime } from '../../src/events/from-runtime.ts';
import { EventHub } from '../../src/events/hub.ts';
import type { PodwrightEvent } from '../../src/events/types.ts';
import { silentLogger } from '../../src/logger.ts';
import type { Pod } from '../../src/pod/types.ts';
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

const { base } = images;

if (kubeConfig === undefined) console.log('skipped: seeing a real cluster, because KUBECONFIG is not set');

const bin = fileURLToPath(new URL('../../bin/podwright.js', import.meta.url));

describe.skipIf(kubeConfig === undefined)('seeing a real cluster', () => {
  let lab: Lab;
  let runtime: Runtime;
  beforeAll(async () => {
    lab = await openLab('seeing');
    const placeholder = images.placeholder213;
    runtime = await createRuntime({ client: lab.client, namespace: lab.namespace, placeholder, owner: 'seen' });
  });
  afterAll(async () => {
    await runtime?.close();
    await lab?.end();
  });

  function aHub(): EventHub {
    return new EventHub({ clock: systemClock, version: 'test' });
  }

  test('a debuggable step is told once as started and once as terminated, its placeholder never', async () => {
    const hub = aHub();
    const end = publishRuntime(hub, runtime);
    onTestFinished(end);
    const build = await runtime.setupBuild({
      id: 'debug',
      annotations: {
        [debugAnnotation]: JSON.stringify({
          first: { runtime: 'go' },
          second: { runtime: 'jvm', ports: { jdwp: 5005 } },
        }),
      },
      containers: ['first', 'second'].map((name) => ({
        name,
        image: base,
        role: 'step',
        // Long enough for a busy kubelet to show it running.
        script: 'sleep 8; exit 3',
      })),
    });
    await runtime.assembleBuild(build);
    for (const name of ['first', 'second']) {
      await runtime.runContainer(build, name);
      expect(await runtime.waitContainer(build, name)).toMatchObject({ exitCode: 3 });
    }
    await runtime.removeBuild(build);
    const told = debugEvents(hub).map((event) => `${event.type} ${event.target.container} ${event.target.artifact}`);
    expect(told).toEqual([
      `debug.started first ${base}`,
      `debug.terminated first ${base}`,
      `debug.started second ${base}`,
      `debug.terminated second ${base}`,
    ]);
  });

  test('an onlooker comes to the same verdicts, also for a build that was running before it came', async () => {
    const build = await runtime.setupBuild({
      id: 'looked at',
      containers: ['early', 'late', 'none'].map((name) => ({
        name,
        image: name === 'none' ? images.missing : base,
        role: 'step',
        ...(name === 'none' ? {} : { script: `echo ${name}; sleep 1; exit ${name === 'late' ? 4 : 0}` }),
      })),
    });
    await runtime.assembleBuild(build);
    await runtime.runContainer(build, 'early');
    const hub = aHub();
    const { client, namespace } = lab;
    const observer = new Observer({ client, namespace, hub, clock: systemClock, logger: silentLogger });
    await observer.start();
    onTestFinished(() => observer.stop());
    hub.wantLines(build.podName, 'late');
    await runtime.waitContainer(build, 'early');
    await runtime.runContainer(build, 'late');
    await runtime.waitContainer(build, 'late');
    await runtime.runContainer(build, 'none');
    const expected = await Promise.all(['early', 'late', 'none'].map((name) => runtime.waitContainer(build, name)));
    await expect
      .poll(() => hub.state.builds[build.podName]?.containers.map(({ outcome }) => verdictOf(outcome)), {
        timeout: 30_000,
      })
      .toEqual(expected.map(verdictOf));
    const lines = (): readonly string[] => {
      const reading = hub.lines(build.podName, 'late')?.read(0, 10);
      return reading?.kind === 'entries' ? reading.entries.map(({ value }) => value.line.text) : [];
    };
    await expect.poll(lines, { timeout: 30_000 }).toEqual(['late']);
    await runtime.removeBuild(build);
    await expect.poll(() => hub.state.builds[build.podName]?.state, { timeout: 30_000 }).toBe('removed');
  });

  test('watch tells of restarts in any pod, each instance once, and serves them as Skaffold does', async () => {
    const { client, namespace } = lab;
    const watch = start(['watch', '--namespace', namespace, '--selector', 'app=crashing', '--events-port', '0']);
    const url = await watch.line(/events: (http:\S+)/);
    await watch.line(/watching the pods of namespace/);
    await client.create({ resource: 'pods', namespace }, crashingPod());
    await watch.line(/(?:.*debug: a nodejs debugger can attach){3}/s);
    await client.delete({ resource: 'pods', namespace, name: 'crashing' }, { gracePeriodSeconds: 0 });
    await watch.line(/(?:.*debug: pod\/crashing:web \(\S+\) ended){3}/s);
    const saved = await (await fetch(`${url}/v3/events?format=ndjson&follow=false`)).text();
    const events = saved
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PodwrightEvent);
    const byInstance = Map.groupBy(events.filter(isDebugEvent), ({ target }) => target.containerID);
    for (const some of byInstance.values())
      expect(some.map(({ type }) => type)).toEqual(['debug.started', 'debug.terminated']);
    expect(byInstance.size).toBeGreaterThanOrEqual(3);
    const state = (await (await fetch(`${url}/v1/state`)).json()) as { debuggingContainers: unknown[] };
    expect(state.debuggingContainers).toEqual([]);
    watch.child.kill('SIGINT');
    expect((await watch.ended)[0]).toBe(0);
  });

  test('a port is forwarded through the API', async () => {
    const { client, namespace } = lab;
    const command = ['/bin/sh', '-c', 'while true; do echo hello from the pod | nc -l -p 9229; done'];
    await client.create(
      { resource: 'pods', namespace },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'listening' },
        spec: { ...labSpec, containers: [{ name: 'web', image: base, command }] },
      },
    );
    const isRunning = async (): Promise<boolean> => {
      const pod = await client.get<Pod>({ resource: 'pods', namespace, name: 'listening' });
      return pod.status?.phase === 'Running';
    };
    await expect.poll(isRunning, { timeout: 30_000 }).toBe(true);
    const open = await forwarder({ kubeconfig: kubeConfig ?? '' });
    const failures: string[] = [];
    const forward = await open({ namespace, pod: 'listening', port: 9229 }, (reason) => failures.push(reason));
    onTestFinished(() => forward.close());
    await expect.poll(() => readAll(forward.localPort), { timeout: 30_000 }).toBe('hello from the pod\n');
    const bad = await open({ namespace, pod: 'nosuch', port: 9229 }, (reason) => failures.push(reason));
    onTestFinished(() => bad.close());
    expect(await readAll(bad.localPort)).toBe('');
    await expect.poll(() => failures.length).toBeGreaterThan(0);
  });
});

/** The node has neither a DNS service nor tokens for its pods. */
const labSpec = { terminationGracePeriodSeconds: 0, automountServiceAccountToken: false, dnsPolicy: 'Default' };

function crashingPod(): Record<string, unknown> {
  const annotations = { [debugAnnotation]: JSON.stringify({ web: { runtime: 'nodejs', ports: { devtools: 9229 } } }) };
  const command = ['/bin/sh', '-c', 'sleep 3; exit 1'];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'crashing', labels: { app: 'crashing' }, annotations },
    spec: { ...labSpec, restartPolicy: 'Always', containers: [{ name: 'web', image: base, command }] },
  };
}

type DebugEvent = Extract<PodwrightEvent, { type: 'debug.started' | 'debug.terminated' }>;

function isDebugEvent(event: PodwrightEvent): event is DebugEvent {
  return event.type === 'debug.started' || event.type === 'debug.terminated';
}

function debugEvents(hub: EventHub): readonly DebugEvent[] {
  const reading = hub.events.read(0, 10_000);
  return reading.kind === 'entries' ? reading.entries.map(({ value }) => value.event).filter(isDebugEvent) : [];
}

function verdictOf(outcome: unknown): unknown {
  const { provenance: _, attempts: __, message: ___, ...verdict } = (outcome ?? {}) as Record<string, unknown>;
  return verdict;
}

async function readAll(port: number): Promise<string> {
  const socket = connectSocket(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.on('error', () => undefined);
  const timer = setTimeout(() => socket.destroy(), 3000);
  await once(socket, 'close');
  clearTimeout(timer);
  return text;
}

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  line(pattern: RegExp): Promise<string>;
}

function start(args: readonly string[]): Started {
  const child = spawn(process.execPath, [bin, ...args, '--kubeconfig', kubeConfig ?? ''], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const ended = once(child, 'close');
  const line = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output);
        if (match !== null) resolve(match[1] ?? match[0]);
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      look();
      void ended.then(() => reject(new Error(`it ended without ${pattern}:\n${output}`)));
    });
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.prependListener('data', take);
  child.stderr.prependListener('data', take);
  return { child, ended, line };
}
