import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { BuildActors } from '../../src/runtime/actors.ts';
import { placeholder, placeholderEnded, step, stepEnded, stepImage, TestBuild, waiting } from '../helpers/build.ts';

const running = { a: step('C-a'), b: placeholder('P-b') };
const ended = { a: stepEnded('C-a', 0), b: placeholder('P-b') };

describe('waiting for a container', () => {
  test('launched resolves when it runs, settled when it ends; both again for whoever comes late', async () => {
    const build = TestBuild.ready();
    build.request('a');
    const launched = build.actors.launched('a');
    const settled = build.actors.settled('a');
    build.shows(running);
    await expect(launched).resolves.toMatchObject({ outcome: 'running', startedAt: '2026-11-30T20:00:10Z' });
    build.shows(ended);
    await expect(settled).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
    await expect(build.actors.launched('a')).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
    await expect(build.actors.settled('a')).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
  });

  test('launched resolves with the end of a step that was never seen running', async () => {
    const build = TestBuild.ready();
    build.request('a');
    const launched = build.actors.launched('a');
    build.shows(ended);
    await expect(launched).resolves.toMatchObject({ outcome: 'terminated', exitCode: 0 });
  });

  test('launched resolves with pullFailed and with canceled', async () => {
    const failed = TestBuild.ready();
    failed.request('a');
    const launched = failed.actors.launched('a');
    failed.shows({ a: placeholderEnded('P-a'), b: placeholder('P-b') });
    failed.after(3_000);
    await expect(launched).resolves.toMatchObject({ outcome: 'pullFailed' });

    const canceled = TestBuild.ready();
    const waits = [canceled.actors.launched('a'), canceled.actors.settled('b')];
    canceled.actors.cancel('caller');
    await expect(Promise.all(waits)).resolves.toMatchObject([{ outcome: 'canceled' }, { outcome: 'canceled' }]);
  });

  test('a cancel of one container leaves the others', async () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows(running);
    build.actors.cancel('timeout', 'run', 'a');
    await expect(build.actors.settled('a')).resolves.toMatchObject({
      outcome: 'canceled',
      reason: 'timeout',
      phase: 'run',
    });
    expect(build.actors.container('b').outcome).toBeNull();
    expect(build.actors.state).toBe('running');
  });

  test('an aborted signal ends that wait only', async () => {
    const build = TestBuild.ready();
    const abort = new AbortController();
    const left = build.actors.settled('a', { signal: abort.signal });
    const stays = build.actors.settled('a');
    abort.abort(new Error('enough'));
    await expect(left).rejects.toThrow('enough');
    build.actors.cancel('caller');
    await expect(stays).resolves.toMatchObject({ outcome: 'canceled' });
  });

  test('a build that could not be assembled rejects every wait, also later ones, with its error', async () => {
    const build = new TestBuild();
    build.actors.assembling();
    const wait = build.actors.launched('a');
    build.actors.failed(new Error('no quota'));
    await expect(wait).rejects.toThrow('no quota');
    await expect(build.actors.settled('b')).rejects.toThrow('no quota');
    expect(build.actors.state).toBe('errored');
  });

  test('close rejects what waits, keeps what is decided, and leaves no timer', async () => {
    const build = TestBuild.ready({ restartOn: 213 });
    build.request('a');
    build.shows({ a: waiting('ErrImagePull', 'not found', { containerID: 'P-a' }), b: placeholder('P-b') });
    expect(build.clock.nextAt).toBeDefined();
    const wait = build.actors.settled('a');
    build.actors.close();
    await expect(wait).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_STOPPED' });
    expect(build.clock.nextAt).toBeUndefined();
    expect(build.actors.container('a')).toMatchObject({ state: 'pulling', requested: true });
    build.shows(ended);
    build.actors.cancel('caller');
    build.actors.close();
    expect(build.actors.container('a').state).toBe('pulling');
  });

  test('an unknown container is refused with the names there are', () => {
    expect(() => TestBuild.ready().actors.request('z', stepImage)).toThrow(/no container z/);
  });

  test('a thousand waits on one signal leave no listener behind and warn of nothing', async () => {
    const build = TestBuild.ready();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const waits = Array.from({ length: 1_000 }, () =>
      build.actors.settled('a', { signal: new AbortController().signal }),
    );
    build.actors.cancel('caller');
    await Promise.all(waits);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('settles in every interleaving of observations and cancel', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const build = TestBuild.ready();
        build.request('a');
        const run = (label: string, act: () => void): void =>
          void scheduler.schedule(Promise.resolve(label), label).then(act);
        run('running', () => build.shows(running, { resourceVersion: '1000' }));
        run('ended', () => build.shows(ended, { resourceVersion: '1001' }));
        run('cancel', () => build.actors.cancel('caller'));
        run('gone', () => build.isGone(ended, { resourceVersion: '1002' }));
        const outcomes = Promise.all([build.actors.launched('a'), build.actors.settled('a')]);
        await scheduler.waitAll();
        const [launched, settled] = await outcomes;
        expect(settled).toEqual(build.outcome('a'));
        expect(['running', settled.outcome]).toContain(launched.outcome);
        expect(build.invariants.breaches).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

describe('what a build tells of itself', () => {
  test('every transition once, in order, with the outcome', () => {
    const build = TestBuild.ready();
    build.request('a');
    build.shows(running, { phase: 'Running' });
    build.shows(ended, { phase: 'Running' });
    build.actors.conclude('succeeded');
    build.isGone();
    build.actors.removed();
    expect(build.changes.map(({ actor, previous, state }) => `${actor}: ${previous} → ${state}`)).toEqual([
      'build: setup → assembling',
      'pod: creating → pending',
      'build: assembling → running',
      'pod: pending → running',
      'container: pending → running',
      'container: running → terminated',
      'build: running → succeeded',
      'pod: running → gone',
      'build: succeeded → removed',
    ]);
    expect(build.changes.find(({ state }) => state === 'terminated')).toMatchObject({
      container: 'a',
      outcome: { exitCode: 0 },
    });
  });

  test('nothing any more to a listener that left', () => {
    const build = TestBuild.ready();
    let told = 0;
    const leave = build.actors.subscribe(() => told++);
    leave();
    build.actors.cancel('caller');
    expect(told).toBe(0);
  });

  test('the facts of a container that the runtime acts on', () => {
    const build = TestBuild.ready();
    expect(build.actors.container('a')).toMatchObject({
      requested: false,
      placeholderRunning: true,
      containerID: null,
    });
    build.request('a');
    build.shows(running);
    expect(build.actors.container('a')).toMatchObject({
      requested: true,
      placeholderRunning: false,
      containerID: 'C-a',
      restartCount: 1,
    });
    expect(build.actors.container('a').requestedAt).toBe(build.clock.now());
  });

  test('a build that is adopted has its verdicts from what is found', () => {
    const clock = new VirtualClock();
    const build = new TestBuild();
    const actors = new BuildActors({ id: 'found', containers: [{ name: 'a' }], clock });
    actors.assembling();
    actors.created(build.pod({ a: stepEnded('C-a', 0) }, { images: { a: stepImage } }), {
      placeholderImages: ['lab.local/placeholder:1'],
    });
    actors.request('a', stepImage);
    expect(actors.state).toBe('running');
    expect(actors.container('a').outcome).toMatchObject({ exitCode: 0, cause: 'completed' });
    actors.close();
  });

  test('of an adopted step whose request left no time, nothing in the pod is from before it', () => {
    const build = new TestBuild();
    build.after(600_000);
    const actors = new BuildActors({ id: 'found', containers: [{ name: 'a' }], clock: build.clock });
    const terminated = { exitCode: 0, containerID: 'P-a', finishedAt: build.time(-300_000) };
    const pod = build.pod({ a: placeholderEnded('P-a', 0, { state: { terminated } }) }, { images: { a: stepImage } });
    actors.assembling();
    actors.created(pod, {
      placeholderImages: ['lab.local/placeholder:1'],
      requested: [{ container: 'a', image: stepImage, at: null, placeholder: 'P-a' }],
    });
    build.after(3_000);
    expect(actors.container('a').outcome).toMatchObject({ outcome: 'pullFailed', retried: false });
    actors.close();
  });
});

describe('time, where the pod can be looked at', () => {
  /** A step whose pull failed for good, as far as the watch tells. */
  function failing(look: () => Promise<boolean>): TestBuild {
    const build = TestBuild.ready({ direct: true, look });
    build.shows({ a: waiting('ErrImagePull', 'not found'), b: waiting('ContainerCreating') });
    return build;
  }
  const looked = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  test('it decides nothing that the look does not bear out', async () => {
    const build = failing(async () => {
      build.shows({ ...running, b: waiting('ContainerCreating') });
      return true;
    });
    build.after(60_000);
    await looked();
    expect(build.state('a')).toBe('running');
    expect(build.clock.nextAt).toBeUndefined();
  });

  test('it decides once the look has shown nothing else', async () => {
    let looks = 0;
    const build = failing(async () => {
      looks++;
      return true;
    });
    build.after(14_999);
    await looked();
    expect(looks).toBe(0);
    build.after(1);
    await looked();
    expect(build.state('a')).toBe('pullFailed');
    expect(looks).toBe(1);
  });

  test('it waits as long as the server cannot be asked, and asks again every five seconds', async () => {
    let looks = 0;
    let isThere = false;
    const build = failing(async () => {
      looks++;
      return isThere;
    });
    for (let seconds = 0; seconds < 60; seconds++) {
      build.after(1_000);
      await looked();
    }
    expect(build.state('a')).toBe('pulling');
    expect(looks).toBe(10);
    isThere = true;
    build.after(5_000);
    await looked();
    expect(build.state('a')).toBe('pullFailed');
  });

  test('what is seen while it looks is believed, and a build that is closed meanwhile is left alone', async () => {
    const answer: { give?: (isKnown: boolean) => void } = {};
    const look = (): Promise<boolean> =>
      new Promise((resolve) => {
        answer.give = resolve;
      });
    const seen = failing(look);
    seen.after(20_000);
    seen.shows({ ...running, b: waiting('ContainerCreating') });
    expect(seen.state('a')).toBe('running');
    answer.give?.(true);
    await looked();
    expect(seen.state('a')).toBe('running');

    const closed = failing(look);
    closed.after(20_000);
    closed.actors.close();
    answer.give?.(true);
    await looked();
    expect(closed.state('a')).toBe('pulling');
    expect(closed.clock.nextAt).toBeUndefined();
  });
});

describe('time', () => {
  test('one timer serves a build; what is due is decided before a late observation is believed', () => {
    const build = TestBuild.ready({ direct: true });
    build.shows({ a: waiting('ErrImagePull', 'not found'), b: waiting('CreateContainerConfigError', 'no secret') });
    let timers = 0;
    const { clock } = build;
    const schedule = clock.schedule.bind(clock);
    clock.schedule = (delayMs, callback) => {
      timers++;
      return schedule(delayMs, callback);
    };
    build.after(14_999);
    expect(timers).toBe(0);
    build.after(1);
    expect(build.state('a')).toBe('pullFailed');
    expect(build.state('b')).toBe('terminated');
    expect(clock.nextAt).toBeUndefined();
  });

  test('a timer that fires late does not let a running step win over its grace', () => {
    const build = TestBuild.ready({ direct: true });
    build.shows({ a: waiting('ErrImagePull', 'not found'), b: waiting('ContainerCreating') });
    const { clock } = build;
    const now = clock.now();
    clock.now = () => now + 20_000;
    build.shows({ a: step('C-a'), b: waiting('ContainerCreating') });
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed' });
  });

  test('every grace can be set, to nothing too', () => {
    const none = { permanentMs: 0, transientMs: 0, causeMs: 0, configErrorMs: 0, createErrorMs: 0, nodeSilentMs: 0 };
    const build = TestBuild.ready({ direct: true, grace: none });
    build.shows({ a: waiting('ErrImagePull', '503 Service Unavailable'), b: waiting('CreateContainerError', 'x') });
    build.after(0);
    expect(build.outcome('a')).toMatchObject({ outcome: 'pullFailed' });
    expect(build.outcome('b')).toMatchObject({ cause: 'startError' });
  });
});
