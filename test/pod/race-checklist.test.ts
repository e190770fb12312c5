/** The race checklist of Kubernetes (kubernetes.md §11), each number a test. What a client or a log must do is elsewhere. */
import { describe, expect, test } from 'vitest';
import type { ContainerState } from '../../src/pod/types.ts';
import {
  condition,
  invented,
  placeholder,
  placeholderEnded,
  step,
  stepEnded,
  stepImage,
  TestBuild,
  waiting,
} from '../helpers/build.ts';

const notFound = `Failed to pull image "${stepImage}": rpc error: code = NotFound desc = ${stepImage}: not found`;
const completed = { outcome: 'terminated', exitCode: 0, cause: 'completed' };

describe('race checklist', () => {
  test('1: what a watch brings before the create is answered counts once it is; another uid of the name does not', () => {
    const build = new TestBuild();
    build.actors.assembling();
    build.shows({ a: placeholder('P-a'), b: placeholder('P-b') }, { phase: 'Running' });
    build.shows({ a: stepEnded('old', 0) }, { uid: 'an-older-pod', phase: 'Succeeded' });
    expect(build.actors.pod.state).toBe('creating');
    build.create();
    expect(build.actors.pod).toMatchObject({ state: 'running', uid: 'uid-1' });
    expect(build.actors.container('a').placeholderRunning).toBe(true);
    build.request('a');
    build.isGone({}, { uid: 'an-older-pod' });
    expect(build.state('a')).toBe('pending');
  });

  test('2: Event before status, status before Event, Event of another pod', () => {
    const before = TestBuild.ready();
    before.request('a');
    before.says('a', 'Failed', notFound);
    before.shows({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    expect(before.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound', retried: false });

    const after = TestBuild.ready();
    after.request('a');
    after.shows({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    after.says('a', 'Failed', notFound, { involvedObject: { uid: 'another', fieldPath: 'spec.containers{a}' } });
    expect(after.outcome('a')).toBeNull();
    after.after(2_900);
    after.says('a', 'Failed', notFound);
    expect(after.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound', retried: false });
  });

  test('3: an Event that only repeats what was before the request is none; one more of it is', () => {
    const build = TestBuild.ready({ restartOn: 213 });
    const text = 'Error: secret "late" not found';
    build.says('a', 'Failed', text, { id: 'same', count: 4 });
    build.request('a');
    build.says('a', 'Failed', text, { id: 'same', count: 4 });
    build.after(20_000);
    expect(build.outcome('a')).toBeNull();
    build.says('a', 'Failed', text, { id: 'same', count: 5 });
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', cause: 'configError', exitCode: null });
  });

  test('3: an Event that tells of a time before the request does not count, however late it comes', () => {
    const build = TestBuild.ready();
    build.after(60_000);
    build.request('a');
    build.says('a', 'Failed', 'Error: secret "early" not found', { lastTimestamp: build.time(-30_000) });
    build.shows({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    build.after(3_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'unknown', retried: false, attempts: 1 });
  });

  test('4: without any Event the status alone leads to a verdict', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    build.after(3_000);
    expect(build.outcome('a')).toMatchObject({
      outcome: 'pullFailed',
      class: 'unknown',
      permanent: false,
      message: null,
    });
  });

  test('5: the placeholder seen running after Started is late news, no regression', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.says('a', 'Started', 'Container started');
    build.shows({ a: placeholder('P-a'), b: placeholder('P-b') });
    expect(build.state('a')).toBe('pending');
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    build.shows({ a: placeholder('P-a'), b: placeholder('P-b') }, { resourceVersion: '50' });
    expect(build.state('a')).toBe('running');
  });

  test('6: waiting → terminated, running placeholder → terminated step', () => {
    const direct = TestBuild.ready({ direct: true });
    direct.shows({ a: stepEnded('C-a', 0), b: waiting('ContainerCreating') });
    expect(direct.outcome('a')).toMatchObject(completed);

    const switched = TestBuild.ready();
    switched.request('a');
    switched.shows({ a: stepEnded('C-a', 3), b: placeholder('P-b') });
    expect(switched.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 3, cause: 'error' });
  });

  test('7: a placeholder that ended with 0 is never success, nor is a pod that Succeeded with it', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: placeholderEnded('P-a'), b: placeholderEnded('P-b') }, { phase: 'Succeeded' });
    build.after(3_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed' });
  });

  test('8: the terminal phase in the same object as the end: the container has its own end', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: stepEnded('C-a', 0), b: placeholderEnded('P-b') }, { phase: 'Succeeded' });
    expect(build.outcome('a')).toMatchObject(completed);
    expect(build.actors.pod.state).toBe('ending');
  });

  test('9: Failed without any status is a rejection; Failed with frozen running statuses is unknown', () => {
    const rejected = TestBuild.ready({ direct: true });
    rejected.shows(
      {},
      { phase: 'Failed', reason: 'OutOfcpu', message: 'Node did not have enough cpu', rejected: true },
    );
    expect(rejected.outcome('a')).toMatchObject({
      outcome: 'terminated',
      exitCode: null,
      cause: 'rejected',
      message: 'Node did not have enough cpu',
    });

    const frozen = TestBuild.ready();
    frozen.request('a');
    frozen.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Failed' });
    expect(frozen.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'unknown' });
  });

  test.each([true, false])(
    '10: gone without an end (last state known: %s): no exit code, and no success',
    (isKnown) => {
      const build = TestBuild.ready();
      build.request('a');
      build.shows({ a: step('C-a'), b: placeholder('P-b') });
      build.isGone({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' }, isKnown);
      expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'podDeleted' });
      expect(build.actors.container('b')).toMatchObject({ requested: false, outcome: null });
    },
  );

  test('12: cancel before the create, during a pull, and after the end', () => {
    const early = new TestBuild();
    early.actors.cancel('caller');
    expect(early.outcome('a')).toMatchObject({ outcome: 'canceled', reason: 'caller', phase: 'start' });

    const pulling = TestBuild.ready();
    pulling.request('a');
    pulling.says('a', 'Pulling', `Pulling image "${stepImage}"`);
    pulling.actors.cancel('timeout', 'pull');
    expect(pulling.outcome('a')).toMatchObject({ outcome: 'canceled', reason: 'timeout', phase: 'pull' });
    pulling.shows({ a: step('C-a'), b: placeholder('P-b') }, { deleted: { at: 30_000 } });
    pulling.shows(
      { a: stepEnded('C-a', 0), b: placeholderEnded('P-b') },
      { phase: 'Succeeded', deleted: { at: 30_000 } },
    );
    pulling.isGone();
    expect(pulling.outcome('a')).toMatchObject({ outcome: 'canceled', reason: 'timeout', phase: 'pull' });

    const ended = TestBuild.ready();
    ended.request('a');
    ended.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') });
    ended.actors.cancel('caller');
    expect(ended.outcome('a')).toMatchObject(completed);
    expect(ended.outcome('b')).toMatchObject({ outcome: 'canceled' });
  });

  test('13: waiting for a container that has ended, of a pod that is gone, resolves at once', async () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') });
    build.isGone();
    build.request('b');
    await expect(build.actors.settled('a')).resolves.toMatchObject(completed);
    await expect(build.actors.launched('b')).resolves.toMatchObject({ outcome: 'terminated', cause: 'podDeleted' });
    build.actors.close();
    await expect(build.actors.launched('a')).resolves.toMatchObject(completed);
  });

  test('16: no news for minutes after the patch is normal', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.says('a', 'Pulling', `Pulling image "${stepImage}"`);
    build.after(3_600_000);
    expect(build.state('a')).toBe('pulling');
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    expect(build.state('a')).toBe('running');
  });

  test('17: an end that is reported late carries its own times', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    build.after(600_000);
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') });
    expect(build.outcome('a')).toMatchObject({ startedAt: '2026-11-30T20:00:10Z', finishedAt: '2026-11-30T20:00:20Z' });
  });

  test('18: of two steps patched together the second waits for the first one’s pull', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.request('b');
    build.shows({ a: placeholder('P-a'), b: placeholder('P-b') });
    build.after(120_000);
    build.shows({ a: stepEnded('C-a', 0), b: step('C-b') });
    expect(build.outcome('a')).toMatchObject(completed);
    expect(build.state('b')).toBe('running');
  });

  test('19: a restarted kubelet forgets its reasons and begins Event counts anew; the grace goes on', () => {
    const build = TestBuild.ready({ restartOn: 213 });
    build.request('a');
    build.shows({
      a: waiting('ErrImagePull', `${stepImage}: not found`, { containerID: 'P-a' }),
      b: placeholder('P-b'),
    });
    build.after(5_000);
    build.shows({ a: waiting('ContainerCreating', undefined, { containerID: 'P-a' }), b: placeholder('P-b') });
    build.after(10_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
  });

  test('20: a node that is only silent is waited for; one whose pod is taken off is lost at once', () => {
    const silent = [condition('Ready', 'False'), condition('ContainersReady', 'True')];
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' });
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running', conditions: silent });
    build.after(299_000);
    expect(build.state('a')).toBe('running');
    const taken = [...silent, condition('DisruptionTarget', 'True', 'DeletionByTaintManager')];
    build.shows(
      { a: step('C-a'), b: placeholder('P-b') },
      { phase: 'Running', conditions: taken, deleted: { at: 30_000 } },
    );
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'nodeLost' });
  });

  test('20: a node that stays silent for five minutes is lost, and one that answers is not', () => {
    const silent = [condition('Ready', 'False'), condition('ContainersReady', 'True')];
    const lost = TestBuild.ready({ direct: true });
    lost.shows({ a: step('C-a', { restartCount: 0 }), b: waiting('ContainerCreating') }, { conditions: silent });
    lost.after(300_000);
    expect(lost.outcome('a')).toMatchObject({ outcome: 'terminated', cause: 'nodeLost' });
    expect(lost.outcome('b')).toMatchObject({ outcome: 'terminated', cause: 'nodeLost' });

    const back = TestBuild.ready({ direct: true });
    back.shows({ a: step('C-a'), b: waiting('ContainerCreating') }, { conditions: silent });
    back.after(200_000);
    back.shows({ a: step('C-a'), b: waiting('ContainerCreating') }, { conditions: [condition('Ready', 'True')] });
    back.after(3_600_000);
    expect(back.state('a')).toBe('running');
  });

  test('20: a deletion whose grace is over on a silent node is loss', () => {
    const silent = [condition('Ready', 'False'), condition('ContainersReady', 'True')];
    const build = TestBuild.ready();
    build.request('a');
    build.shows(
      { a: step('C-a'), b: placeholder('P-b') },
      { phase: 'Running', conditions: silent, deleted: { at: 30_000 } },
    );
    build.after(29_000);
    expect(build.state('a')).toBe('running');
    build.after(1_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'nodeLost' });
  });

  test.each([
    ['evicted', { reason: 'Evicted', phase: 'Failed' }],
    ['preempted', { reason: 'Preempting', phase: 'Failed' }],
    ['nodeShutdown', { reason: 'Terminated', phase: 'Failed' }],
    ['deadlineExceeded', { reason: 'DeadlineExceeded', phase: 'Failed' }],
    [
      'preempted',
      { conditions: [condition('DisruptionTarget', 'True', 'PreemptionByScheduler')], deleted: { at: 30_000 } },
    ],
    [
      'evicted',
      { conditions: [condition('DisruptionTarget', 'True', 'EvictionByEvictionAPI')], deleted: { at: 30_000 } },
    ],
    ['nodeLost', { conditions: [condition('DisruptionTarget', 'True', 'DeletionByPodGC')], phase: 'Failed' }],
    ['podDeleted', { deleted: { at: 30_000 } }],
  ])('21: an end with 0 that came by the pod’s end is %s, not success', (cause, change) => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' });
    build.after(10_000);
    build.shows({ a: stepEnded('C-a', 0), b: placeholderEnded('P-b') }, { phase: 'Succeeded', ...change });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 0, cause });
  });

  test.each([
    ['while it was shown running', { seen: true, lostAt: '2026-11-30T20:00:20Z', cause: 'unknown' }],
    ['a second before it ended', { seen: false, lostAt: '2026-11-30T20:00:19Z', cause: 'unknown' }],
    [
      'in the second in which it ended, which proves nothing',
      { seen: false, lostAt: '2026-11-30T20:00:20Z', cause: 'completed' },
    ],
    [
      'after it had ended, as at every natural end',
      { seen: false, lostAt: '2026-11-30T20:00:21Z', cause: 'completed' },
    ],
    [
      'before it began, which was the wait for the sandbox',
      { seen: false, lostAt: '2026-11-30T20:00:05Z', cause: 'completed' },
    ],
  ])('21: an end with 0 in a pod whose sandbox died %s', (_, { seen, lostAt, cause }) => {
    const build = TestBuild.ready();
    build.request('a');
    const dead = { phase: 'Running', conditions: [condition('PodReadyToStartContainers', 'False', undefined, lostAt)] };
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, seen ? dead : { phase: 'Running' });
    build.after(10_000);
    build.shows({ a: stepEnded('C-a', 0), b: placeholderEnded('P-b') }, { ...dead, phase: 'Succeeded' });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 0, cause });
  });

  const end = (id: string, finishedAt: string): ContainerState => ({
    terminated: { exitCode: 0, reason: 'Completed', containerID: id, startedAt: '2026-11-30T20:00:01Z', finishedAt },
  });
  const lost = '2026-11-30T20:00:20Z';
  test.each([
    ['another container still ran', 'b', step('C-b'), 'unknown'],
    ['another was stopped a second later', 'b', step('C-b', { state: end('C-b', '2026-11-30T20:00:21Z') }), 'unknown'],
    ['a placeholder was stopped with it', null, placeholderEnded('P-b', 0, { state: end('P-b', lost) }), 'unknown'],
    ['another had ended', 'b', step('C-b', { state: end('C-b', '2026-11-30T20:00:19Z') }), 'completed'],
    ['another ended too, as the last ones of a pod may', 'b', step('C-b', { state: end('C-b', lost) }), 'completed'],
  ])('21: an end with 0 in the second in which the sandbox died, where %s: %#', (_, asked, b, cause) => {
    const build = TestBuild.ready();
    build.request('a');
    if (asked !== null) build.request(asked);
    const dead = [condition('PodReadyToStartContainers', 'False', undefined, lost)];
    build.shows({ a: stepEnded('C-a', 0), b }, { phase: 'Running', conditions: dead });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 0, cause });
  });

  test('22: 137 is out of memory, a kill, or invented: three verdicts', () => {
    const verdict = (shown: ReturnType<typeof stepEnded>): unknown => {
      const build = TestBuild.ready();
      build.request('a');
      build.shows({ a: step('C-a'), b: placeholder('P-b') });
      build.shows({ a: shown, b: placeholder('P-b') });
      return build.outcome('a');
    };
    expect(verdict(stepEnded('C-a', 137, 'OOMKilled'))).toMatchObject({ exitCode: 137, cause: 'oomKilled' });
    expect(verdict(stepEnded('C-a', 137, 'Error'))).toMatchObject({ exitCode: 137, cause: 'error' });
    expect(verdict(invented())).toMatchObject({ exitCode: null, cause: 'unknown' });
  });

  test('23: the deletion time lies in the future; an end more than the clocks’ difference before its begin is natural', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' });
    build.after(60_000);
    build.shows(
      { a: stepEnded('C-a', 0), b: placeholder('P-b') },
      { phase: 'Running', deleted: { at: 30_000, grace: 30 } },
    );
    expect(build.outcome('a')).toMatchObject(completed);

    const shortened = TestBuild.ready();
    shortened.request('a');
    shortened.shows({ a: step('C-a'), b: placeholder('P-b') }, { phase: 'Running' });
    shortened.after(60_000);
    shortened.shows(
      { a: stepEnded('C-a', 0), b: placeholder('P-b') },
      { phase: 'Running', deleted: { at: 0, grace: 0 } },
    );
    expect(shortened.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
  });

  test('24: after a relist any state may follow any other', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: stepEnded('C-a', 0), b: stepEnded('C-b', 1) }, { phase: 'Failed' });
    expect(build.outcome('a')).toMatchObject(completed);
    build.request('b');
    expect(build.outcome('b')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'placeholderLost' });
  });

  test('25: an equal or older version changes nothing', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') }, { resourceVersion: '1000' });
    const changes = build.changes.length;
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { resourceVersion: '1000' });
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { resourceVersion: '999' });
    expect(build.state('a')).toBe('running');
    expect(build.changes).toHaveLength(changes);
  });
});
