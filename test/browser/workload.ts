/** Builds that run side by side, each container through pull, start and run; every third build ends badly. */
import type { Outcome, Provenance } from '../../machines/outcome.ts';
import type { EventHub } from '../../src/events/hub.ts';
import type { ContainerStateName, EventBody, PodRef } from '../../src/events/types.ts';

export interface WorkloadOptions {
  readonly builds: number;
  readonly containers: number;
  /** Default `build`. */
  readonly prefix?: string;
}

export class Workload {
  readonly #hub: EventHub;
  readonly #queues: EventBody[][];

  constructor(hub: EventHub, { builds, containers, prefix = 'build' }: WorkloadOptions) {
    this.#hub = hub;
    this.#queues = Array.from({ length: builds }, (_, index) => [...lifeOf(`${prefix}-${index}`, index, containers)]);
  }

  /** Publishes up to `count` events, one of each build in turn. Returns whether any is left. */
  step(count: number): boolean {
    for (let left = count; left > 0; ) {
      const before = left;
      for (const queue of this.#queues) {
        const next = left > 0 ? queue.shift() : undefined;
        if (next === undefined) continue;
        this.#hub.publish(next);
        left--;
      }
      if (left === before) return false;
    }
    return true;
  }

  /** Publishes until the container is in the state. */
  until(container: string, state: string): void {
    for (;;) {
      const next = this.#queues.find((queue) => queue.length > 0)?.[0];
      if (next === undefined) throw new Error(`${container} is never ${state}`);
      this.step(1);
      if (next.type === 'container.changed' && next.container === container && next.to === state) return;
    }
  }

  toTheEnd(): void {
    while (this.step(10_000));
  }
}

function* lifeOf(build: string, index: number, count: number): Generator<EventBody> {
  const pod: PodRef = { namespace: 'builds', name: `pw-${index}`, uid: `uid-${build}` };
  const names = Array.from({ length: count }, (_, step) => `step-${step}`);
  const isBad = index % 3 === 2;
  const image = (name: string): string => `registry.test/tools/${name}:1.${index}`;
  yield {
    type: 'build.planned',
    build,
    name: build,
    containers: names.map((name) => ({ name, image: image(name), role: 'step' })),
  };
  const none = { node: null, cause: null, message: null };
  yield { type: 'build.changed', build, from: 'setup', to: 'assembling', message: null };
  yield { type: 'pod.changed', build, pod, from: 'creating', to: 'pending', ...none };
  yield { type: 'pod.changed', build, pod, from: 'pending', to: 'running', ...none, node: `node-${index % 5}` };
  yield { type: 'build.changed', build, from: 'assembling', to: 'running', message: null };
  for (const [step, name] of names.entries()) {
    const isLast = step === count - 1;
    yield { type: 'container.requested', build, container: name };
    yield change(build, pod, name, image(name), 'pending', 'pulling', null);
    yield {
      type: 'kube.event',
      build,
      pod,
      container: name,
      level: 'Normal',
      reason: 'Pulling',
      message: `Pulling image "${image(name)}"`,
      count: 1,
      component: 'kubelet',
      uid: `${build}-${name}-pulling`,
    };
    if (isBad && isLast) {
      yield change(build, pod, name, image(name), 'pulling', 'pullFailed', pullFailed(image(name)));
      continue;
    }
    yield change(build, pod, name, image(name), 'pulling', 'pending', null);
    yield change(build, pod, name, image(name), 'pending', 'running', {
      outcome: 'running',
      startedAt: null,
      provenance,
    });
    yield change(build, pod, name, image(name), 'running', 'terminated', {
      outcome: 'terminated',
      exitCode: 0,
      cause: 'completed',
      message: null,
      startedAt: null,
      finishedAt: null,
      provenance,
    });
  }
  yield { type: 'build.changed', build, from: 'running', to: isBad ? 'failed' : 'succeeded', message: null };
}

const provenance: Provenance = {
  decidedAt: 0,
  source: 'podStatus',
  resourceVersion: '4711',
  containerID: 'containerd://c',
};

function change(
  build: string,
  pod: PodRef,
  container: string,
  image: string,
  from: ContainerStateName,
  to: ContainerStateName,
  outcome: Outcome | null,
): EventBody {
  const state = to === 'terminated' ? { terminated: { exitCode: 0, reason: 'Completed' } } : { [to]: {} };
  const object = {
    metadata: { uid: pod.uid, resourceVersion: '4711' },
    container: {
      name: container,
      image,
      imageID: '',
      ready: false,
      restartCount: 0,
      containerID: 'containerd://c',
      state,
    },
    pod: { phase: 'Running', qosClass: 'BestEffort', hostIP: '10.0.0.1', podIP: '10.1.0.7' },
  };
  const evidence = { kind: 'podStatus' as const, object };
  return { type: 'container.changed', build, container, pod, from, to, image, outcome, provenance, evidence };
}

function pullFailed(image: string): Outcome {
  const message = `Failed to pull image "${image}": not found`;
  return { outcome: 'pullFailed', class: 'notFound', permanent: true, retried: true, message, attempts: 2, provenance };
}
