/** A node's clock may be wrong; nothing on it is older than its pod, which tells by how much it is behind. */
import { expect, test } from 'vitest';
import { initialFacts, nodeBehindMs } from '../../src/pod/facts.ts';
import type { ContainerState } from '../../src/pod/types.ts';
import { condition, placeholder, placeholderEnded, step, stepEnded, TestBuild } from '../helpers/build.ts';

const behind = { state: { running: { startedAt: '2026-11-30T19:59:40Z' } } };

function endedAt(build: TestBuild, ms: number, startedAt: string | null = null): ReturnType<typeof placeholderEnded> {
  const terminated = { exitCode: 0, containerID: 'P-a', startedAt, finishedAt: build.time(ms) };
  return placeholderEnded('P-a', 0, { state: { terminated } });
}

function endedFrom(startedAt: string | null, finishedAt: string | null, containerID = 'C-a'): ContainerState {
  return { terminated: { exitCode: 0, containerID, startedAt, finishedAt } };
}

test('a placeholder that was seen to wait after the request ended by the switch, whatever its clock says', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.after(60_000);
  build.request('a');
  build.shows({ a: placeholder('P-a') });
  build.shows({ a: endedAt(build, -30_000) });
  expect(build.outcome('a')).toBeNull();
  build.shows({ a: step('C-a') });
  expect(build.outcome('a')).toMatchObject({ outcome: 'running' });
});

test('one that was not seen then is judged by a clock that is put right', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.shows({ a: placeholder('P-a', behind) });
  build.after(60_000);
  build.request('a');
  build.shows({ a: endedAt(build, -18_000, '2026-11-30T19:59:40Z') });
  expect(build.outcome('a')).toBeNull();
});

test('and one that ended long before the request is lost', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.after(60_000);
  build.request('a');
  build.shows({ a: endedAt(build, -30_000) });
  expect(build.outcome('a')).toMatchObject({ exitCode: null, cause: 'placeholderLost' });
});

test('an end with 0 after the deletion began is no success on a node that is behind', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.shows({ a: step('C-a', behind) }, { phase: 'Running' });
  build.after(60_000);
  const terminated = {
    exitCode: 0,
    containerID: 'C-a',
    startedAt: '2026-11-30T19:59:40Z',
    finishedAt: build.time(-15_000),
  };
  const ended = stepEnded('C-a', 0, undefined, { state: { terminated } });
  build.shows({ a: ended }, { phase: 'Running', deleted: { at: 30_000, grace: 30 } });
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test('nor on one whose pod waited long for it, so that only its binding tells', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  const conditions = [condition('PodScheduled', 'True', undefined, build.time(600_000))];
  build.after(600_000);
  build.request('a');
  const startedAt = build.time(-15_000);
  build.shows({ a: placeholder('P-a', { state: { running: { startedAt } } }) }, { phase: 'Running', conditions });
  build.shows(
    {
      a: stepEnded('C-a', 0, undefined, {
        lastState: endedFrom(startedAt, null, 'P-a'),
        state: endedFrom(null, build.time(-3_000)),
      }),
    },
    { phase: 'Running', conditions, deleted: { at: 30_000, grace: 30 } },
  );
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test('nor on one whose clock was set back while the pod ran, so that only the step’s own begin tells', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.after(60_000);
  build.request('a');
  const startedAt = build.time(-20_000);
  build.after(30_000);
  build.shows(
    { a: stepEnded('C-a', 0, undefined, { state: endedFrom(startedAt, build.time(-18_000)) }) },
    { phase: 'Running', deleted: { at: 30_000, grace: 30 } },
  );
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test('nor one that ended before it began', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.after(60_000);
  build.request('a');
  build.after(30_000);
  build.shows(
    { a: stepEnded('C-a', 0, undefined, { state: endedFrom(build.time(-29_000), build.time(-31_000)) }) },
    { phase: 'Running', deleted: { at: 30_000, grace: 30 } },
  );
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test('but it is success where the clock is right and the end came in time', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.after(60_900);
  build.request('a');
  const startedAt = build.time();
  build.after(30_000);
  build.shows(
    { a: stepEnded('C-a', 0, undefined, { state: endedFrom(startedAt, build.time(-3_000)) }) },
    { phase: 'Running', deleted: { at: 30_000, grace: 30 } },
  );
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
});

test('a container that never started says nothing of the clock', () => {
  const build = new TestBuild({ containers: ['a'] });
  const terminated = { exitCode: 128, containerID: 'C', startedAt: '1970-01-01T00:00:00Z', finishedAt: null };
  expect(nodeBehindMs(initialFacts(['a']), build.pod({ a: step('C', { state: { terminated } }) }))).toBe(0);
  expect(nodeBehindMs(initialFacts(['a']), build.pod({ a: step('C', behind) }))).toBe(20_000);
});

test('an Event after the request counts although its node is behind, and one from before does not', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.shows({ a: placeholder('P-a', behind) });
  build.after(60_000);
  build.request('a');
  const text = 'Error: secret "s" not found';
  build.says('a', 'Failed', text, { lastTimestamp: build.time(-30_000) });
  build.after(20_000);
  expect(build.outcome('a')).toBeNull();
  build.says('a', 'Failed', text, { lastTimestamp: build.time(-38_000) });
  build.after(15_000);
  expect(build.outcome('a')).toMatchObject({ cause: 'configError' });
});
