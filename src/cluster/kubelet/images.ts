/** Gets the image of a container onto the node, or says why not (k8s `image_manager.go`). */
import type { Clock } from '../../clock.ts';
import { referenceError } from '../image-name.ts';
import type { Profile } from '../profile.ts';
import { goDuration, texts } from '../texts.ts';
import type { Container, PodObject } from '../types.ts';
import { BackOff } from './back-off.ts';
import type { ContainerRuntime } from './runtime.ts';
import type { StartError } from './status-input.ts';

export interface ImagesOptions {
  readonly clock: Clock;
  readonly runtime: ContainerRuntime;
  readonly profile: Profile;
}

/** Records an Event of the container that is started. */
export type Record = (type: 'Normal' | 'Warning', reason: string, message: string) => void;

const backOffFirstMs = 10_000;
const backOffLongestMs = 300_000;

export class Images {
  readonly #options: ImagesOptions;
  readonly #backOff: BackOff;
  /** The last pull error by key, for the message of a back-off. */
  readonly #errors = new Map<string, string>();
  /** One pull at a time on a node. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: ImagesOptions) {
    this.#options = options;
    this.#backOff = new BackOff(options.clock, backOffFirstMs, backOffLongestMs);
  }

  /** Undefined when the image is there. */
  async ensure(pod: PodObject, container: Container, record: Record): Promise<StartError | undefined> {
    const { runtime, profile } = this.#options;
    const { image, imagePullPolicy } = container;
    const wrong = referenceError(image);
    if (wrong !== undefined) {
      const message = texts.invalidName(image, wrong);
      record('Warning', 'InspectFailed', message);
      return { reason: 'InvalidImageName', message };
    }
    const isPresent = runtime.image(image) !== undefined;
    if (isPresent && imagePullPolicy !== 'Always') {
      record('Normal', 'Pulled', texts.present(image, profile));
      return undefined;
    }
    if (imagePullPolicy === 'Never') {
      const message = texts.neverPull(image);
      record('Warning', 'ErrImageNeverPull', message);
      return { reason: 'ErrImageNeverPull', message };
    }
    return this.#pull(pod, image, record);
  }

  forget(pod: PodObject): void {
    this.#backOff.forget(`${pod.metadata.uid}_`);
    for (const key of this.#errors.keys()) if (key.startsWith(`${pod.metadata.uid}_`)) this.#errors.delete(key);
  }

  async #pull(pod: PodObject, image: string, record: Record): Promise<StartError | undefined> {
    const { clock, runtime, profile } = this.#options;
    const key = `${pod.metadata.uid}_${image}`;
    if (this.#backOff.left(key) > 0) {
      const text = texts.pullBackOff(image);
      record('Normal', 'BackOff', text);
      const cause = this.#errors.get(key);
      const detail = profile.backOffMessageDetail && cause !== undefined ? `: ErrImagePull: ${cause}` : '';
      return { reason: 'ImagePullBackOff', message: `${text}${detail}` };
    }
    record('Normal', 'Pulling', texts.pulling(image));
    const askedAt = clock.now();
    const turn = this.#queue.then(async () => {
      const startedAt = clock.now();
      const outcome = await runtime.pull(image, pod);
      return { outcome, tookMs: clock.now() - startedAt };
    });
    this.#queue = turn.catch(() => undefined);
    const { outcome, tookMs } = await turn;
    if (outcome.ok) {
      const took = { pull: goDuration(tookMs), all: goDuration(clock.now() - askedAt) };
      record('Normal', 'Pulled', texts.pulled(image, took.pull, took.all, outcome.image.bytes));
      return undefined;
    }
    this.#backOff.next(key);
    this.#errors.set(key, outcome.text);
    record('Warning', 'Failed', texts.pullFailed(image, outcome.text));
    return { reason: 'ErrImagePull', message: outcome.text };
  }
}
