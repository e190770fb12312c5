/**
 * Walks that the machines themselves give (`xstate/graph`), on what ships: projection, feed and actors, fed with pod
 * objects and Kubernetes Events. The same walks go over HTTP in test/runtime/model-paths.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { type PodChange, placeholder, type Shown, TestBuild } from '../helpers/build.ts';
import { allWalks, coveringWalks, edgesOf, nameOf, type Walk } from './model.ts';
import { buildModel, containerModel, type Hands, oneGraceMs, podModel, shortGrace } from './models.ts';

class BuildHands implements Hands {
  readonly build = new TestBuild({ containers: ['a'], grace: shortGrace });
  #shown: Shown = placeholder('P-a');
  #change: PodChange = { phase: 'Pending' };
  #isCreated = false;

  /** A container is what it is only in a pod that is there. */
  static withPod(): BuildHands {
    const hands = new BuildHands();
    hands.assemble();
    hands.answerCreate();
    hands.show(placeholder('P-a'), { phase: 'Running' });
    return hands;
  }

  assemble(): void {
    this.build.actors.assembling();
  }

  answerCreate(error?: Error): void {
    if (error !== undefined) this.build.actors.failed(error);
    else if (!this.#isCreated) this.build.answerCreate();
    this.#isCreated = true;
  }

  request(): void {
    if (!this.build.actors.container('a').requested) this.build.request('a');
  }

  cancelBuild(): void {
    this.build.actors.cancel('caller');
  }

  cancelContainer(): void {
    this.build.actors.cancel('caller', undefined, 'a');
  }

  conclude(result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void {
    this.build.actors.conclude(result);
  }

  remove(): void {
    this.build.actors.removed();
  }

  show(shown: Shown | null, change: PodChange = {}): void {
    this.#shown = shown ?? this.#shown;
    this.#change = { ...this.#change, ...change };
    this.build.shows({ a: this.#shown }, this.#change);
  }

  tell(reason: string, message: string, count = 1): void {
    this.build.says('a', reason, message, { count });
  }

  deletePod(): void {
    this.build.isGone({ a: this.#shown }, this.#change);
  }

  passTime(): void {
    this.build.after(oneGraceMs);
  }
}

async function walk(hands: BuildHands, { steps }: Walk<Hands>, state: () => string): Promise<void> {
  for (const { case: one, expected } of steps) {
    await one.perform(hands);
    expect({ after: one.name, state: state() }).toEqual({ after: one.name, state: expected });
  }
  expect(hands.build.invariants.breaches).toEqual([]);
}

const models = [
  ['container', containerModel],
  ['pod', podModel],
  ['build', buildModel],
] as const;

describe('the walks of the models', () => {
  test.each(models)('take every transition of the %s machine', (_name, model) => {
    const taken = new Set(coveringWalks(model).flatMap(({ transitions }) => [...transitions]));
    const missing = edgesOf(model.machine).filter(({ transition }) => !taken.has(transition));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });
});

describe('a container goes the way of its machine', () => {
  test.each(allWalks(containerModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = BuildHands.withPod();
    await walk(hands, one, () => hands.build.state('a'));
  });
});

describe('a pod goes the way of its machine', () => {
  test.each(allWalks(podModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = new BuildHands();
    await walk(hands, one, () => hands.build.actors.pod.state);
  });
});

describe('a build goes the way of its machine', () => {
  test.each(allWalks(buildModel).map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const hands = new BuildHands();
    await walk(hands, one, () => hands.build.actors.state);
  });
});
