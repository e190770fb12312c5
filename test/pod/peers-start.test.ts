/**
 * Faults that users of other runners reported, each with the number of its report in those projects: what became a
 * wrong verdict there, and what it is here. This file: what keeps a step from starting, and what starts.
 */
import { describe, expect, test } from 'vitest';
import { placeholder, placeholderEnded, step, stepEnded, stepImage, TestBuild, waiting } from '../helpers/build.ts';

const direct = (): TestBuild => TestBuild.ready({ direct: true, containers: ['a'] });
const switched = (): TestBuild => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  return build;
};

describe('a pull that fails', () => {
  test.each([
    ['woodpecker#4007, tekton#4890: InvalidImageName', 'InvalidImageName', 'invalidName'],
    ['actions-runner-controller#4654: ErrImageNeverPull', 'ErrImageNeverPull', 'neverPolicy'],
  ])('%s cannot recover and is final after its short grace', (_report, reason, failureClass) => {
    const build = direct();
    build.shows({ a: waiting(reason) });
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({
      outcome: 'pullFailed',
      class: failureClass,
      permanent: true,
      retried: true,
    });
  });

  test('tekton#5987, flyte#3843: a transient failure gets its grace, and heals within it', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImagePull', 'unexpected status: 503 Service Unavailable') });
    build.after(119_000);
    build.shows({ a: step('C-a', { restartCount: 0 }) });
    build.after(3_600_000);
    expect(build.state('a')).toBe('running');
  });

  test('tekton@de643de9d: the clock starts at the first failure, not when the pod was scheduled', () => {
    const build = direct();
    build.after(600_000);
    build.shows({ a: waiting('ErrImagePull', 'unexpected status: 503 Service Unavailable') });
    build.after(119_999);
    expect(build.state('a')).toBe('pulling');
    build.after(1);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'registryError', permanent: false });
  });

  test('pachyderm#4815, flyte#7362: a throttled pull is not the image’s fault', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImagePull', 'pull QPS exceeded') });
    build.shows({
      a: waiting('ImagePullBackOff', `Back-off pulling image "${stepImage}": ErrImagePull: 429 Too Many Requests`),
    });
    build.after(60_000);
    expect(build.state('a')).toBe('pulling');
    build.after(60_000);
    expect(build.outcome('a')).toMatchObject({ class: 'rateLimited', permanent: false });
  });

  test('kubernetes#119891: flips of the reason and growing counts do not reset the clock', () => {
    const build = direct();
    const text = 'unexpected status: 503 Service Unavailable';
    for (let flip = 0; flip < 6; flip++) {
      build.shows({ a: waiting(flip % 2 === 0 ? 'ErrImagePull' : 'ImagePullBackOff', text) });
      build.says('a', 'BackOff', `Back-off pulling image "${stepImage}"`, { id: 'back-off', count: flip + 1 });
      build.after(20_000);
    }
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'registryError', attempts: 3 });
  });

  test('kubernetes#66828, tekton#4895: the pod stays Pending for ever, the verdict does not wait for Failed', () => {
    const build = direct();
    build.shows({ a: waiting('ImagePullBackOff', `Back-off pulling image "${stepImage}"`) }, { phase: 'Pending' });
    build.after(120_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'unknown' });
  });

  test('kubernetes#83622: the image of an init container is looked at too', () => {
    const build = direct();
    const init = [{ name: 'prepare', state: { waiting: { reason: 'ErrImagePull', message: 'h/init:1: not found' } } }];
    build.shows({ a: waiting('PodInitializing') }, { init });
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'initFailed' });
  });

  test('jenkins kubernetes-plugin#2772: a reason without a message is enough', () => {
    const build = direct();
    build.shows({ a: { state: { waiting: { reason: 'ImagePullBackOff' } } } });
    expect(build.state('a')).toBe('pulling');
  });

  test('drone-runner-kube#37: the same failure after a switch, told by Events only', () => {
    const build = switched();
    build.says('a', 'Failed', 'Error: ErrImagePull');
    build.says(
      'a',
      'Failed',
      `Failed to pull image "${stepImage}": manifest for ${stepImage} not found: manifest unknown`,
    );
    build.shows({ a: placeholderEnded('P-a') });
    expect(build.outcome('a')).toMatchObject({
      outcome: 'pullFailed',
      class: 'notFound',
      permanent: true,
      retried: false,
    });
  });

  test('kubernetes#117717: a reason that nobody knew is handled by its kind and does not hang', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImageEnchanted', 'no wand') });
    expect(build.actors.container('a').waiting).toEqual({ reason: 'ErrImageEnchanted', message: 'no wand' });
    build.after(240_000);
    expect(build.outcome('a')).toMatchObject({
      outcome: 'terminated',
      exitCode: null,
      cause: 'startError',
      message: 'no wand',
    });
  });

  test('a reason that names no error only waits', () => {
    const build = direct();
    build.shows({ a: waiting('WaitingForTheMoon') });
    build.after(3_600_000);
    expect(build.state('a')).toBe('pending');
  });

  test('argo-cd#1365: once final it stays final, though the image comes and the container runs', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImagePull', `${stepImage}: not found`) });
    build.after(15_000);
    build.says('a', 'Pulled', `Successfully pulled image "${stepImage}" in 2s`);
    build.shows({ a: stepEnded('C-a', 0) });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
  });

  test('kube-state-metrics#356: BackOff alone proves that there was an attempt', () => {
    const build = direct();
    build.shows({
      a: waiting('ImagePullBackOff', `Back-off pulling image "${stepImage}": ErrImagePull: ${stepImage}: not found`),
    });
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound', attempts: 1 });
  });

  test('the same reason in one more version of the pod is not one more attempt', () => {
    const build = TestBuild.ready({ direct: true });
    const failing = waiting('ErrImagePull', `${stepImage}: not found`);
    build.shows({ a: failing, b: waiting('ContainerCreating') });
    build.shows({ a: failing, b: step('C-b', { restartCount: 0 }) });
    expect(build.state('a')).toBe('pulling');
    build.shows({ a: waiting('ImagePullBackOff'), b: step('C-b', { restartCount: 0 }) });
    build.shows({ a: failing, b: step('C-b', { restartCount: 0 }) });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound', attempts: 2 });
  });

  test('a class that turns from permanent to transient loses its short grace', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImagePull', `${stepImage}: not found`) });
    build.after(10_000);
    build.shows({ a: waiting('ImagePullBackOff', 'unexpected status: 503 Service Unavailable') });
    build.after(10_000);
    expect(build.state('a')).toBe('pulling');
  });

  test('progress forgets what failed before', () => {
    const build = direct();
    build.shows({ a: waiting('ErrImagePull', `${stepImage}: not found`) });
    build.after(14_000);
    build.says('a', 'Pulled', `Successfully pulled image "${stepImage}" in 2s`);
    build.after(60_000);
    expect(build.state('a')).toBe('pending');
  });
});

describe('a container that cannot be started', () => {
  test('tekton@264d5fa49, gitlab-runner!7014: a missing Secret fails in seconds, with its words', () => {
    const build = direct();
    build.shows({ a: waiting('CreateContainerConfigError', 'secret "s" not found') });
    build.after(15_000);
    expect(build.outcome('a')).toMatchObject({
      outcome: 'terminated',
      exitCode: null,
      cause: 'configError',
      message: 'secret "s" not found',
    });
  });

  test('a Secret that appears in time saves the step', () => {
    const build = direct();
    build.shows({ a: waiting('CreateContainerConfigError', 'secret "s" not found') });
    build.after(14_000);
    build.shows({ a: step('C-a', { restartCount: 0 }) });
    build.after(60_000);
    expect(build.state('a')).toBe('running');
  });

  test('a pull before every attempt does not forget the missing Secret', () => {
    const build = direct();
    for (let attempt = 1; attempt <= 3; attempt++) {
      build.says('a', 'Pulling', `Pulling image "${stepImage}"`, { id: 'pulling', count: attempt });
      build.says('a', 'Pulled', `Successfully pulled image "${stepImage}" in 1s`, { id: 'pulled', count: attempt });
      build.says('a', 'Failed', 'Error: secret "s" not found', { id: 'failed', count: attempt });
      build.after(5_000);
    }
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', cause: 'configError' });
  });

  test('flyte#1234, tekton#10326: CreateContainerError heals in two to three minutes and is given four', () => {
    const build = direct();
    build.shows({ a: waiting('CreateContainerError', 'failed to reserve container name: name is reserved for') });
    build.after(200_000);
    build.shows({ a: step('C-a', { restartCount: 0 }) });
    expect(build.state('a')).toBe('running');
  });

  test('microsoft/pai#3572: CreateContainerError that stays is a start error', () => {
    const build = direct();
    build.shows({ a: waiting('CreateContainerError', 'Cannot mkdir') });
    build.after(240_000);
    expect(build.outcome('a')).toMatchObject({
      outcome: 'terminated',
      exitCode: null,
      cause: 'startError',
      message: 'Cannot mkdir',
    });
  });

  test('argo#4599: waiting after running is not terminated', () => {
    const build = switched();
    build.shows({ a: step('C-a') });
    build.shows({ a: waiting('CreateContainerError', 'context deadline exceeded', { containerID: 'C-a' }) });
    expect(build.state('a')).toBe('running');
  });

  test('under a plain Never only an Event tells a configuration error from a failed pull', () => {
    const told = switched();
    told.says('a', 'Failed', "Error: couldn't find key k in ConfigMap n/c");
    told.shows({ a: placeholderEnded('P-a') });
    expect(told.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'configError' });

    const late = switched();
    late.shows({ a: placeholderEnded('P-a') });
    late.after(1_000);
    late.says('a', 'Failed', 'Error: container has runAsNonRoot and image will run as root');
    expect(late.outcome('a')).toMatchObject({ outcome: 'terminated', cause: 'configError' });

    const silent = switched();
    silent.shows({ a: placeholderEnded('P-a') });
    silent.after(3_000);
    expect(silent.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'unknown' });
  });

  test.each(['Create', 'Start'])('a hook of the kubelet before %s that fails is no failed pull', (what) => {
    const build = switched();
    build.says('a', 'Failed', `Internal Pre${what}Container hook failed: no more exclusive cores`);
    build.shows({ a: placeholderEnded('P-a') });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'startError' });
  });

  test('argo#14074, kubernetes#14491: a start error is an end, with exit code 128', () => {
    const build = switched();
    build.says('a', 'Failed', 'Error: failed to create containerd task: exec: "/nope": no such file');
    build.shows({ a: stepEnded('C-a', 128, 'StartError') });
    expect(build.outcome('a')).toMatchObject({ outcome: 'terminated', exitCode: 128, cause: 'startError' });
  });
});

describe('which image runs', () => {
  test('kubernetes#51017, drone-runner-kube#76: another tag of the same image is no reason to mistake anything', () => {
    const build = switched();
    build.shows({ a: placeholder('P-a', { image: 'docker.io/library/pause:latest' }) });
    expect(build.state('a')).toBe('pending');
    build.shows({ a: step('C-a', { image: 'docker.io/lab/placeholder:1' }) });
    expect(build.state('a')).toBe('running');
  });

  test('kubernetes#115199: where the placeholder was never seen, the digest of another container’s tells', () => {
    const build = new TestBuild({ containers: ['a', 'b'] });
    build.create();
    build.request('a');
    build.shows({ a: placeholder('P-a', { image: 'some/alias:2' }), b: placeholder('P-b') }, { phase: 'Running' });
    expect(build.state('a')).toBe('pending');
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
  });

  test('where no image tells anything, a restart does: the first instance was the placeholder', () => {
    const build = new TestBuild({ containers: ['a'] });
    build.create();
    build.request('a');
    build.shows({ a: stepEnded('X', 0, 'Completed', { image: 'some/alias:2', imageID: '', restartCount: 1 }) });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
  });

  test('an end that nobody can attribute is unknown, never success', () => {
    const build = new TestBuild({ containers: ['a'] });
    build.create();
    build.request('a');
    build.shows({ a: stepEnded('X', 0, 'Completed', { image: 'some/alias:2', imageID: '', restartCount: 0 }) });
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'unknown' });
  });

  test('a placeholder that died before its step was asked for is lost, whatever its code', () => {
    for (const code of [0, 137]) {
      const build = TestBuild.ready({ containers: ['a'] });
      build.shows({ a: placeholderEnded('P-a', code) });
      build.request('a');
      expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'placeholderLost' });
    }
  });

  test('a count alone proves nothing: restartCount 1 without a containerID is not the step', () => {
    const build = switched();
    build.shows(
      { a: waiting('ContainerCreating', undefined, { restartCount: 1 }) },
      { phase: 'Failed', reason: 'Evicted' },
    );
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'evicted' });
  });
});
