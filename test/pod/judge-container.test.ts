/** What one version of the pod means for one container, where the rest of the status puts it in another light. */
import { describe, expect, test } from 'vitest';
import type { ContainerStatus } from '../../src/pod/types.ts';
import {
  condition,
  initEnded,
  invented,
  placeholder,
  placeholderEnded,
  step,
  stepEnded,
  TestBuild,
  waiting,
} from '../helpers/build.ts';

const completed = { outcome: 'terminated', exitCode: 0, cause: 'completed' };
const refused = 'unexpected status: 503 Service Unavailable';

function initWaiting(name: string, reason: string, message?: string): ContainerStatus {
  return { name, state: { waiting: { reason, ...(message === undefined ? {} : { message }) } } };
}
const initRuns = (name: string): ContainerStatus => ({ name, state: { running: {} } });

describe('an init container that fails to start', () => {
  const direct = (): TestBuild => TestBuild.ready({ direct: true, containers: ['a'] });
  const held = waiting('PodInitializing');

  test('and runs in the end is forgiven, however long it runs', () => {
    const build = direct();
    build.shows({ a: held }, { init: [initWaiting('prepare', 'ErrImagePull', refused)] });
    build.after(60_000);
    build.shows({ a: held }, { init: [initRuns('prepare')] });
    build.after(600_000);
    build.shows({ a: stepEnded('C-a', 0) }, { init: [initEnded('prepare', 0)] });
    expect(build.outcome('a')).toMatchObject(completed);
  });

  test('is forgiven once the next one waits', () => {
    const build = direct();
    build.shows(
      { a: held },
      { init: [initWaiting('one', 'ErrImagePull', refused), initWaiting('two', 'PodInitializing')] },
    );
    build.after(60_000);
    build.shows({ a: held }, { init: [initEnded('one', 0), initWaiting('two', 'PodInitializing')] });
    build.after(600_000);
    expect(build.state('a')).toBe('pending');
  });

  test('is not forgiven by a kubelet that forgot why it waits', () => {
    const build = direct();
    build.shows({ a: held }, { init: [initWaiting('prepare', 'ErrImagePull', refused)] });
    build.after(60_000);
    build.shows({ a: held }, { init: [initWaiting('prepare', 'PodInitializing')] });
    build.after(60_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'initFailed' });
  });

  test('begins a grace of its own after another one was forgiven', () => {
    const build = direct();
    build.shows(
      { a: held },
      { init: [initWaiting('one', 'ErrImagePull', refused), initWaiting('two', 'PodInitializing')] },
    );
    build.after(119_000);
    build.shows({ a: held }, { init: [initEnded('one', 0), initWaiting('two', 'ErrImagePull', refused)] });
    build.after(119_000);
    expect(build.state('a')).toBe('pending');
    build.after(1_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', cause: 'initFailed' });
  });

  test('is a failure too when it is a sidecar, for as long as the step has not begun', () => {
    const build = direct();
    const change = { init: [initWaiting('side', 'ErrImagePull', 'side:1: not found')], sidecars: ['side'] };
    build.shows({ a: held }, change);
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'initFailed' });

    const begun = TestBuild.ready({ containers: ['a'] });
    begun.request('a');
    begun.shows({ a: placeholder('P-a') }, change);
    begun.after(600_000);
    expect(begun.state('a')).toBe('pending');
  });
});

describe('a container that was created and never started', () => {
  const created = (reason: string): ReturnType<typeof waiting> =>
    waiting(reason, 'context deadline exceeded', { containerID: 'C-a', imageID: 'sha256:s', restartCount: 1 });

  test.each([true, false])('is given its grace and no more (from the start: %s)', (direct) => {
    const build = TestBuild.ready({ direct, containers: ['a'], restartOn: 213 });
    if (!direct) build.request('a');
    build.shows({ a: created('CreateContainerError') });
    build.after(239_000);
    expect(build.state('a')).toBe('pending');
    build.after(1_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'startError' });
  });

  test('runs when the next try succeeds', () => {
    const build = TestBuild.ready({ direct: true, containers: ['a'] });
    build.shows({ a: created('CreateContainerError') });
    build.shows({ a: step('C-a2') });
    build.after(600_000);
    expect(build.state('a')).toBe('running');
  });

  test.each([true, false])(
    'is not the one whose log is read, where another came instead (from the start: %s)',
    (direct) => {
      const build = TestBuild.ready({ direct, containers: ['a'], restartOn: 213 });
      if (!direct) build.request('a');
      const lastState = direct ? {} : { lastState: placeholderEnded('P-a', 213).state ?? {} };
      // Between create and start the kubelet was stopped (seen in a world of chance).
      build.shows({ a: { ...created(''), state: { waiting: {} }, ...lastState } });
      expect(build.actors.container('a').containerID).toBe('C-a');
      build.shows({ a: step('C-a2', { restartCount: 2 }) });
      expect(build.actors.container('a').containerID).toBe('C-a2');
      build.shows({ a: step('C-a3', { restartCount: 3, lastState: stepEnded('C-a2', 213).state ?? {} }) });
      expect(build.actors.container('a').containerID).toBe('C-a2');
    },
  );

  test('is the first one, where it was started after all', () => {
    const build = TestBuild.ready({ containers: ['a'], restartOn: 213 });
    build.request('a');
    build.shows({ a: { ...created(''), state: { waiting: {} } } });
    build.shows({ a: step('C-a2', { restartCount: 2, lastState: stepEnded('C-a', 213).state ?? {} }) });
    expect(build.actors.container('a').containerID).toBe('C-a');
  });
});

describe('a pod that its kubelet has given up while containers still run', () => {
  const givenUp = [condition('Ready', 'False', 'PodFailed'), condition('ContainersReady', 'False', 'PodFailed')];

  test('takes with it the step that it was seen with, also when its kubelet never says why', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running', conditions: givenUp });
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { phase: 'Running', conditions: givenUp });
    expect(build.state('a')).toBe('running');
    build.shows({ a: stepEnded('C-a', 0), b: placeholderEnded('P-b') }, { phase: 'Running', conditions: givenUp });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 0, cause: 'unknown' });
  });

  test('leaves the step’s end open until it says why, where nothing tells which came first', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' });
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { phase: 'Running', conditions: givenUp });
    expect(build.state('a')).toBe('running');
    build.shows(
      { a: stepEnded('C-a', 0), b: placeholder('P-b') },
      { phase: 'Failed', reason: 'Evicted', conditions: givenUp },
    );
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 0, cause: 'evicted' });
  });

  test('and forgets why, as a restarted kubelet does, leaves the step its end', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { phase: 'Running', conditions: givenUp });
    expect(build.outcome('a')).toBeNull();
    const back = [condition('Ready', 'False', 'ContainersNotReady')];
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { phase: 'Running', conditions: back });
    expect(build.outcome('a')).toMatchObject(completed);
  });

  test('is none when all have ended: so every pod looks for a second', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.request('b');
    build.shows({ a: stepEnded('C-a', 0), b: stepEnded('C-b', 1) }, { phase: 'Running', conditions: givenUp });
    expect(build.outcome('a')).toMatchObject(completed);
    expect(build.outcome('b')).toMatchObject({ exitCode: 1, cause: 'error' });
  });

  test('and is gone before it says why has ended the step, with the code that was seen', () => {
    const build = TestBuild.ready();
    const ended = { a: stepEnded('C-a', 3), b: placeholder('P-b') };
    build.request('a');
    build.shows(ended, { phase: 'Running', conditions: givenUp });
    expect(build.outcome('a')).toBeNull();
    build.isGone(ended, { phase: 'Running', conditions: givenUp, deleted: { at: 0, grace: 0 } });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 3, cause: 'podDeleted' });
  });
});

test('an invented end of a container of which only the placeholder was seen may have been the step’s', () => {
  const build = TestBuild.ready();
  build.request('a');
  build.shows({ a: invented(), b: placeholder('P-b') }, { phase: 'Running' });
  expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'unknown' });
});

test('a pod that ended for a reason nobody knows makes no success, and takes no failure from its step', () => {
  const build = TestBuild.ready();
  build.request('a');
  build.request('b');
  build.shows({ a: stepEnded('C-a', 0), b: stepEnded('C-b', 3) }, { phase: 'Failed', reason: 'MoonEclipse' });
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'unknown' });
  expect(build.outcome('b')).toMatchObject({ exitCode: 3, cause: 'error' });
});
