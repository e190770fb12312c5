/**
 * What go-vela's worker tests of its Kubernetes containers (run, wait, inspect and its trackers), with the answers that
 * podwright gives: where the worker hangs or guesses, there is a value.
 */
import { describe, expect, test } from 'vitest';
import { placeholder, placeholderImage, step, stepEnded, stepImage, TestBuild, waiting } from '../helpers/build.ts';

const asked = (): TestBuild => {
  const build = TestBuild.ready();
  build.request('a');
  return build;
};

describe('run a container', () => {
  test('starts running', async () => {
    const build = asked();
    const launched = build.actors.launched('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    await expect(launched).resolves.toMatchObject({ outcome: 'running' });
  });

  test('build canceled', async () => {
    const build = asked();
    const launched = build.actors.launched('a');
    build.actors.cancel('caller');
    await expect(launched).resolves.toMatchObject({ outcome: 'canceled' });
  });

  test('image pull error', async () => {
    const build = asked();
    const launched = build.actors.launched('a');
    const text = `Failed to pull image "${stepImage}": not found`;
    build.says('a', 'Failed', text, { id: 'pull' });
    build.says('a', 'Failed', text, { id: 'pull', count: 2 });
    await expect(launched).resolves.toMatchObject({ outcome: 'pullFailed', class: 'notFound' });
  });

  test('unknown container', () => {
    expect(() => asked().actors.request('nobody', stepImage)).toThrow(
      expect.objectContaining({ code: 'ERR_PODWRIGHT_STATE' }),
    );
  });
});

describe('wait for a container', () => {
  test('that has terminated', async () => {
    const build = asked();
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') });
    await expect(build.actors.settled('a')).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
  });

  test('whose status comes in another place of the list', async () => {
    const build = asked();
    build.shows({ b: placeholder('P-b'), a: stepEnded('C-a', 0) });
    await expect(build.actors.settled('a')).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
  });

  test('that runs, and then terminates', async () => {
    const build = asked();
    const settled = build.actors.settled('a');
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    build.shows({ a: stepEnded('C-a', 1), b: placeholder('P-b') });
    await expect(settled).resolves.toMatchObject({ outcome: 'terminated', exitCode: 1 });
  });

  test('of a build that is canceled', async () => {
    const build = asked();
    const settled = build.actors.settled('a');
    build.actors.cancel('timeout', 'run');
    await expect(settled).resolves.toMatchObject({ outcome: 'canceled', reason: 'timeout' });
  });

  test('of a pod that is deleted before its status tells of an end', async () => {
    const build = asked();
    const settled = build.actors.settled('a');
    build.isGone({ a: step('C-a'), b: placeholder('P-b') });
    await expect(settled).resolves.toMatchObject({ outcome: 'terminated', exitCode: null, cause: 'podDeleted' });
  });

  test('unknown', async () => {
    await expect(asked().actors.settled('nobody')).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STATE' });
  });
});

describe('inspect a container', () => {
  test('that has terminated: its exit code', () => {
    const build = asked();
    build.shows({ a: stepEnded('C-a', 42), b: placeholder('P-b') });
    expect(build.actors.container('a')).toMatchObject({ state: 'terminated', outcome: { exitCode: 42 } });
  });

  test('that runs its own image: no exit code yet', () => {
    const build = asked();
    build.shows({ a: step('C-a'), b: placeholder('P-b') });
    expect(build.actors.container('a')).toMatchObject({ state: 'running', outcome: { outcome: 'running' } });
  });

  test.each([placeholderImage, `docker.io/${placeholderImage}`, 'another/alias:1'])(
    'that still runs its placeholder, reported as %s',
    (image) => {
      const build = asked();
      build.shows({ a: placeholder('P-a', { image }), b: placeholder('P-b') });
      expect(build.actors.container('a')).toMatchObject({ state: 'pending', outcome: null });
    },
  );

  test('unknown', () => {
    expect(() => asked().actors.container('nobody')).toThrow(/no container nobody/);
  });
});

describe('container statuses', () => {
  test('of a pending pod signal nothing', () => {
    const build = new TestBuild();
    build.create();
    build.shows({ a: waiting('ContainerCreating'), b: waiting('ContainerCreating') }, { phase: 'Pending' });
    expect(build.changes.filter(({ actor }) => actor === 'container')).toEqual([]);
  });

  test('of an untracked sidecar signal nothing', () => {
    const build = asked();
    build.shows({ a: placeholder('P-a'), b: placeholder('P-b'), sidecar: stepEnded('C-s', 1) });
    expect(build.changes.filter(({ actor }) => actor === 'container')).toEqual([]);
  });

  test('that wait with the message of a failed pull signal it', () => {
    const build = TestBuild.ready({ direct: true });
    build.shows({
      a: waiting('ImagePullBackOff', `Back-off pulling image "${stepImage}"`),
      b: waiting('ContainerCreating'),
    });
    expect(build.state('a')).toBe('pulling');
  });

  test('that are missing, or of another pod, signal nothing', () => {
    const build = asked();
    build.shows({}, { phase: 'Running' });
    build.shows({ a: stepEnded('C-a', 0) }, { uid: 'another' });
    build.isGone({ a: stepEnded('C-a', 0) }, { uid: 'another' });
    expect(build.actors.container('a')).toMatchObject({ state: 'pending', outcome: null });
  });
});
