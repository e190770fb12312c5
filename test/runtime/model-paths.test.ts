/**
 * Walks that the machines give (`xstate/graph`), on the real stack: a runtime with its client, watches, stores,
 * projection and actors, and an API server over HTTP. The test is the kubelet: it writes statuses and Events there.
 *
 * What counts as covered is what xstate reports of the actors in the runtime: every state and transition of the three
 * machines, told at the end and whole.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { PodwrightError } from '../../src/errors.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { ByteStream } from '../../src/kube/resource.ts';
import type { Pod } from '../../src/pod/types.ts';
import type { Build, Runtime, RuntimeChange } from '../../src/runtime/runtime.ts';
import { type PodChange, placeholder, placeholderImage, type Shown, stepImage } from '../helpers/build.ts';
import { watchInvariants } from '../helpers/invariants.ts';
import { Coverage, coveringWalks, nameOf, type Walk, walkOver } from '../machines/model.ts';
import { buildModel, containerModel, type Hands, oneGraceMs, podModel, shortGrace } from '../machines/models.ts';
import { eventually, namespace, type Stand, startStand, step } from './embedded.ts';

const coverage = new Coverage();
const invariants = watchInvariants();
const clock = new VirtualClock(Date.now());
let stand: Stand;
let runtime: Runtime;
let held: HeldClient;

beforeAll(async () => {
  stand = await startStand({ backend: 'scripted' });
  await stand.cluster.node.stopKubelet();
  held = new HeldClient(stand.admin);
  runtime = await stand.open({
    client: held.client,
    placeholder: { image: placeholderImage },
    clock,
    grace: shortGrace,
    inspect: (event) => {
      coverage.inspect(event);
      invariants.inspect(event);
    },
  });
});
afterAll(() => stand?.end());

/** The runtime's client, with a hand of the test on the creates of pods and on the watch of pods. */
class HeldClient {
  readonly client: KubeClient;
  #answer: ((error?: Error) => void) | undefined;
  #expire: () => void = () => undefined;
  #isDeaf = false;

  constructor(client: KubeClient) {
    const changes: Partial<KubeClient> = {
      create: async (path, body, options) => {
        if (path.resource === 'pods') await this.#held();
        return client.create(path, body, options);
      },
      openWatch: async (path, query, signal) => {
        const stream = await client.openWatch(path, query, signal);
        return path.resource === 'pods' ? this.#through(stream) : stream;
      },
    };
    this.client = new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  get isHolding(): boolean {
    return this.#answer !== undefined;
  }

  /** Lets the create go to the server, or answers in its place. */
  answer(error?: Error): void {
    this.#answer?.(error);
    this.#answer = undefined;
  }

  /** What happens meanwhile is not seen, and the server has forgotten it: only a new list tells. */
  async missing(happens: () => Promise<unknown>): Promise<void> {
    this.#isDeaf = true;
    await happens();
    this.#expire();
    this.#isDeaf = false;
  }

  #held(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answer = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  async *#through(stream: ByteStream): ByteStream {
    const expired = new Promise<'expired'>((resolve) => {
      this.#expire = () => resolve('expired');
    });
    const chunks = stream[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([chunks.next(), expired]);
      if (next === 'expired') break;
      if (next.done === true) return;
      if (!this.#isDeaf) yield next.value;
    }
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Expired', code: 410 };
    yield Buffer.from(
      `${JSON.stringify({ type: 'ERROR', object: { ...status, message: 'too old resource version' } })}\n`,
    );
  }
}

class StackHands implements Hands {
  readonly build: Build;
  readonly #containerName: string;
  readonly #seen = { version: 0, events: new Set<string>(), gone: false };
  readonly #unsubscribe: () => void;
  readonly #pending: Promise<unknown>[] = [];
  #pod: Pod | undefined;
  #shown: Shown | undefined;
  #isRequested = false;

  private constructor(build: Build) {
    this.build = build;
    this.#containerName = runtime.inspectContainer(build, 'a').containerName;
    this.#unsubscribe = runtime.subscribe((item) => this.#note(item));
  }

  static async begin(): Promise<StackHands> {
    return new StackHands(
      await runtime.setupBuild({ id: `walk-${walks++}`, containers: [step('a', 'true', { image: stepImage })] }),
    );
  }

  static async withPod(): Promise<StackHands> {
    const hands = await StackHands.begin();
    await hands.assemble();
    await hands.answerCreate();
    await hands.show(placeholder('P-a'), { phase: 'Running' });
    return hands;
  }

  async end(): Promise<void> {
    held.answer(new PodwrightError('ERR_PODWRIGHT_STOPPED', 'the walk is over'));
    await this.remove();
    this.#unsubscribe();
    await Promise.allSettled(this.#pending);
  }

  async assemble(): Promise<void> {
    this.#later(runtime.assembleBuild(this.build));
    await eventually(() => held.isHolding, 'the create is sent');
  }

  async answerCreate(error?: Error): Promise<void> {
    if (!held.isHolding) return;
    held.answer(error === undefined ? undefined : new PodwrightError('ERR_PODWRIGHT_FORBIDDEN', error.message));
    if (error !== undefined) return;
    await eventually(() => this.#seen.version > 0, 'the pod is seen');
    await eventually(async () => (await this.#get()).spec?.nodeName !== undefined, 'the pod is scheduled');
    await this.#sync(await this.#get());
  }

  async request(): Promise<void> {
    if (this.#pod === undefined || this.#isRequested) return;
    // A step is opened where its placeholder waits.
    if (this.#shown === undefined) await this.show(placeholder('P-a'));
    this.#isRequested = true;
    this.#later(runtime.runContainer(this.build, 'a'));
    const isAsked = async (): Promise<boolean> => {
      if (this.#seen.gone || runtime.inspectContainer(this.build, 'a').outcome !== null) return true;
      return (await this.#get()).spec?.containers?.some(({ image }) => image === stepImage) === true;
    };
    await eventually(isAsked, 'the step is asked for');
  }

  async cancelBuild(): Promise<void> {
    runtime.cancelBuild(this.build);
  }

  async cancelContainer(): Promise<void> {
    await runtime.removeContainer(this.build, 'a');
  }

  async conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): Promise<void> {
    runtime.concludeBuild(this.build, result);
  }

  async remove(): Promise<void> {
    const removal = runtime.removeBuild(this.build);
    // No kubelet ends a pod here.
    if (this.#pod !== undefined && !this.#seen.gone) await this.#delete();
    expect(await removal).toMatchObject({ gone: true });
  }

  async show(shown: Shown | null, change: PodChange = {}): Promise<void> {
    if (this.#pod === undefined || this.#seen.gone) return;
    this.#shown = shown ?? this.#shown;
    const { phase, reason, conditions, init } = change;
    const container = { name: this.#containerName, lastState: {}, ready: false, ...this.#shown };
    const status = {
      ...(phase === undefined ? {} : { phase }),
      ...(reason === undefined ? {} : { reason }),
      ...(conditions === undefined ? {} : { conditions }),
      ...(init === undefined ? {} : { initContainerStatuses: init }),
      ...(this.#shown === undefined ? {} : { containerStatuses: [container] }),
    };
    const path = { resource: 'pods', namespace, name: this.build.podName, subresource: 'status' } as const;
    await this.#sync(await stand.admin.patch<Pod>(path, { status }, { type: 'merge' }));
  }

  async tell(reason: string, message: string, count = 1): Promise<void> {
    if (this.#pod === undefined || this.#seen.gone) return;
    const { name, uid } = this.#pod.metadata;
    const fieldPath = `spec.containers{${this.#containerName}}`;
    // The cluster has its own clock.
    const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
    const event = await stand.admin.create<Pod>(
      { resource: 'events', namespace },
      {
        metadata: { name: `${name}.${events++}`, namespace },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid, fieldPath },
        reason,
        message,
        type: 'Normal',
        count,
        firstTimestamp: time,
        lastTimestamp: time,
        source: { component: 'kubelet' },
      },
    );
    await eventually(() => this.#seen.events.has(event.metadata.uid), 'the Event is seen');
  }

  /** The pod goes and nobody sees it go, so that only its absence from a list tells. */
  async deletePod(): Promise<void> {
    if (this.#pod === undefined || this.#seen.gone) return;
    await held.missing(() => this.#delete());
    const isGone = (): boolean => {
      // The reflector does not list again and again without a pause.
      clock.advance(100);
      return this.#seen.gone;
    };
    await eventually(isGone, 'the pod is seen to be gone');
  }

  async passTime(): Promise<void> {
    clock.advance(oneGraceMs);
  }

  async #delete(): Promise<void> {
    await stand.admin.delete({ resource: 'pods', namespace, name: this.build.podName }, { gracePeriodSeconds: 0 });
  }

  #later(call: Promise<unknown>): void {
    this.#pending.push(call.catch(() => undefined));
  }

  async #get(): Promise<Pod> {
    this.#pod = await stand.admin.get<Pod>({ resource: 'pods', namespace, name: this.build.podName });
    return this.#pod;
  }

  /** The runtime has seen this version, or a later one. */
  async #sync({ metadata }: Pod): Promise<void> {
    await eventually(
      () => this.#seen.version >= Number(metadata.resourceVersion),
      `version ${metadata.resourceVersion} is seen`,
    );
  }

  #note(item: RuntimeChange): void {
    if (item.kind !== 'seen' || item.build.id !== this.build.id) return;
    const { seen } = item;
    if (seen.what === 'pod')
      this.#seen.version = Math.max(this.#seen.version, Number(seen.pod.metadata.resourceVersion));
    if (seen.what === 'gone') this.#seen.gone = true;
    if (seen.what === 'kubeEvent') this.#seen.events.add(seen.event.metadata.uid);
  }
}

let walks = 0;
let events = 0;

async function walk(hands: StackHands, { steps }: Walk<Hands>, state: () => string): Promise<void> {
  const told: string[] = [];
  for (const { case: one, expected } of steps) {
    await one.perform(hands);
    await eventually(() => state() === expected, `${expected} after ${[...told, one.name].join(', ')}, not ${state()}`);
    told.push(one.name);
  }
  await hands.end();
  expect(invariants.breaches).toEqual([]);
}

describe('a container goes the way of its machine', () => {
  test.each(coveringWalks(containerModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = await StackHands.withPod();
    await walk(hands, one, () => runtime.inspectContainer(hands.build, 'a').state);
  });
});

describe('a pod goes the way of its machine', () => {
  test.each(coveringWalks(podModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = await StackHands.begin();
    await walk(hands, one, () => runtime.inspectBuild(hands.build).pod.state);
  });
});

describe('a build goes the way of its machine', () => {
  test('canceled while the create is under way, the pod comes all the same', async () => {
    const hands = await StackHands.begin();
    await walk(
      hands,
      walkOver(buildModel, 'assembling', 'canceled', 'pod created'),
      () => runtime.inspectBuild(hands.build).state,
    );
  });

  test.each(coveringWalks(buildModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = await StackHands.begin();
    await walk(hands, one, () => runtime.inspectBuild(hands.build).state);
  });
});

test('every state and every transition of the three machines was taken, and no invariant broken', () => {
  const reports = [containerModel, podModel, buildModel].map(({ machine }) => coverage.report(machine));
  for (const { text } of reports) console.log(text);
  expect(reports.flatMap(({ missing }) => missing)).toEqual([]);
  expect(invariants.checked).toBeGreaterThan(100);
  expect(invariants.breaches).toEqual([]);
});
