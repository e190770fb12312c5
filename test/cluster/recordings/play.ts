/**
 * Plays the actions of a recording against an embedded cluster: each at the same time after the same frame as then.
 */
import { VirtualClock } from '../../../src/clock.ts';
import { labImages, labLives } from '../../../src/cluster/backend/lab.ts';
import { type EmbeddedCluster, type ProfileName, startCluster } from '../../../src/cluster/index.ts';
import type { ContainerdVersion } from '../../../src/cluster/kubelet/node.ts';
import { passTime, passTimeUntil, settled } from '../../../src/cluster/virtual-time.ts';
import { type Action, type Frame, framesOf, isControl, type Line, type RecordingSet } from './recording.ts';
import { changes, signature } from './signature.ts';

export interface Played {
  readonly frames: readonly (Frame & { readonly t: number })[];
  /** Answers that differ from the recorded ones. */
  readonly wrongAnswers: readonly string[];
}

/** A frame that a wait never brought is not waited for longer than it took then, and this. */
const patienceMs = 20_000;

/** A recording ends soon after the last thing that happened; here it may happen a little later. */
const tailMs = 3_000;

/** Frames that came so shortly before an answer may be effects of the request. */
const effectMs = 60;

export async function playRecording(set: RecordingSet, lines: readonly Line[], seed: number): Promise<Played> {
  const meta = lines.find((line) => line.kind === 'meta');
  if (meta === undefined) throw new Error('the recording has no meta line');
  const clock = new VirtualClock(Date.parse('2026-11-30T18:00:00Z'));
  const containerd: ContainerdVersion = set.endsWith('containerd2') ? '2.2' : '1.6';
  const { namespace, scenario } = meta.data;
  const cluster = await startCluster({
    backend: 'scripted',
    transport: 'memory',
    profile: profiles[set],
    clock,
    seed,
    namespaces: [namespace],
    containerd,
    images: labImages(containerd),
    lives: labLives(containerd),
    nodeCapacity: { cpu: '2', memory: '24Gi' },
    timings: { nodeGraceMs: 20_000 },
  });
  const player = new Player(cluster, clock, namespace);
  try {
    // The kubelet's ticks stand anywhere in their second when a scenario begins.
    await passTime(clock, 1_000 + ((seed * 137) % 1_000));
    if (scenario.startsWith('node-lost')) await player.addOtherNode();
    const freeMs = taintedMs(lines);
    if (freeMs > 0) await player.taintNode(freeMs);
    await player.watch('pods');
    await player.watch('events');
    await player.play(lines);
    return { frames: player.frames, wrongAnswers: player.wrongAnswers };
  } finally {
    await cluster.stop();
  }
}

const profiles: Readonly<Record<RecordingSet, ProfileName>> = {
  '1.36.3': '1.36',
  '1.36.3-containerd2': '1.36',
  '1.34.4': '1.34',
  '1.37.2': '1.37',
};

class Player {
  readonly frames: (Frame & { readonly t: number })[] = [];
  #began = 0;
  readonly wrongAnswers: string[] = [];
  readonly #cluster: EmbeddedCluster;
  readonly #clock: VirtualClock;
  readonly #namespace: string;
  readonly #seen = new Map<string, number>();
  readonly #last = new Map<string, string>();
  readonly #stop = new AbortController();

  constructor(cluster: EmbeddedCluster, clock: VirtualClock, namespace: string) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#namespace = namespace;
  }

  async play(lines: readonly Line[]): Promise<void> {
    const steps = stepsOf(lines);
    this.#began = this.#clock.now();
    let before = 0;
    for (const { anchor, afterMs, line } of steps) {
      if (anchor !== undefined) {
        const waitMs = Math.max(0, anchor.t - before) * 1000 + patienceMs;
        await passTimeUntil(this.#clock, waitMs, () => (this.#seen.get(anchor.text) ?? 0) >= anchor.count);
      }
      before = line.t;
      await passTime(this.#clock, afterMs);
      if (line.kind === 'action') await this.#act(line.data);
      else if (line.kind === 'note') await this.#note(line.data);
    }
    const end = lines.at(-1)?.t ?? 0;
    await passTime(this.#clock, (end - (steps.at(-1)?.line.t ?? 0)) * 1000);
    const wanted = changes(framesOf(lines)).length;
    await passTimeUntil(this.#clock, tailMs, () => changes(this.frames).length >= wanted);
    this.#stop.abort();
  }

  /** Watches again for as long as the scenario lasts, as the recorder did. */
  async watch(resource: 'pods' | 'events'): Promise<void> {
    let version = await this.#list(resource);
    const loop = async (): Promise<void> => {
      while (!this.#stop.signal.aborted) {
        try {
          version = await this.#watchOnce(resource, version);
        } catch {
          // The server is down: asked again half a second later, as then.
          await new Promise<void>((resolve) => void this.#clock.schedule(500, resolve));
        }
      }
    };
    void loop();
    await settled();
  }

  /** A second node kept ready by hand: with every node silent nothing would be evicted. */
  async addOtherNode(): Promise<void> {
    const ready = (): object => ({
      conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date(this.#clock.now()).toISOString() }],
    });
    const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'other' }, spec: { unschedulable: true } };
    await this.#send('POST', '/api/v1/nodes', { ...node, status: ready() });
    const beat = (): void => {
      void this.#send('PATCH', '/api/v1/nodes/other/status', { status: ready() }, 'application/merge-patch+json');
      if (!this.#stop.signal.aborted) this.#clock.schedule(4_000, beat);
    };
    beat();
  }

  /** As the scenario before had left it. */
  async taintNode(forMs: number): Promise<void> {
    const taints = [{ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }];
    const set = (value: object[] | null): Promise<unknown> =>
      this.#send('PATCH', '/api/v1/nodes/localhost', { spec: { taints: value } }, 'application/merge-patch+json');
    await set(taints);
    await settled();
    this.#clock.schedule(forMs, () => void set(null));
  }

  async #list(resource: string): Promise<string> {
    const { text } = await this.#send('GET', `/api/v1/namespaces/${this.#namespace}/${resource}`);
    return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  }

  async #watchOnce(resource: 'pods' | 'events', from: string): Promise<string> {
    const query = new URLSearchParams({ watch: '1', allowWatchBookmarks: 'true', resourceVersion: from });
    const response = await this.#cluster.transport({
      method: 'GET',
      path: `/api/v1/namespaces/${this.#namespace}/${resource}`,
      query,
      headers: {},
      body: undefined,
      signal: this.#stop.signal,
    });
    let version = from;
    if (typeof response.body === 'string') throw new Error(response.body);
    for await (const line of response.body) {
      const frame = JSON.parse(String(line)) as { type: string; object: Frame['object'] };
      if (frame.type === 'ERROR') return this.#list(resource);
      version = frame.object.metadata.resourceVersion;
      if (frame.type !== 'BOOKMARK') this.#record({ resource, ...frame });
    }
    return version;
  }

  #record(frame: Frame): void {
    this.frames.push({ ...frame, t: (this.#clock.now() - this.#began) / 1000 });
    const text = signature(frame);
    const { uid } = frame.object.metadata;
    if (frame.resource === 'pods' && this.#last.get(uid) === text) return;
    this.#last.set(uid, text);
    this.#seen.set(text, (this.#seen.get(text) ?? 0) + 1);
  }

  async #act({ method, path, body, contentType, status, what }: Action): Promise<void> {
    const answer = await this.#send(method, path, body ?? undefined, contentType ?? 'application/json');
    if (answer.status !== status) this.wrongAnswers.push(`${what}: ${answer.status}, not ${status}: ${answer.text}`);
    await settled();
  }

  async #note(text: string): Promise<void> {
    const { node } = this.#cluster;
    const uid = (): string => this.frames.findLast(({ resource }) => resource === 'pods')?.object.metadata.uid;
    const known: Readonly<Record<string, () => unknown>> = {
      'kubelet killed': () => node.stopKubelet(),
      'kubelet started': () => void node.startKubelet(),
      'API server killed': () => this.#cluster.stopApiServer(),
      'API server started': () => this.#cluster.startApiServer(),
      'runtime task of a killed with SIGKILL': () => node.killContainer(uid(), 'a'),
      'placeholder of a killed': () => node.killContainer(uid(), 'a'),
      'sandbox task killed': () => node.killSandbox(uid()),
    };
    await known[text]?.();
    await settled();
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<{ status: number; text: string }> {
    const [pathname = '', query = ''] = path.split('?');
    const { status, body: text } = await this.#cluster.transport({
      method,
      path: pathname,
      query: new URLSearchParams(query),
      headers: body === undefined ? {} : { 'content-type': contentType },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
      signal: this.#stop.signal,
    });
    return { status, text: String(text) };
  }
}

/** For how long the recorded node was tainted for its pod; 0 when it was not. */
function taintedMs(lines: readonly Line[]): number {
  const scheduled = (status: string) => (line: Line) =>
    line.kind === 'watch' &&
    line.data.resource === 'pods' &&
    line.data.object.status?.conditions?.some(
      (one: { type: string; status: string; message?: string }) =>
        one.type === 'PodScheduled' && one.status === status && (one.message?.includes('untolerated taint') ?? true),
    );
  const bound = lines.find(scheduled('True'));
  return lines.some(scheduled('False')) ? (bound?.t ?? 0) * 1000 : 0;
}

interface Step {
  readonly line: Line;
  /** The frame after which it was done, and the how manieth of its kind. */
  readonly anchor: { readonly text: string; readonly count: number; readonly t: number } | undefined;
  readonly afterMs: number;
}

function stepsOf(lines: readonly Line[]): readonly Step[] {
  const steps: Step[] = [];
  const seen = new Map<string, number>();
  const last = new Map<string, string>();
  const history: { text: string; count: number; t: number; frame: Frame }[] = [];
  let doneAt = 0;
  for (const line of lines) {
    if (line.kind === 'watch' && !isControl(line.data)) {
      const text = signature(line.data);
      const { uid } = line.data.object.metadata;
      if (line.data.resource === 'pods' && last.get(uid) === text) continue;
      last.set(uid, text);
      seen.set(text, (seen.get(text) ?? 0) + 1);
      history.push({ text, count: seen.get(text) ?? 1, t: line.t, frame: line.data });
    }
    if (line.kind !== 'action' && line.kind !== 'note') continue;
    const effect = line.kind === 'action' ? effectOf(line.data, line.t, history, doneAt) : -1;
    const at = effect < 0 ? history.length : effect;
    const sent = Math.min(line.t, history[at]?.t ?? line.t);
    // Not an Event that only counts on: it is a sign of waiting, not of what was waited for.
    const anchor = history.slice(0, at).findLast(({ frame }) => frame.resource === 'pods' || frame.type === 'ADDED');
    // Two actions in a row: the second follows the first.
    const from = Math.max(anchor?.t ?? 0, doneAt);
    steps.push({ line, anchor, afterMs: Math.max(0, sent - from) * 1000 });
    doneAt = line.t;
  }
  return steps;
}

/** The frame that first shows what the action did, when it came before the answer. */
function effectOf(
  action: Action,
  t: number,
  history: readonly { readonly t: number; readonly frame: Frame }[],
  doneAt: number,
): number {
  const name = action.body?.kind === 'Pod' ? action.body.metadata?.name : action.path.split('/')[6];
  return history.findIndex(({ t: seen, frame: { resource, type, object } }) => {
    if (resource !== 'pods' || object.metadata.name !== name) return false;
    if ((t - seen) * 1000 > effectMs || seen < doneAt) return false;
    if (action.method === 'POST' && action.body?.kind === 'Pod') return type === 'ADDED';
    if (action.method === 'PATCH')
      return object.metadata.generation > 1 && (object.status.observedGeneration ?? 1) < object.metadata.generation;
    if (action.method === 'DELETE') return object.metadata.deletionTimestamp !== undefined;
    return object.status.conditions?.some(({ reason }: { reason?: string }) => reason === 'EvictionByEvictionAPI');
  });
}
