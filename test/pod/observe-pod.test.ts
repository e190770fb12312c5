import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { initialFacts } from '../../src/pod/facts.ts';
import { observePod, observeRequest } from '../../src/pod/observe-pod.ts';
import type { Pod } from '../../src/pod/types.ts';
import {
  placeholder,
  placeholderEnded,
  placeholderImage,
  step,
  stepEnded,
  stepImage,
  TestBuild,
  waiting,
} from '../helpers/build.ts';

describe('a version of the pod', () => {
  test('says nothing twice', () => {
    const build = TestBuild.ready();
    build.request('a');
    const facts = observeRequest({ ...initialFacts(['a', 'b']), uid: 'uid-1' }, 'a', stepImage, 0).facts;
    const first = observePod(facts, build.pod({ a: step('C-a') }), 1);
    const second = observePod(first.facts, build.pod({ a: step('C-a') }), 2);
    expect(first.messages.map(({ message }) => message.type)).toEqual(['container.running']);
    expect(second.messages).toEqual([]);
  });

  test('gives no message for a step that nobody asked for', () => {
    const build = TestBuild.ready();
    const facts = { ...initialFacts(['a', 'b']), uid: 'uid-1' };
    expect(observePod(facts, build.pod({ a: stepEnded('C-a', 0), b: waiting('ErrImagePull') }), 0).messages).toEqual(
      [],
    );
  });

  test('is read alike in any order of the containers, and leaves the facts before it as they were', () => {
    const build = TestBuild.ready();
    const start = { placeholderImages: [placeholderImage], sigtermCode: 0, retries: null };
    const facts = Object.freeze({ ...initialFacts(['a', 'b']), uid: 'uid-1', start });
    const pod = build.pod({ b: placeholder('P-b'), a: placeholder('P-a') });
    const after = observePod(facts, pod, 0).facts;
    expect(after.containers.get('a')?.placeholderIDs).toEqual(['P-a']);
    expect(after.containers.get('b')?.placeholderIDs).toEqual(['P-b']);
    expect(facts.containers.get('a')?.placeholderIDs).toEqual([]);
  });

  test('carries where its verdict comes from', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.after(1_234);
    build.shows({ a: stepEnded('C-a', 0), b: placeholder('P-b') }, { resourceVersion: '4711' });
    expect(build.outcome('a')).toMatchObject({
      provenance: { source: 'podStatus', resourceVersion: '4711', containerID: 'C-a', decidedAt: build.clock.now() },
    });
  });
});

describe('restart rules', () => {
  const kept = (): TestBuild => {
    const build = TestBuild.ready({ restartOn: 213 });
    build.request('a');
    return build;
  };

  test('kept by the server: a placeholder that ended by the switch is started again, so nothing is decided yet', () => {
    const build = kept();
    build.shows({ a: placeholderEnded('P-a', 213), b: placeholder('P-b') });
    build.after(60_000);
    expect(build.outcome('a')).toBeNull();
    const lastState = { terminated: { exitCode: 213, containerID: 'P-a' } };
    build.shows({ a: step('C-a', { lastState }), b: placeholder('P-b') });
    expect(build.state('a')).toBe('running');
  });

  test('dropped by the server: the same is final, and says that nobody tries again', () => {
    const build = TestBuild.ready({ restartOn: 213, rulesKept: false });
    build.request('a');
    build.says('a', 'Failed', `Failed to pull image "${stepImage}": not found`);
    build.shows({ a: placeholderEnded('P-a', 213), b: placeholder('P-b') });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'notFound', retried: false });
  });

  test('in a pod that has ended nothing is started again', () => {
    const build = kept();
    build.shows({ a: placeholderEnded('P-a', 213), b: placeholderEnded('P-b', 213) }, { phase: 'Failed' });
    build.after(3_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', retried: false });
  });

  test('a placeholder that ends with another code is lost', () => {
    const build = kept();
    build.shows({ a: placeholderEnded('P-a', 137), b: placeholder('P-b') });
    expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'placeholderLost' });
  });

  test('a placeholder that was restarted by them is no step', () => {
    const build = kept();
    const lastState = { terminated: { exitCode: 213, containerID: 'P-a' } };
    build.shows({ a: placeholder('P-a-2', { restartCount: 1, lastState }), b: placeholder('P-b') });
    expect(build.state('a')).toBe('pending');
    build.shows({ a: stepEnded('C-a', 0, undefined, { restartCount: 2 }), b: placeholder('P-b') });
    expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
  });

  test('CrashLoopBackOff between two pulls is neither an attempt nor progress', () => {
    const build = kept();
    const own = { containerID: 'P-a' };
    build.shows({ a: waiting('ErrImagePull', '503 Service Unavailable', own), b: placeholder('P-b') });
    build.after(40_000);
    build.shows({ a: waiting('CrashLoopBackOff', 'back-off 40s', own), b: placeholder('P-b') });
    build.after(80_000);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed', class: 'registryError', attempts: 1 });
  });
});

test('an image that fails before it was asked for is the placeholder’s own trouble', () => {
  const build = new TestBuild({ containers: ['a'] });
  build.create();
  build.shows({ a: waiting('ErrImagePull', 'lab.local/placeholder:1: not found') });
  build.request('a');
  build.shows({ a: waiting('ImagePullBackOff', 'Back-off pulling image "lab.local/placeholder:1": not found') });
  build.after(600_000);
  expect(build.state('a')).toBe('pending');
});

test('whatever a status holds, the projection does not throw and gives no success', () => {
  const text = fc.option(fc.constantFrom('', 'Completed', 'ErrImagePull', 'Evicted', 'Running', 'C-a', 'P-a'), {
    nil: undefined,
  });
  const terminated = fc.record({ exitCode: fc.integer(), reason: text, finishedAt: fc.option(fc.string()) });
  const state = fc.record({
    waiting: fc.option(fc.record({ reason: text })),
    running: fc.option(fc.record({})),
    terminated: fc.option(terminated),
  });
  const status = fc.record({
    name: fc.constantFrom('a', 'b'),
    state: fc.option(state),
    lastState: fc.option(state),
    imageID: text,
    image: text,
  });
  const pods = fc.record({
    phase: text,
    reason: text,
    containerStatuses: fc.option(fc.array(status)),
    initContainerStatuses: fc.option(fc.array(status)),
  });
  fc.assert(
    fc.property(fc.array(pods, { maxLength: 4 }), (statuses) => {
      let { facts } = observeRequest({ ...initialFacts(['a', 'b']), uid: 'u' }, 'a', stepImage, 0);
      for (const [index, value] of statuses.entries()) {
        const metadata = { name: 'p', namespace: 'n', uid: 'u', resourceVersion: String(index + 1) };
        const observed = observePod(facts, { metadata, status: value } as unknown as Pod, index);
        facts = observed.facts;
        for (const { message } of observed.messages) {
          // No containerID is ever given above, so nothing can be the step's own.
          if (message.type === 'container.terminated') expect(message.cause).not.toBe('completed');
        }
      }
    }),
  );
});
