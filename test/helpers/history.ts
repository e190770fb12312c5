/**
 * Histories made up from the rules of the kubelet (kubernetes.md §4 and §5), with their true verdicts by construction.
 *
 * Written from those rules alone: nothing of the product's projection is used, so that both can be wrong only apart.
 */
import type { ContainerState, ContainerStatus, KubeEvent, Pod, PodCondition } from '../../src/pod/types.ts';
import type { Recording, RecordingLine } from '../../src/trace/recording.ts';
import type { ReplayVerdict } from '../../src/trace/replay.ts';
import type { Fate, Story } from './story.ts';

export interface History {
  readonly recording: Recording;
  readonly expected: Readonly<Record<string, Partial<ReplayVerdict>>>;
}

/** Plays the story out. Times in seconds; every pull failure is given its grace before anything else happens. */
export function historyOf(story: Story): History {
  const writer = new Writer(story);
  writer.start();
  if (story.init === 'failed') writer.neverBegins();
  else {
    for (const [index, fate] of story.fates.entries()) writer.step(index, fate);
    writer.finish();
  }
  writer.close();
  return { recording: writer.recording, expected: writer.expected };
}

const names = ['a', 'b', 'c'];
const bystander = 'z';
const placeholderImage = 'lab.local/placeholder:1';
const placeholder213 = 'lab.local/placeholder213:1';
const placeholderImageID = 'sha256:placeholder';
const epoch = Date.parse('2026-11-30T20:00:00Z');

class Writer {
  readonly lines: RecordingLine[] = [];
  readonly expected: Record<string, Partial<ReplayVerdict>> = {};
  readonly #story: Story;
  readonly #names: readonly string[];
  readonly #statuses = new Map<string, ContainerStatus>();
  readonly #images = new Map<string, string>();
  readonly #conditions: PodCondition[] = [];
  #t = 0;
  #version = 5000;
  #generation = 1;
  #phase = 'Pending';
  /** Of each instance, by its containerID. */
  readonly #startedAt = new Map<string, string>();
  #startTime: string | undefined;
  #reason: string | undefined;
  #initState: ContainerState | undefined;
  #deletedAt: number | undefined;
  #instance = 0;
  #event = 0;

  constructor(story: Story) {
    this.#story = story;
    this.#names = [...names.slice(0, story.fates.length), ...(story.hasBystander ? [bystander] : [])];
  }

  get recording(): Recording {
    return { name: 'history', meta: { scenario: 'history', placeholders: [] }, lines: this.lines };
  }

  get #isDirect(): boolean {
    return this.#story.strategy === 'direct';
  }

  get #sigtermCode(): number {
    return this.#story.strategy === 'rules' ? 213 : 0;
  }

  start(): void {
    for (const [index, name] of this.#names.entries())
      this.#images.set(name, this.#isDirect ? image(index) : this.#placeholder);
    const { metadata: _metadata, status: _status, ...sent } = this.#pod();
    this.#action('POST', '/api/v1/namespaces/n/pods', { ...sent, metadata: { name: 'build' } }, 201);
    this.#frame('ADDED');
    this.#after(0.1);
    this.#startTime = this.#nodeTime();
    for (const name of this.#names)
      this.#set(name, { state: { waiting: { reason: 'ContainerCreating' } }, image: this.#images.get(name) ?? '' });
    this.#frame();
    this.#init();
    if (this.#story.hasBystander && !this.#isDirect) this.expected[bystander] = { outcome: 'idle' };
    if (this.#isDirect) return;
    this.#after(0.5);
    for (const name of this.#names) {
      this.#tell(name, 'Pulled', `Container image "${this.#placeholder}" already present on machine`);
      this.#run(name, this.#placeholder, placeholderImageID, 0);
    }
    this.#phase = 'Running';
    this.#frame();
  }

  /** An init container that can be had at the second try, or that fails. */
  #init(): void {
    const { init } = this.#story;
    if (init === 'none') return;
    const words = 'failed to resolve image: unexpected status from HEAD request: 503 Service Unavailable';
    for (const state of [
      { waiting: { reason: 'ErrImagePull', message: words } },
      { running: { startedAt: this.#nodeTime() } },
      { terminated: this.#end('containerd://prepare', init === 'failed' ? 2 : 0) },
    ]) {
      this.#initState = state;
      this.#frame();
      this.#after(20);
    }
  }

  neverBegins(): void {
    for (const name of this.#names) {
      this.expected[name] = { outcome: 'terminated', exitCode: null, cause: 'initFailed' };
    }
    this.#phase = 'Failed';
    this.#frame();
  }

  step(index: number, fate: Fate): void {
    const name = names[index] ?? '';
    if (fate.kind === 'notAsked') {
      this.expected[name] = { outcome: 'idle' };
      return;
    }
    this.#ask(index, name);
    switch (fate.kind) {
      case 'exits':
        this.#starts(index, name, fate.isSeenRunning);
        this.#ends(name, fate.code, fate.code === 0 ? 'Completed' : 'Error');
        this.expected[name] = {
          outcome: 'terminated',
          exitCode: fate.code,
          cause: fate.code === 0 ? 'completed' : 'error',
        };
        return;
      case 'oom':
        this.#starts(index, name, true);
        this.#ends(name, 137, 'OOMKilled');
        this.expected[name] = { outcome: 'terminated', exitCode: 137, cause: 'oomKilled' };
        return;
      case 'startError':
        this.#tell(name, 'Failed', 'Error: failed to create containerd task: exec: "/nope": no such file');
        this.#starts(index, name, false);
        this.#ends(name, 128, 'StartError');
        this.expected[name] = { outcome: 'terminated', exitCode: 128, cause: 'startError' };
        return;
      case 'configError':
        this.#configError(name);
        this.expected[name] = { outcome: 'terminated', exitCode: null, cause: 'configError' };
        return;
      case 'pullFails':
        this.#pullFails(index, name, fate);
        return;
      case 'runs':
        this.#starts(index, name, true);
        this.expected[name] = { outcome: 'running' };
    }
  }

  /** The end of the pod takes the step that still runs with it. */
  finish(): void {
    if (this.#story.hasBystander && this.#isDirect) {
      this.#starts(this.#names.length - 1, bystander, true);
      this.expected[bystander] = { outcome: 'running' };
    }
    const running = this.#names.filter((name) => this.expected[name]?.outcome === 'running');
    this.#after(2);
    const { end, lastCode } = this.#story;
    const verdict = (cause: string, exitCode: number | null): void => {
      for (const name of running) this.expected[name] = { outcome: 'terminated', exitCode, cause };
    };
    const own = lastCode === 0 ? 'unknown' : 'error';
    switch (end) {
      case 'none':
        break;
      case 'eviction':
        this.#condition('DisruptionTarget', 'EvictionByEvictionAPI');
        this.#frame();
        this.#delete();
        this.#stop(lastCode);
        verdict('evicted', lastCode);
        break;
      case 'kubeletEviction':
      case 'deadline':
        this.#reason = end === 'deadline' ? 'DeadlineExceeded' : 'Evicted';
        this.#stop(lastCode, 'Failed');
        verdict(end === 'deadline' ? 'deadlineExceeded' : 'evicted', lastCode);
        break;
      case 'slowEviction':
        this.#condition('Ready', 'PodFailed', 'False');
        this.#frame();
        // Phase and reason come as soon as nothing runs any more.
        if (this.#story.hasBystander) this.#stop(lastCode, 'Running', running.slice(0, 1));
        this.#after(10);
        this.#reason = 'Evicted';
        this.#stop(lastCode, 'Failed');
        verdict('evicted', lastCode);
        break;
      case 'sandboxKilled':
        this.#condition('PodReadyToStartContainers', '', 'False', this.#nodeTime());
        this.#frame();
        this.#after(1);
        this.#stop(lastCode);
        verdict(own, lastCode);
        break;
      case 'taint':
        this.#condition('Ready', '', 'False');
        this.#condition('ContainersReady', '');
        this.#frame();
        this.#condition('DisruptionTarget', 'DeletionByTaintManager');
        this.#frame();
        verdict('nodeLost', null);
        break;
      case 'deletion':
        this.#delete();
        this.#stop(lastCode);
        verdict('podDeleted', lastCode);
        break;
      case 'forcedDeletion':
        this.#delete(0);
        verdict('podDeleted', null);
        break;
      case 'cancel':
        this.#delete();
        this.#action('DELETE', '/api/v1/namespaces/n/pods/build', { kind: 'DeleteOptions' }, 200);
        this.#stop(lastCode);
        for (const name of running) this.expected[name] = { outcome: 'canceled' };
    }
    if (end !== 'none' && end !== 'taint') this.#frame('DELETED');
  }

  close(): void {
    this.#after(5);
    this.lines.push({ t: this.#t, kind: 'note', text: 'the end' });
  }

  get #placeholder(): string {
    return this.#story.strategy === 'rules' ? placeholder213 : placeholderImage;
  }

  #ask(index: number, name: string): void {
    if (this.#isDirect) return;
    this.#after(1);
    this.#images.set(name, image(index));
    this.#generation++;
    this.#frame();
    this.#action(
      'PATCH',
      '/api/v1/namespaces/n/pods/build',
      { spec: { containers: [{ name, image: image(index) }] } },
      200,
    );
    this.#tell(name, 'Killing', `Container ${name} definition changed, will be restarted`);
    this.#after(0.1);
  }

  #starts(index: number, name: string, isSeen: boolean): void {
    this.#tell(name, 'Pulled', `Container image "${image(index)}" already present on machine`);
    this.#run(name, image(index), `sha256:step${index}`, this.#isDirect ? 0 : 1);
    this.#phase = 'Running';
    if (isSeen) this.#frame();
    this.#after(1);
  }

  #run(name: string, imageName: string, imageID: string, restartCount: number): void {
    const before = this.#statuses.get(name);
    const containerID = `containerd://${name}-${this.#instance++}`;
    this.#startedAt.set(containerID, this.#nodeTime());
    const lastState =
      before?.containerID === undefined
        ? {}
        : { lastState: { terminated: this.#end(before.containerID, this.#sigtermCode) } };
    this.#set(name, {
      image: imageName,
      imageID,
      containerID,
      restartCount,
      state: { running: { startedAt: this.#nodeTime() } },
      ...lastState,
    });
    this.#tell(name, 'Started', 'Container started');
  }

  #ends(name: string, exitCode: number, reason: string): void {
    const status = this.#statuses.get(name);
    if (status === undefined) return;
    const terminated = { ...this.#end(status.containerID ?? '', exitCode), reason };
    this.#set(name, { ...status, state: { terminated } });
    this.#frame();
    this.#after(1);
  }

  /** The kubelet killed the placeholder and could not start the step. */
  #notReplaced(name: string, waitingReason: string, message: string): void {
    const status = this.#statuses.get(name);
    if (status === undefined) return;
    if (this.#story.strategy === 'never') {
      this.#set(name, { ...status, state: { terminated: this.#end(status.containerID ?? '', 0) } });
    } else {
      const last =
        status.containerID === undefined ? {} : { lastState: { terminated: this.#end(status.containerID, 213) } };
      this.#set(name, { ...status, ...last, state: { waiting: { reason: waitingReason, message } } });
    }
    this.#frame();
  }

  #configError(name: string): void {
    this.#tell(name, 'Failed', 'Error: secret "missing" not found');
    this.#after(0.5);
    this.#notReplaced(name, 'CreateContainerConfigError', 'secret "missing" not found');
    this.#after(20);
  }

  #pullFails(index: number, name: string, { text, heals }: Extract<Fate, { kind: 'pullFails' }>): void {
    const [failureClass, permanent, form] = text;
    const words = form.replaceAll('I', image(index));
    const uid = this.#tell(name, 'Failed', `Failed to pull image "${image(index)}": ${words}`);
    this.#tell(name, 'Failed', 'Error: ErrImagePull');
    this.#after(0.5);
    this.#notReplaced(name, 'ErrImagePull', words);
    const isFinal = this.#story.strategy === 'never';
    this.#after(11);
    if (!isFinal)
      this.#notReplaced(name, 'ImagePullBackOff', `Back-off pulling image "${image(index)}": ErrImagePull: ${words}`);
    if (!isFinal && heals && !permanent) {
      this.#starts(index, name, true);
      this.#ends(name, 0, 'Completed');
      this.expected[name] = { outcome: 'terminated', exitCode: 0, cause: 'completed' };
      return;
    }
    if (!isFinal) this.#tell(name, 'Failed', `Failed to pull image "${image(index)}": ${words}`, uid);
    this.#after(permanent || isFinal ? 10 : 130);
    this.expected[name] = { outcome: 'pullFailed', class: failureClass, permanent };
  }

  #delete(grace = 30): void {
    this.#deletedAt = this.#t + grace;
    this.#generation++;
    this.#frame();
  }

  /** All that runs is stopped, or some of it, and the phase follows from the codes. */
  #stop(code: number, phase?: string, only?: readonly string[]): void {
    this.#after(0.5);
    for (const [name, status] of this.#statuses) {
      if (status.state?.running === undefined || only?.includes(name) === false) continue;
      const isOwn = status.imageID !== placeholderImageID;
      this.#set(name, {
        ...status,
        state: { terminated: this.#end(status.containerID ?? '', isOwn ? code : this.#sigtermCode) },
      });
    }
    const codes = [...this.#statuses.values()].map(({ state }) => state?.terminated?.exitCode ?? 1);
    this.#phase = phase ?? (codes.every((exitCode) => exitCode === 0) ? 'Succeeded' : 'Failed');
    this.#frame();
    this.#after(0.5);
  }

  #end(containerID: string, exitCode: number): NonNullable<NonNullable<ContainerStatus['state']>['terminated']> {
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const startedAt = this.#startedAt.get(containerID) ?? this.#nodeTime(-1);
    return { exitCode, reason, containerID, startedAt, finishedAt: this.#nodeTime() };
  }

  #condition(type: string, reason: string, status = 'True', lastTransitionTime = this.#time()): void {
    this.#conditions.push({ type, status, ...(reason === '' ? {} : { reason }), lastTransitionTime });
  }

  #set(name: string, status: Omit<ContainerStatus, 'name'>): void {
    this.#statuses.set(name, { restartCount: 0, ...status, name });
  }

  #after(seconds: number): void {
    this.#t = Math.round((this.#t + seconds) * 1000) / 1000;
  }

  #time(shift = 0): string {
    return new Date(epoch + Math.floor(this.#t + shift) * 1000).toISOString().replace('.000Z', 'Z');
  }

  #nodeTime(shift = 0): string {
    return this.#time(shift - this.#story.nodeBehind);
  }

  #frame(type: 'ADDED' | 'MODIFIED' | 'DELETED' = 'MODIFIED'): void {
    this.lines.push({ t: this.#t, kind: 'watch', resource: 'pods', type, object: this.#pod() });
    this.#after(0.01);
  }

  #action(method: string, path: string, body: unknown, status: number): void {
    this.lines.push({ t: this.#t, kind: 'action', action: { what: method, method, path, body, status } });
  }

  /** Gives back the Event's uid; with it, the same Event is counted up. */
  #tell(name: string, reason: string, message: string, again?: string): string {
    const uid = again ?? `event-${this.#event++}`;
    const object: KubeEvent = {
      metadata: { name: uid, namespace: 'n', uid, resourceVersion: String(++this.#version) },
      involvedObject: { kind: 'Pod', name: 'build', uid: 'pod-uid', fieldPath: `spec.containers{${name}}` },
      reason,
      message,
      type: ['Failed'].includes(reason) ? 'Warning' : 'Normal',
      count: again === undefined ? 1 : 2,
      lastTimestamp: this.#nodeTime(),
    };
    const type = again === undefined ? 'ADDED' : 'MODIFIED';
    this.lines.push({ t: this.#t, kind: 'watch', resource: 'events', type, object });
    return uid;
  }

  #pod(): Pod {
    const rules = {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
    };
    const generation = this.#story.hasGeneration ? { generation: this.#generation } : {};
    const deletion =
      this.#deletedAt === undefined
        ? {}
        : {
            deletionTimestamp: new Date(epoch + Math.floor(this.#deletedAt) * 1000).toISOString(),
            deletionGracePeriodSeconds: 30,
          };
    return {
      metadata: {
        name: 'build',
        namespace: 'n',
        uid: 'pod-uid',
        resourceVersion: String(++this.#version),
        creationTimestamp: new Date(epoch).toISOString(),
        ...generation,
        ...deletion,
      },
      spec: {
        restartPolicy: 'Never',
        ...(this.#initState === undefined ? {} : { initContainers: [{ name: 'prepare', image: 'init:1' }] }),
        containers: this.#names.map((name) => ({
          name,
          image: this.#images.get(name) ?? '',
          ...(this.#story.strategy === 'rules' ? rules : {}),
        })),
      },
      status: {
        phase: this.#phase,
        ...(this.#startTime === undefined ? {} : { startTime: this.#startTime }),
        ...(this.#reason === undefined ? {} : { reason: this.#reason }),
        conditions: [...this.#conditions],
        ...(this.#initState === undefined
          ? {}
          : { initContainerStatuses: [{ name: 'prepare', state: this.#initState }] }),
        containerStatuses: [...this.#statuses.values()].sort((left, right) => left.name.localeCompare(right.name)),
      },
    };
  }
}

function image(index: number): string {
  return `registry.example/step${index}:1`;
}
