/**
 * A recording as events: played through the store, the projection and the machines that ship, exactly as a runtime
 * would have lived through it. Nothing of Node: the page that opens a file uses it.
 */
import { BuildRecorder } from '../events/build-recorder.ts';
import type { EventBody, PodwrightEvent } from '../events/types.ts';
import { playOf, type Step } from '../trace/play.ts';
import type { Recording } from '../trace/recording.ts';
import { Replay, type ReplayedPod } from '../trace/replay.ts';

export interface RecordingEventsOptions {
  /** Milliseconds since 1970 at which the recording is said to begin; default 0. */
  readonly startedAt?: number;
}

/** Every pod of the recording is a build of its own, called by the pod's name. */
export function eventsOfRecording(
  recording: Recording,
  options: RecordingEventsOptions = {},
): readonly PodwrightEvent[] {
  return new Player(recording, options.startedAt ?? 0).play();
}

type Pod = Extract<Step, { kind: 'podFrame' }>['pod'];

class Player {
  readonly #recording: Recording;
  readonly #startedAt: number;
  readonly #events: PodwrightEvent[] = [];
  readonly #recorders = new Map<string, BuildRecorder>();
  /** The pods that the watch has shown and not shown as gone, by uid. */
  readonly #alive = new Map<string, Pod>();
  readonly #images = new Map<string, Map<string, string>>();
  #now = 0;

  constructor(recording: Recording, startedAt: number) {
    this.#recording = recording;
    this.#startedAt = startedAt;
  }

  play(): readonly PodwrightEvent[] {
    const { meta, name } = this.#recording;
    const { steps, endsAt } = playOf(this.#recording);
    const version = `recording ${meta.scenario ?? name}`;
    this.#publish({
      type: 'run.started',
      version,
      server: meta.kubernetes === undefined ? null : `Kubernetes ${meta.kubernetes}`,
    });
    for (const step of steps) if (step.kind === 'request') this.#noteImage(step);
    const replay = new Replay({
      onChange: (pod, change) => {
        this.#now = change.at;
        this.#recorder(pod).changed(change);
      },
    });
    for (const step of steps) {
      this.#now = step.at;
      this.#see(step);
      replay.take(step);
    }
    replay.end(endsAt);
    this.#now = endsAt;
    this.#publish({ type: 'run.ended', outcome: 'succeeded', message: 'the recording ends' });
    return this.#events;
  }

  #see(step: Step): void {
    switch (step.kind) {
      case 'created':
        this.#alive.set(step.pod.metadata.uid, step.pod);
        break;
      case 'request':
        this.#recorders.get(step.uid)?.seen({ what: 'request', container: step.container });
        break;
      case 'podList':
        this.#seeList(step.items);
        break;
      case 'podFrame':
        if (step.type === 'DELETED') this.#gone(step.pod);
        else this.#pod(step.pod);
        break;
      case 'event': {
        const { uid, fieldPath } = step.event.involvedObject;
        const recorder = uid === undefined ? undefined : this.#recorders.get(uid);
        const container = /\{([^}]+)\}$/.exec(fieldPath ?? '')?.[1] ?? null;
        recorder?.seen({ what: 'kubeEvent', event: step.event, container });
        break;
      }
      case 'cancel':
        break;
    }
  }

  #seeList(items: readonly Pod[]): void {
    const listed = new Set(items.map(({ metadata }) => metadata.uid));
    for (const [uid, pod] of [...this.#alive]) if (!listed.has(uid)) this.#gone(pod);
    for (const pod of items) this.#pod(pod);
  }

  #pod(pod: Pod): void {
    this.#alive.set(pod.metadata.uid, pod);
    this.#recorders.get(pod.metadata.uid)?.seen({ what: 'pod', pod });
  }

  #gone(pod: Pod): void {
    this.#alive.delete(pod.metadata.uid);
    this.#recorders.get(pod.metadata.uid)?.seen({ what: 'gone', pod });
  }

  #noteImage({
    uid,
    container,
    image,
  }: {
    readonly uid: string;
    readonly container: string;
    readonly image: string;
  }): void {
    const images = this.#images.get(uid) ?? new Map<string, string>();
    // The first one asked for is what the verdict is about.
    if (!images.has(container)) images.set(container, image);
    this.#images.set(uid, images);
  }

  #recorder(replayed: ReplayedPod): BuildRecorder {
    const { uid, name, containers, actors } = replayed;
    let recorder = this.#recorders.get(uid);
    if (recorder !== undefined) return recorder;
    const pod = this.#alive.get(uid);
    const imageOf = (container: string): string =>
      this.#images.get(uid)?.get(container) ??
      pod?.spec?.containers?.find((one) => one.name === container)?.image ??
      '';
    recorder = new BuildRecorder({
      publish: (body) => this.#publish(body),
      id: uid,
      name,
      containers: containers.map((container) => ({
        name: container,
        containerName: container,
        image: imageOf(container),
        role: 'step',
      })),
      pod: () => actors.pod,
      ownContainerID: (container) => actors.container(container).containerID,
    });
    this.#recorders.set(uid, recorder);
    if (pod !== undefined) recorder.seen({ what: 'pod', pod });
    return recorder;
  }

  #publish(body: EventBody): void {
    this.#events.push({ ...body, seq: this.#events.length + 1, at: this.#startedAt + this.#now });
  }
}
