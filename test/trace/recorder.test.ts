import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock, VirtualClock } from '../../src/clock.ts';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import type { KubeEvent, Pod } from '../../src/pod/types.ts';
import { playOf } from '../../src/trace/play.ts';
import { recordCluster } from '../../src/trace/record-cluster.ts';
import { Recorder, recordingClient } from '../../src/trace/recorder.ts';
import { parseRecording } from '../../src/trace/recording.ts';
import { recordedBody, recordedPod } from '../../src/trace/redact.ts';
import { replay } from '../../src/trace/replay.ts';
import { eventually } from '../runtime/embedded.ts';

const namespace = 'recorded';
let cluster: EmbeddedCluster;
let client: KubeClient;
beforeAll(async () => {
  cluster = await startCluster({
    backend: 'scripted',
    namespaces: [namespace],
    lives: [{ match: { container: 'a' }, runs: 10, exitCode: 3 }],
  });
  client = await connect({ kubeConfig: cluster.kubeConfig });
});
afterAll(async () => {
  await client?.close();
  await cluster?.stop();
});

function aPod(name: string, labels: Readonly<Record<string, string>> = {}): object {
  const container = {
    name: 'a',
    image: 'lab.local/step:1',
    args: ['s3cret-arg'],
    env: [{ name: 'TOKEN', value: 'hunter2' }],
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels, annotations: { note: 'private words' } },
    spec: { restartPolicy: 'Never', containers: [container] },
  };
}

interface Recorded {
  readonly lines: string[];
  readonly text: string;
  stop(): Promise<void>;
}

async function record(labelSelector?: string): Promise<Recorded> {
  const lines: string[] = [];
  const end = new AbortController();
  const recorder = new Recorder({
    write: (line) => lines.push(line),
    clock: systemClock,
    meta: { scenario: 'test', namespace },
    ...(labelSelector === undefined ? {} : { isWanted: () => true }),
  });
  let isSynced = false;
  const recording = recordCluster({
    client,
    namespace,
    ...(labelSelector === undefined ? {} : { labelSelector }),
    recorder,
    clock: systemClock,
    signal: end.signal,
    onSynced: () => {
      isSynced = true;
    },
  });
  await eventually(() => isSynced, 'both lists are there');
  return {
    lines,
    get text() {
      return lines.join('');
    },
    stop: async () => {
      end.abort();
      await recording;
    },
  };
}

describe('a recording of a cluster', () => {
  test('replays to what became of its pods, and holds nothing that is nobody’s business', async () => {
    const recorded = await record();
    await client.create({ resource: 'pods', namespace }, aPod('one'));
    await eventually(() => recorded.text.includes('"phase":"Failed"'), 'the pod has ended');
    await recorded.stop();
    const { pods } = replay(playOf(parseRecording(recorded.text, 'test')));
    expect(pods).toMatchObject([
      { name: 'one', containers: [{ name: 'a', outcome: 'terminated', exitCode: 3, cause: 'error' }] },
    ]);
    expect(recorded.text).not.toMatch(/hunter2|s3cret-arg|private words/);
    expect(recorded.text).toMatch(/"kind":"watchOpened"/);
    await client.delete({ resource: 'pods', namespace, name: 'one' }, { gracePeriodSeconds: 0 });
  });

  test('with a selector holds the selected pods and their Events alone', async () => {
    const recorded = await record('app=wanted');
    await client.create({ resource: 'pods', namespace }, aPod('other'));
    await client.create({ resource: 'pods', namespace }, aPod('wanted', { app: 'wanted' }));
    await eventually(
      () => recorded.text.includes('"phase":"Failed"') && recorded.text.includes('Started'),
      'the pod has ended',
    );
    await recorded.stop();
    const { pods } = replay(playOf(parseRecording(recorded.text, 'test')));
    expect(pods.map(({ name }) => name)).toEqual(['wanted']);
    expect(recorded.text).not.toMatch(/"name":"other"/);
  });
});

describe('a client that is recorded', () => {
  test('does what it did, and its requests about pods are lines, refused ones too', async () => {
    const lines: string[] = [];
    const recorder = new Recorder({ write: (line) => lines.push(line), clock: new VirtualClock(), meta: {} });
    const recorded = recordingClient(client, recorder);
    const pod = await recorded.create<Pod>({ resource: 'pods', namespace }, aPod('asked'));
    expect(pod.metadata.name).toBe('asked');
    const path = { resource: 'pods', namespace, name: 'asked' } as const;
    const patch = {
      metadata: { annotations: { note: 'private words' } },
      spec: { containers: [{ name: 'a', image: 'lab.local/next:1' }] },
    };
    await recorded.patch(path, patch, { type: 'strategic' });
    await recorded.delete(path, { gracePeriodSeconds: 0 });
    await expect(recorded.delete({ ...path, name: 'nobody' })).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_NOT_FOUND',
    });
    await recorded.create(
      { resource: 'secrets', namespace },
      { metadata: { name: 's' }, stringData: { password: 'hunter2' } },
    );
    const actions = lines
      .map((line) => JSON.parse(line))
      .filter(({ kind }) => kind === 'action')
      .map(({ data }) => [data.method, data.status]);
    expect(actions).toEqual([
      ['POST', 201],
      ['PATCH', 200],
      ['DELETE', 200],
      ['DELETE', 404],
    ]);
    expect(lines.join('')).not.toMatch(/hunter2|private words/);
    expect(lines.join('')).toMatch(/lab\.local\/next:1/);
  });
});

test('of a request nothing but images, rules and names is kept', () => {
  const patch = [
    { op: 'replace', path: '/spec/containers/0/image', value: 'i' },
    { op: 'add', path: '/metadata/annotations/a', value: 'private words' },
  ];
  expect(recordedBody('PATCH', patch)).toEqual([patch[0]]);
  expect(JSON.stringify(recordedBody('POST', aPod('x')))).not.toMatch(/hunter2|s3cret|private/);
});

test('an Event of a selected pod that comes before its pod is kept until then; of others none is', () => {
  const lines: string[] = [];
  const recorder = new Recorder({
    write: (line) => lines.push(line),
    clock: new VirtualClock(),
    meta: {},
    isWanted: () => true,
  });
  const event = (uid: string): KubeEvent => ({
    metadata: { name: uid, namespace, uid: `e-${uid}`, resourceVersion: '1' },
    involvedObject: { uid },
    reason: 'Pulled',
  });
  recorder.frame('events', 'ADDED', event('ours'));
  recorder.frame('events', 'ADDED', event('theirs'));
  expect(lines).toHaveLength(1);
  recorder.frame(
    'pods',
    'ADDED',
    recordedPod({ metadata: { name: 'p', namespace, uid: 'ours', resourceVersion: '2' } }),
  );
  expect(lines.slice(1).map((line) => JSON.parse(line).data.resource)).toEqual(['pods', 'events']);
});
