/**
 * Histories made up from the rules of the kubelet (kubernetes.md §4 and §5), with their true verdicts by construction.
 *
 * Written from those rules alone: nothing of the product's projection is used, so that both can be wrong only apart.
 */
import type { Recording } from '../../src/trace/recording.ts';
import type { ReplayVerdict } from '../../src/trace/replay.ts';
import { PodWriter, placeholderImageID } from './pod-writer.ts';
import type { Fate, Story } from './story.ts';

export interface History {
  readonly recording: Recording;
  readonly expected: Readonly<Record<string, Partial<ReplayVerdict>>>;
}

/** Plays the story out. Times in seconds; every pull failure is given its grace before anything else happens. */
export function historyOf(story: Story): History {
  const player = new Player(story);
  player.start();
  if (story.init === 'failed') player.neverBegins();
  else {
    for (const [index, fate] of story.fates.entries()) player.step(index, fate);
    player.finish();
  }
  player.close();
  return { recording: player.recording, expected: player.expected };
}

const names = ['a', 'b', 'c'];
const bystander = 'z';
const placeholderImage = 'lab.local/placeholder:1';
const placeholder213 = 'lab.local/placeholder213:1';

class Player {
  readonly expected: Record<string, Partial<ReplayVerdict>> = {};
  readonly #story: Story;
  readonly #names: readonly string[];
  readonly #pod: PodWriter;

  constructor(story: Story) {
    this.#story = story;
    this.#names = [...names.slice(0, story.fates.length), ...(story.hasBystander ? [bystander] : [])];
    const { hasGeneration, nodeBehind } = story;
    const options = { names: this.#names, hasRules: story.strategy === 'rules', hasGeneration, nodeBehind };
    this.#pod = new PodWriter({ ...options, sigtermCode: this.#sigtermCode });
  }

  get recording(): Recording {
    return { name: 'history', meta: { scenario: 'history', placeholders: [] }, lines: this.#pod.lines };
  }

  get #isDirect(): boolean {
    return this.#story.strategy === 'direct';
  }

  get #sigtermCode(): number {
    return this.#story.strategy === 'rules' ? 213 : 0;
  }

  start(): void {
    for (const [index, name] of this.#names.entries())
      this.#pod.images.set(name, this.#isDirect ? image(index) : this.#placeholder);
    const { metadata: _metadata, status: _status, ...sent } = this.#pod.shown();
    this.#pod.action('POST', '/api/v1/namespaces/n/pods', { ...sent, metadata: { name: 'build' } }, 201);
    this.#pod.frame('ADDED');
    this.#pod.after(0.1);
    this.#pod.startTime = this.#pod.nodeTime();
    for (const name of this.#names)
      this.#pod.set(name, {
        state: { waiting: { reason: 'ContainerCreating' } },
        image: this.#pod.images.get(name) ?? '',
      });
    this.#pod.frame();
    this.#init();
    if (this.#story.hasBystander && !this.#isDirect) this.expected[bystander] = { outcome: 'idle' };
    if (this.#isDirect) return;
    this.#pod.after(0.5);
    for (const name of this.#names) {
      this.#pod.tell(name, 'Pulled', `Container image "${this.#placeholder}" already present on machine`);
      this.#pod.run(name, this.#placeholder, placeholderImageID, 0);
    }
    this.#pod.phase = 'Running';
    this.#pod.frame();
  }

  /** An init container that can be had at the second try, or that fails. */
  #init(): void {
    const { init } = this.#story;
    if (init === 'none') return;
    const words = 'failed to resolve image: unexpected status from HEAD request: 503 Service Unavailable';
    for (const state of [
      { waiting: { reason: 'ErrImagePull', message: words } },
      { running: { startedAt: this.#pod.nodeTime() } },
      { terminated: this.#pod.terminated('containerd://prepare', init === 'failed' ? 2 : 0) },
    ]) {
      this.#pod.initState = state;
      this.#pod.frame();
      this.#pod.after(20);
    }
  }

  neverBegins(): void {
    for (const name of this.#names) {
      this.expected[name] = { outcome: 'terminated', exitCode: null, cause: 'initFailed' };
    }
    this.#pod.phase = 'Failed';
    this.#pod.frame();
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
        this.#pod.end(name, fate.code, fate.code === 0 ? 'Completed' : 'Error');
        this.expected[name] = {
          outcome: 'terminated',
          exitCode: fate.code,
          cause: fate.code === 0 ? 'completed' : 'error',
        };
        return;
      case 'oom':
        this.#starts(index, name, true);
        this.#pod.end(name, 137, 'OOMKilled');
        this.expected[name] = { outcome: 'terminated', exitCode: 137, cause: 'oomKilled' };
        return;
      case 'startError':
        this.#pod.tell(name, 'Failed', 'Error: failed to create containerd task: exec: "/nope": no such file');
        this.#starts(index, name, false);
        this.#pod.end(name, 128, 'StartError');
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
    this.#pod.after(2);
    const { end, lastCode } = this.#story;
    const verdict = (cause: string, exitCode: number | null): void => {
      for (const name of running) this.expected[name] = { outcome: 'terminated', exitCode, cause };
    };
    const own = lastCode === 0 ? 'unknown' : 'error';
    switch (end) {
      case 'none':
        break;
      case 'eviction':
        this.#pod.condition('DisruptionTarget', 'EvictionByEvictionAPI');
        this.#pod.frame();
        this.#pod.delete();
        this.#pod.stop(lastCode);
        verdict('evicted', lastCode);
        break;
      case 'kubeletEviction':
      case 'deadline':
        this.#pod.reason = end === 'deadline' ? 'DeadlineExceeded' : 'Evicted';
        this.#pod.stop(lastCode, 'Failed');
        verdict(end === 'deadline' ? 'deadlineExceeded' : 'evicted', lastCode);
        break;
      case 'slowEviction':
        this.#pod.condition('Ready', 'PodFailed', 'False');
        this.#pod.frame();
        // Phase and reason come as soon as nothing runs any more.
        if (this.#story.hasBystander) this.#pod.stop(lastCode, 'Running', running.slice(0, 1));
        this.#pod.after(10);
        this.#pod.reason = 'Evicted';
        this.#pod.stop(lastCode, 'Failed');
        verdict('evicted', lastCode);
        break;
      case 'sandboxKilled':
        this.#pod.condition('PodReadyToStartContainers', '', 'False', this.#pod.nodeTime());
        this.#pod.frame();
        this.#pod.after(1);
        this.#pod.stop(lastCode);
        verdict(own, lastCode);
        break;
      case 'taint':
        this.#pod.condition('Ready', '', 'False');
        this.#pod.condition('ContainersReady', '');
        this.#pod.frame();
        this.#pod.condition('DisruptionTarget', 'DeletionByTaintManager');
        this.#pod.frame();
        verdict('nodeLost', null);
        break;
      case 'deletion':
        this.#pod.delete();
        this.#pod.stop(lastCode);
        verdict('podDeleted', lastCode);
        break;
      case 'forcedDeletion':
        this.#pod.delete(0);
        verdict('podDeleted', null);
        break;
      case 'cancel':
        this.#pod.delete();
        this.#pod.action('DELETE', '/api/v1/namespaces/n/pods/build', { kind: 'DeleteOptions' }, 200);
        this.#pod.stop(lastCode);
        for (const name of running) this.expected[name] = { outcome: 'canceled' };
    }
    if (end !== 'none' && end !== 'taint') this.#pod.frame('DELETED');
  }

  close(): void {
    this.#pod.after(5);
    this.#pod.note('the end');
  }

  get #placeholder(): string {
    return this.#story.strategy === 'rules' ? placeholder213 : placeholderImage;
  }

  #ask(index: number, name: string): void {
    if (this.#isDirect) return;
    this.#pod.after(1);
    this.#pod.images.set(name, image(index));
    this.#pod.generation++;
    this.#pod.frame();
    this.#pod.action(
      'PATCH',
      '/api/v1/namespaces/n/pods/build',
      { spec: { containers: [{ name, image: image(index) }] } },
      200,
    );
    this.#pod.tell(name, 'Killing', `Container ${name} definition changed, will be restarted`);
    this.#pod.after(0.1);
  }

  #starts(index: number, name: string, isSeen: boolean): void {
    this.#pod.tell(name, 'Pulled', `Container image "${image(index)}" already present on machine`);
    this.#pod.run(name, image(index), `sha256:step${index}`, this.#isDirect ? 0 : 1);
    this.#pod.phase = 'Running';
    if (isSeen) this.#pod.frame();
    this.#pod.after(1);
  }

  /** The kubelet killed the placeholder and could not start the step. */
  #notReplaced(name: string, waitingReason: string, message: string): void {
    const status = this.#pod.statuses.get(name);
    if (status === undefined) return;
    if (this.#story.strategy === 'never') {
      this.#pod.set(name, { ...status, state: { terminated: this.#pod.terminated(status.containerID ?? '', 0) } });
    } else {
      const last =
        status.containerID === undefined
          ? {}
          : { lastState: { terminated: this.#pod.terminated(status.containerID, 213) } };
      this.#pod.set(name, { ...status, ...last, state: { waiting: { reason: waitingReason, message } } });
    }
    this.#pod.frame();
  }

  #configError(name: string): void {
    this.#pod.tell(name, 'Failed', 'Error: secret "missing" not found');
    this.#pod.after(0.5);
    this.#notReplaced(name, 'CreateContainerConfigError', 'secret "missing" not found');
    this.#pod.after(20);
  }

  #pullFails(index: number, name: string, { text, heals }: Extract<Fate, { kind: 'pullFails' }>): void {
    const [failureClass, permanent, form] = text;
    const words = form.replaceAll('I', image(index));
    const uid = this.#pod.tell(name, 'Failed', `Failed to pull image "${image(index)}": ${words}`);
    this.#pod.tell(name, 'Failed', 'Error: ErrImagePull');
    this.#pod.after(0.5);
    this.#notReplaced(name, 'ErrImagePull', words);
    const isFinal = this.#story.strategy === 'never';
    this.#pod.after(11);
    if (!isFinal)
      this.#notReplaced(name, 'ImagePullBackOff', `Back-off pulling image "${image(index)}": ErrImagePull: ${words}`);
    if (!isFinal && heals && !permanent) {
      this.#starts(index, name, true);
      this.#pod.end(name, 0, 'Completed');
      this.expected[name] = { outcome: 'terminated', exitCode: 0, cause: 'completed' };
      return;
    }
    if (!isFinal) this.#pod.tell(name, 'Failed', `Failed to pull image "${image(index)}": ${words}`, uid);
    this.#pod.after(permanent || isFinal ? 10 : 130);
    this.expected[name] = { outcome: 'pullFailed', class: failureClass, permanent };
  }
}

function image(index: number): string {
  return `registry.example/step${index}:1`;
}
