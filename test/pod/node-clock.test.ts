/** A node's clock may be wrong; nothing on it is older than its pod, which tells by how much it is behind. */
import { expect, test } from 'vitest';
import { initialFacts, nodeBehindMs, wasClockSetBack } from '../../src/pod/facts.ts';
import type { ContainerState } from '../../src/pod/types.ts';
import {
  condition,
  initEnded,
  placeholder,
  placeholderEnded,
  type Shown,
  step,
  stepEnded,
  TestBuild,
} from '../helpers/build.ts';

const behind = { state: { running: { startedAt: '2026-11-30T19:59:40Z' } } };

function endedAt(build: TestBuild, ms: number, startedAt: string | null = null, id = 'P-a'): Shown {
  return placeholderEnded(id, 0, { state: endedFrom(startedAt, build.time(ms), id) });
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

/** It ended before it began: its node's clock went back by 3 s at least, and by 10 s really. */
function endedBeforeItBegan(build: TestBuild): Shown {
  return stepEnded('C-a', 1, undefined, { state: endedFrom(build.time(-5_000), build.time(-8_000)) });
}

test('a clock that was set back, as another container of the pod shows, proves no placeholder lost', () => {
  const build = TestBuild.ready({ containers: ['a', 'b'] });
  build.request('a');
  build.after(20_000);
  build.request('b');
  build.shows({ a: endedBeforeItBegan(build), b: endedAt(build, -10_000, null, 'P-b') }, { phase: 'Failed' });
  expect(build.outcome('b')).toBeNull();
  const text =
    'Failed to pull image "registry.example/step:1": pulling from host registry.example failed: 403 Forbidden';
  const creationTimestamp = build.time();
  build.says('b', 'Failed', text, { lastTimestamp: build.time(-10_000), creationTimestamp });
  expect(build.outcome('b')).toMatchObject({ outcome: 'pullFailed', class: 'denied' });
});

test('nor is one lost that is started again, as the step, whenever it ended', () => {
  const build = TestBuild.ready({ containers: ['a'], restartOn: 213 });
  build.after(60_000);
  build.request('a');
  const state = { terminated: { exitCode: 213, containerID: 'P-a', startedAt: null, finishedAt: build.time(-30_000) } };
  build.shows({ a: placeholderEnded('P-a', 213, { state }) }, { phase: 'Running' });
  expect(build.outcome('a')).toBeNull();
  build.shows({ a: step('C-a') }, { phase: 'Running' });
  expect(build.outcome('a')).toMatchObject({ outcome: 'running' });
});

test('nor does an end at the beginning of time', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.shows({ a: placeholderEnded('P-a', 0, { state: endedFrom(build.time(), '1970-01-01T00:00:00Z', 'P-a') }) });
  expect(build.outcome('a')).toBeNull();
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

test('nor where another container of the pod shows that the clock was set back', () => {
  const build = TestBuild.ready({ containers: ['a', 'b'] });
  build.request('a');
  build.request('b');
  const startedAt = build.time();
  build.after(60_000);
  const ended = stepEnded('C-b', 0, undefined, { state: endedFrom(startedAt, build.time(-10_000), 'C-b') });
  build.shows({ a: endedBeforeItBegan(build), b: ended }, { phase: 'Failed', deleted: { at: 30_000, grace: 30 } });
  expect(build.outcome('b')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test.each([
  ['podDeleted', 'well before what another had told', -13_000],
  ['completed', 'in the second before it, where both are true', -11_000],
])('and is %s where it ended %s while it was seen to run', (cause, _, endMs) => {
  const build = TestBuild.ready({ containers: ['a', 'b'] });
  build.request('a');
  build.request('b');
  const startedAt = build.time();
  build.after(60_000);
  const other = stepEnded('C-b', 1, undefined, { state: endedFrom(startedAt, build.time(-10_000), 'C-b') });
  build.shows({ a: step('C-a', { state: { running: { startedAt } } }), b: other }, { phase: 'Running' });
  const ended = stepEnded('C-a', 0, undefined, { state: endedFrom(startedAt, build.time(endMs)) });
  build.shows({ a: ended, b: other }, { phase: 'Failed', deleted: { at: 30_000, grace: 30 } });
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause });
});

test('nor one that ended at the beginning of time', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.after(30_000);
  const ended = stepEnded('C-a', 0, undefined, { state: endedFrom(null, '1970-01-01T00:00:00Z') });
  build.shows({ a: ended }, { phase: 'Running', deleted: { at: 30_000, grace: 30 } });
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

/** With 0, and half a minute before its pod was deleted if its clock were right; as a kubelet shows it at the end. */
function showsStopped(build: TestBuild): void {
  const ended = stepEnded('C-a', 0, undefined, { state: endedFrom(build.time(-60_000), build.time(-30_000)) });
  build.shows({ a: ended }, { phase: 'Running', deleted: { at: 30_000, grace: 30 } });
}

function runs(build: TestBuild): Shown {
  return step('C-a', { state: { running: { startedAt: build.time(-60_000) } } });
}

test.each([
  ['no success where a kubelet that knew of the deletion had shown it running', 3, 'podDeleted'],
  ['success where that kubelet did not know of it yet', 2, 'completed'],
  ['success where that kubelet is too old to tell what it knew', undefined, 'completed'],
] as const)('an end before the deletion, as the clock has it, is %s', (_, known, cause) => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.after(60_000);
  const observed = known === undefined ? {} : { observedGeneration: known };
  build.shows({ a: runs(build) }, { phase: 'Running', deleted: { at: 30_000, grace: 30 }, ...observed });
  showsStopped(build);
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause });
});

test('nor is it success where the kubelet told that it stops the step', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.after(60_000);
  build.shows({ a: runs(build) }, { phase: 'Running' });
  build.says('a', 'Killing', 'Stopping container a', { lastTimestamp: build.time(-90_000) });
  showsStopped(build);
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'podDeleted' });
});

test('but where it told that it stops the placeholder, or restarts it as the step', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.says('a', 'Killing', 'Stopping container a');
  build.after(60_000);
  build.shows({ a: runs(build) }, { phase: 'Running' });
  build.says('a', 'Killing', 'Container a definition changed, will be restarted');
  showsStopped(build);
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
});

test('and a stop that nothing else tells of takes nothing from an end with 0', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  build.request('a');
  build.shows({ a: step('C-a') }, { phase: 'Running' });
  build.says('a', 'Killing', 'Stopping container a');
  build.shows({ a: stepEnded('C-a', 0) }, { phase: 'Running' });
  expect(build.outcome('a')).toMatchObject({ exitCode: 0, cause: 'completed' });
});

test('it is success where the clock is right and the end came in time', () => {
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

test('what lies before what it follows shows that the clock was set back, and nothing else does', () => {
  const build = new TestBuild({ containers: ['a'] });
  const [early, late, never] = ['2026-11-30T20:00:05Z', '2026-11-30T20:00:06Z', '1970-01-01T00:00:00Z'];
  const shows = (state: ContainerState, lastState: ContainerState = {}): boolean =>
    wasClockSetBack(build.pod({ a: step('C-a', { state, lastState }) }));
  expect(shows(endedFrom(late, early))).toBe(true);
  expect(shows({ running: { startedAt: late } }, endedFrom(late, early))).toBe(true);
  expect(shows({ running: { startedAt: early } }, endedFrom(early, late))).toBe(true);
  expect(shows(endedFrom(null, early), endedFrom(null, late))).toBe(true);
  const init = [initEnded('init', 0, { startedAt: late, finishedAt: early })];
  expect(wasClockSetBack(build.pod({}, { init }))).toBe(true);

  expect(shows(endedFrom(early, late), endedFrom(early, early))).toBe(false);
  expect(shows({ running: { startedAt: late } }, endedFrom(never, early))).toBe(false);
  expect(shows(endedFrom(late, never))).toBe(false);
  expect(shows(endedFrom(never, null), endedFrom(early, late))).toBe(false);
  expect(wasClockSetBack(build.pod({}, { rejected: true }))).toBe(false);
});

test('an Event that the server had before the request does not count, although its node is ahead', () => {
  const build = TestBuild.ready({ containers: ['a'] });
  const creationTimestamp = build.time();
  build.after(10_000);
  build.request('a');
  const text = 'Error: secret "s" not found';
  build.says('a', 'Failed', text, { lastTimestamp: build.time(30_000), creationTimestamp });
  build.after(60_000);
  expect(build.outcome('a')).toBeNull();
  build.says('a', 'Failed', text, { lastTimestamp: build.time(30_000), creationTimestamp: build.time() });
  build.after(15_000);
  expect(build.outcome('a')).toMatchObject({ cause: 'configError' });
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
