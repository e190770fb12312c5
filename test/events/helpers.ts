/** A hub on a virtual clock, and builds played into it as the runtime would. */
import type { Outcome, Provenance } from '../../machines/outcome.ts';
import { VirtualClock } from '../../src/clock.ts';
import type { DebugTarget } from '../../src/debug/types.ts';
import { EventHub, type EventHubOptions } from '../../src/events/hub.ts';
import type { BuildStateName, ContainerStateName, PodRef } from '../../src/events/types.ts';

export function aHub(options: Partial<EventHubOptions> = {}): { hub: EventHub; clock: VirtualClock } {
  const clock = new VirtualClock(1000);
  return { hub: new EventHub({ clock, version: '1.2.3', server: 'https://cluster.test', ...options }), clock };
}

export const provenance: Provenance = {
  decidedAt: 1000,
  source: 'podStatus',
  resourceVersion: '7',
  containerID: 'containerd://c1',
};

/** A build of two steps, compile and test, from its plan to its end; with `failing` the image of `test` is missing. */
export function playBuild(hub: EventHub, build: string, options: { failing?: boolean } = {}): void {
  const pod: PodRef = { namespace: 'builds', name: `pw-${build}`, uid: `uid-${build}` };
  const images: Record<string, string> = { compile: 'compiler:1', test: 'tester:1' };
  const container = (name: string, from: ContainerStateName, to: ContainerStateName, outcome: Outcome | null): void => {
    const image = images[name] ?? '';
    const evidence = { kind: 'podStatus' as const, object: { name, state: {} } };
    hub.publish({
      type: 'container.changed',
      build,
      container: name,
      pod,
      from,
      to,
      image,
      outcome,
      provenance,
      evidence,
    });
  };
  const state = (from: BuildStateName | null, to: BuildStateName): void => {
    hub.publish({ type: 'build.changed', build, from, to, message: null });
  };
  const containers = Object.entries(images).map(([name, image]) => ({ name, image, role: 'step' as const }));
  hub.publish({ type: 'build.planned', build, name: `Build ${build}`, containers });
  state('setup', 'assembling');
  hub.publish({
    type: 'pod.changed',
    build,
    pod,
    from: 'creating',
    to: 'pending',
    node: null,
    cause: null,
    message: null,
  });
  hub.publish({
    type: 'pod.changed',
    build,
    pod,
    from: 'pending',
    to: 'running',
    node: 'n1',
    cause: null,
    message: null,
  });
  state('assembling', 'running');
  hub.publish({ type: 'container.requested', build, container: 'compile' });
  container('compile', 'pending', 'pulling', null);
  container('compile', 'pulling', 'running', runningOutcome);
  hub.publish({ type: 'debug.started', build, target: aTarget(pod, 'compile') });
  container('compile', 'running', 'terminated', exitedOutcome(0));
  const ended = { exitCode: 0, reason: 'Completed', finishedAt: '2026-01-01T00:00:09Z' };
  hub.publish({ type: 'debug.terminated', build, target: aTarget(pod, 'compile'), cause: 'exited', ...ended });
  container('test', 'pending', 'pulling', null);
  if (options.failing === true) {
    const failed = {
      build,
      pod,
      container: 'test',
      level: 'Warning' as const,
      count: 1,
      component: 'kubelet',
      uid: 'e1',
    };
    hub.publish({
      type: 'kube.event',
      ...failed,
      reason: 'Failed',
      message: 'Failed to pull image "tester:1": not found',
    });
    container('test', 'pulling', 'pullFailed', pullFailedOutcome);
  } else {
    container('test', 'pulling', 'running', runningOutcome);
    container('test', 'running', 'terminated', exitedOutcome(0));
  }
  state('running', options.failing === true ? 'failed' : 'succeeded');
}

export const runningOutcome: Outcome = { outcome: 'running', startedAt: '2026-01-01T00:00:01Z', provenance };

export function exitedOutcome(exitCode: number): Outcome {
  return {
    outcome: 'terminated',
    exitCode,
    cause: exitCode === 0 ? 'completed' : 'error',
    message: null,
    startedAt: '2026-01-01T00:00:01Z',
    finishedAt: '2026-01-01T00:00:09Z',
    provenance,
  };
}

export const pullFailedOutcome: Outcome = {
  outcome: 'pullFailed',
  class: 'notFound',
  permanent: true,
  retried: true,
  message: 'Failed to pull image "tester:1": not found',
  attempts: 2,
  provenance,
};

export function aTarget(pod: PodRef, container: string): DebugTarget {
  return {
    namespace: pod.namespace,
    pod: pod.name,
    podUid: pod.uid,
    container,
    containerID: 'containerd://c1',
    restartCount: 0,
    node: 'n1',
    artifact: 'compiler',
    image: 'compiler:1',
    imageID: '',
    runtime: 'jvm',
    workingDir: '',
    debugPorts: { jdwp: 5005 },
    startedAt: '2026-01-01T00:00:01Z',
  };
}
