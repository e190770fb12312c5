/**
 * Faults that users of other runners reported, each with the number of its report in those projects: what became a
 * wrong verdict there, and what it is here. This file: how steps and pods end.
 */
import { describe, expect, test } from 'vitest';
import {
  condition,
  initEnded,
  invented,
  placeholderEnded,
  type Shown,
  step,
  stepEnded,
  stepImage,
  TestBuild,
  waiting,
} from '../helpers/build.ts';

const direct = (): TestBuild => TestBuild.ready({ direct: true, containers: ['a'] });
const switched = (): TestBuild => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  return build;
};

describe('an end', () => {
  test.each([
    [
      'tekton#1806: OOMKilled with exit code 0 is a failure',
      stepEnded('C-a', 0, 'OOMKilled'),
      { exitCode: 0, cause: 'oomKilled' },
    ],
    [
      'kubernetes#140718: OOMKilled with 143 was ended by a signal',
      stepEnded('C-a', 143, 'OOMKilled'),
      { exitCode: 143, cause: 'error' },
    ],
    ['containerd#6323: 137 with Error is a kill', stepEnded('C-a', 137, 'Error'), { exitCode: 137, cause: 'error' }],
    ['drone-runner-kube#79: exit code 2 is the user’s', stepEnded('C-a', 2, 'Error'), { exitCode: 2, cause: 'error' }],
    [
      'gitlab-runner@ccb82259e: Windows codes are as they are',
      stepEnded('C-a', 3221225477, 'Error'),
      { exitCode: 3221225477, cause: 'error' },
    ],
    [
      'containerd restart: 255 Unknown was invented',
      stepEnded('C-a', 255, 'Unknown'),
      { exitCode: null, cause: 'unknown' },
    ],
    ['kubernetes#108733: a step that never started has no exit code', invented(), { exitCode: null, cause: 'unknown' }],
  ])('%s', (_report, shown: Shown, verdict) => {
    const build = direct();
    build.shows({ a: step('C-a', { restartCount: 0 }) });
    build.shows({ a: shown });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', ...verdict });
  });

  test('drone-runner-kube@19dcafe: the placeholder’s exit code 2 is not the step’s', () => {
    const build = TestBuild.ready({ containers: ['a'], restartOn: 2, rulesKept: false });
    build.request('a');
    build.shows({ a: placeholderEnded('P-a', 2) });
    build.after(3_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', retried: false });
  });

  test.each(['Succeeded', 'Failed'])(
    'argo#15150, argo#12197, airflow#71202: a %s pod without an end of the step is no success',
    (phase) => {
      const build = switched();
      build.shows({}, { phase });
      expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'unknown' });
    },
  );

  test('kubernetes#58711, #117955: the first verdict stands when the pod’s phase changes its mind', () => {
    const build = switched();
    build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Succeeded' });
    build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
  });

  test('kubernetes#117955: a rejection on top of a natural end says nothing of that end', () => {
    const build = switched();
    build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
  });

  test('argo#12329: DeadlineExceeded without any terminated container ends the step all the same', () => {
    const build = direct();
    build.shows({ a: waiting('ContainerCreating') }, { phase: 'Failed', reason: 'DeadlineExceeded' });
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'deadlineExceeded' });
  });

  test('kubernetes#101044: a container that waits again after its end has ended', () => {
    const build = direct();
    build.shows({ a: step('C-a', { restartCount: 0 }) });
    const lastState = { terminated: { exitCode: 137, reason: 'OOMKilled', containerID: 'C-a' } };
    build.shows({ a: waiting('CrashLoopBackOff', undefined, { containerID: 'C-a', lastState, image: stepImage }) });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 137, cause: 'oomKilled' });
  });

  test('tekton@46f1e006e: statuses are told apart by name, whatever their order', () => {
    const build = TestBuild.ready({ direct: true });
    build.shows({ b: stepEnded('C-b', 0), a: stepEnded('C-a', 1) });
    expect(build.outcome('a')).toMatchObject({ exitCode: 1 });
    expect(build.outcome('b')).toMatchObject({ exitCode: 0 });
  });

  test('woodpecker: an injected sidecar is seen and decides nothing', () => {
    const build = switched();
    build.shows({ 'istio-proxy': stepEnded('C-i', 1), a: step('C-a') });
    expect(build.state('a')).toBe('running');
    expect(() => build.actors.container('istio-proxy')).toThrow(/no container istio-proxy/);
  });

  test('argo#10045: an init container that failed is the end of the step, unless it is a sidecar', () => {
    const failed = direct();
    failed.shows({ a: waiting('PodInitializing') }, { init: [initEnded('prepare', 2, { message: 'no disk' })] });
    expect(failed.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'initFailed' });
  });
});

describe('the end of a pod', () => {
  test('argo#2711, argo#3006: a pod deleted before it started is an outcome', () => {
    const build = direct();
    build.isGone({ a: waiting('ContainerCreating') }, { deleted: { at: 0, grace: 0 } });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'podDeleted' });
  });

  test('test-infra#19274: status.reason NodeLost is an end', () => {
    const build = switched();
    build.shows({ a: step('C-a') }, { phase: 'Running', reason: 'NodeLost', deleted: { at: 30_000 } });
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'nodeLost' });
  });

  test('prow#117: shutdown, podgc and a cloud’s own controller are infrastructure', () => {
    const shutdown = switched();
    shutdown.shows(
      { a: stepEnded('C-a', 143) },
      { phase: 'Failed', reason: 'Terminated', message: 'imminent node shutdown' },
    );
    expect(shutdown.outcome('a')).toMatchObject({ exitCode: 143, cause: 'nodeShutdown' });

    const cloud = switched();
    const disrupted = [condition('DisruptionTarget', 'True', 'DeletionByGCPControllerManager')];
    cloud.shows({ a: stepEnded('C-a', 0) }, { phase: 'Succeeded', conditions: disrupted });
    expect(cloud.outcome('a')).toMatchObject({ exitCode: 0, cause: 'evicted' });
  });

  test('kubernetes#92436, actions-runner-controller#4168: a rejection keeps its words', () => {
    const build = direct();
    const message = 'Pod was rejected: Node didn’t have enough resources: pods, requested: 1, used: 16, capacity: 16';
    build.shows({}, { phase: 'Failed', reason: 'OutOfpods', message, rejected: true });
    expect(build.outcome('a')).toMatchObject({ cause: 'rejected', message });
    expect(build.actors.pod).toMatchObject({ cause: 'rejected', message });
  });

  test('tekton#9467: an init container’s end invented by an eviction is the eviction', () => {
    const build = direct();
    const init = [initEnded('prepare', 137, { reason: 'ContainerStatusUnknown' })];
    build.shows({ a: waiting('PodInitializing') }, { phase: 'Failed', reason: 'Evicted', init });
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'evicted' });
  });

  test('kubernetes#120182: an eviction that the step ends politely with 0 is no success', () => {
    const build = switched();
    build.shows({ a: step('C-a') }, { phase: 'Running' });
    const disrupted = [condition('DisruptionTarget', 'True', 'EvictionByEvictionAPI')];
    build.shows({ a: step('C-a') }, { phase: 'Running', conditions: disrupted, deleted: { at: 30_000 } });
    expect(build.state('a')).toBe('running');
    build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Succeeded', conditions: disrupted, deleted: { at: 30_000 } });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'evicted' });
  });
});

describe('cancel', () => {
  test('woodpecker#2875, tekton#8293: there is one outcome, and nothing leads out of it', () => {
    const build = switched();
    build.actors.cancel('caller');
    build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Succeeded' });
    expect(build.outcome('a')).toMatchObject({ outcome: 'canceled', reason: 'caller' });
  });

  test('tekton#10075: it does not overwrite a verdict', () => {
    const build = switched();
    build.shows({ a: stepEnded('C-a', 1) });
    build.actors.cancel('timeout');
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 1 });
  });
});
