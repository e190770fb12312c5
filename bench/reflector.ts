// What a list-watch costs for each frame, beside the decoding that nobody can avoid, in one run.
//
//   node bin/with-node.js bench/reflector.ts [FRAMES]
//
// A server in another process sends MODIFIED frames of the size that real pods have. Processor time of this process,
// system calls and garbage collection included. Figures of different machines are not to be compared; the ratios are.
import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { connect } from '../src/kube/client.ts';
import { FrameDecoder } from '../src/kube/frames.ts';
import { Informer } from '../src/kube/informer.ts';
import type { KubeObject } from '../src/kube/resource.ts';
import type { Pod } from '../src/pod/types.ts';

const frameCount = Number(process.argv[2] ?? 20_000);
const podCount = 500;
const framesPerWrite = 20;
const firstVersion = 1_000;

/** About 6.5 KB, as a build pod with five containers. */
function podOf(index: number, version: number): Pod {
  const names = ['clone', 'build', 'test', 'publish', 'notify'];
  return {
    metadata: {
      name: `build-${index}`,
      namespace: 'builds',
      uid: `00000000-0000-0000-0000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(version),
      labels: { app: 'podwright', build: String(index) },
      annotations: Object.fromEntries(
        Array.from({ length: 15 }, (_, each) => [`podwright.io/${each}`, 'x'.repeat(80)]),
      ),
    },
    spec: {
      nodeName: 'node-1',
      containers: names.map((name) => ({
        name,
        image: `registry/${name}:1`,
        ...{ env: Array(8).fill({ name: 'A_NAME', value: 'a value of some length' }) },
      })),
    },
    status: {
      phase: 'Running',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({ type, status: 'True' })),
      containerStatuses: names.map((name) => ({
        name,
        ready: true,
        restartCount: 0,
        image: `registry/${name}:1`,
        imageID: `registry/${name}@sha256:${'0'.repeat(64)}`,
        containerID: `containerd://${'0'.repeat(64)}`,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      })),
    },
  };
}

const versionMark = '999999999';
const templates = Array.from({ length: podCount }, (_, index) =>
  JSON.stringify({ type: 'MODIFIED', object: podOf(index, Number(versionMark)) }).split(versionMark),
);

/** Cheap to make, so that the server is not what is measured. */
function frames(from: number, count: number): string {
  return Array.from({ length: count }, (_, offset) => {
    const [before, after] = templates[(from + offset) % podCount] ?? [];
    return `${before}${firstVersion + from + offset + 1}${after}\n`;
  }).join('');
}

/** The server's side, in a process of its own. */
function serve(): void {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    if (request.url?.includes('watch=')) {
      sendFrames(response, 0);
      return;
    }
    const items = Array.from({ length: podCount }, (_, index) => podOf(index, 1));
    response.end(JSON.stringify({ metadata: { resourceVersion: String(firstVersion) }, items }));
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

/** As fast as the other side takes them. */
function sendFrames(response: ServerResponse, from: number): void {
  for (let sent = from; sent < frameCount; sent += framesPerWrite) {
    if (response.write(frames(sent, framesPerWrite))) continue;
    response.once('drain', () => sendFrames(response, sent + framesPerWrite));
    return;
  }
}

/** Times a handler's updates from the first to the last. */
function stopwatch(): { readonly onUpdate: () => void; readonly done: Promise<number> } {
  let updates = 0;
  let begin = 0;
  let finish: (ms: number) => void = () => undefined;
  const done = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const onUpdate = (): void => {
    if (updates === 0) begin = cpuMs();
    if (++updates === frameCount) finish(cpuMs() - begin);
  };
  return { onUpdate, done };
}

async function measureOurs(kubeConfig: string): Promise<number> {
  const client = await connect({ kubeConfig });
  const informer = new Informer<KubeObject & Pod>({
    client,
    path: { resource: 'pods', namespace: 'builds' },
    trim: ({ metadata, status }) => ({ metadata, ...(status === undefined ? {} : { status }) }),
    bookmarks: true,
    clock: systemClock,
  });
  const { onUpdate, done } = stopwatch();
  informer.addHandler(({ kind }) => (kind === 'updated' ? onUpdate() : undefined));
  informer.start();
  const ms = await done;
  await informer.stop();
  await client.close();
  return ms;
}

async function measureClientNode(kubeConfig: string): Promise<number> {
  const { CoreV1Api, KubeConfig, makeInformer } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(kubeConfig);
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, '/api/v1/namespaces/builds/pods', () =>
    api.listNamespacedPod({ namespace: 'builds' }),
  );
  const { onUpdate, done } = stopwatch();
  informer.on('update', onUpdate);
  // It reports the end that is asked for as an error.
  informer.on('error', () => undefined);
  await informer.start();
  const ms = await done;
  await informer.stop();
  return ms;
}

/** client-node wants the word that plain HTTP is meant. */
function kubeConfigText(port: number): string {
  return JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'c',
  });
}

/** Microseconds a frame. The first round of each is for the compiler. */
async function warm(
  measures: readonly ((kubeConfig: string) => Promise<number>)[],
  kubeConfig: string,
): Promise<number[]> {
  for (const each of measures) await each(kubeConfig);
  const figures: number[] = [];
  for (const each of measures) figures.push(((await each(kubeConfig)) * 1000) / frameCount);
  return figures;
}

function measure(action: () => void): number {
  const begin = cpuMs();
  action();
  return cpuMs() - begin;
}

/** Time of this process's threads: on a busy machine the clock on the wall measures the others. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function main(): Promise<void> {
  const sample = 2_000;
  const bytes = Buffer.from(frames(0, sample));
  const lines = bytes.toString().trimEnd().split('\n');
  const parse = (): void => {
    for (const line of lines) JSON.parse(line);
  };
  const decode = (): void => {
    const decoder = new FrameDecoder<KubeObject>();
    for (let at = 0; at < bytes.length; at += 65_536) decoder.push(bytes.subarray(at, at + 65_536));
  };
  for (const warmUp of [parse, decode]) warmUp();
  const parseUs = (measure(parse) * 1000) / sample;
  const decodeUs = (measure(decode) * 1000) / sample;
  const server = fork(new URL(import.meta.url).pathname, [String(frameCount), 'serve']);
  const port = await new Promise<number>((resolve) => server.once('message', (message) => resolve(Number(message))));
  const folder = await mkdtemp(join(tmpdir(), 'podwright-bench-'));
  const kubeConfig = join(folder, 'config');
  await writeFile(kubeConfig, kubeConfigText(port));
  const [oursUs = 0, clientNodeUs = 0] = await warm([measureOurs, measureClientNode], kubeConfig);
  server.kill();
  await rm(folder, { recursive: true });
  const row = (what: string, us: number): string =>
    `${what.padEnd(34)} ${us.toFixed(1).padStart(8)} µs  ${(us / parseUs).toFixed(2).padStart(5)} x`;
  console.log(
    `${frameCount} frames of ${Math.round(bytes.length / sample)} bytes, ${podCount} pods, Node ${process.versions.node}`,
  );
  console.log(row('JSON.parse of a line', parseUs));
  console.log(row('FrameDecoder', decodeUs));
  console.log(row('Informer, over HTTP, to a handler', oursUs));
  console.log(row("client-node's informer, the same", clientNodeUs));
}

await (process.argv[3] === 'serve' ? serve() : main());
