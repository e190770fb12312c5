/** Lifecycle hooks: run in the container, waited for, and told when they fail. */
import { afterEach, describe, expect, test } from 'vitest';
import { labLives, type MatchedLife, type Played } from '../../../src/cluster/index.ts';
import { type Anything, aPod, strategic } from '../memory-client.ts';
import { allRun, containerOf, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const hook = (command: string, life: Omit<MatchedLife, 'match'>): MatchedLife => ({
  match: { exec: true, command },
  ...life,
});
const exec = (command: string): object => ({ exec: { command: ['sh', '-c', command] } });

interface Scene extends Stand {
  readonly played: Played[];
  /** Reasons of the Warnings and of the Killing of the pod, in the order of their names. */
  told(): Promise<string[]>;
}

async function scene(...lives: MatchedLife[]): Promise<Scene> {
  const played: Played[] = [];
  const stand = await startStand({ lives: [...lives, ...labLives()], onPlayed: (one) => played.push(one) });
  const told = async (): Promise<string[]> => {
    const { body } = await stand.send('GET', events);
    const shown = body.items.filter(({ type, reason }: Anything) => type === 'Warning' || reason === 'Killing');
    return shown.map(({ reason, message }: Anything) => `${reason}: ${message}`).sort();
  };
  return { ...stand, played, told };
}

const aContainer = (lifecycle: object, image = 'lab.local/forever:1'): object => ({ name: 'a', image, lifecycle });

describe('after the start', () => {
  test('the hook is waited for before the next container starts, and before the status says that it runs', async () => {
    const { send, podWhen, played, told } = await scene(hook('prepare', { runs: 4_000 }));
    const containers = [aContainer({ postStart: exec('prepare') }), { name: 'b', image: 'lab.local/forever:1' }];
    await send('POST', pods, aPod('p', { containers }));
    await podWhen('p', allRun);
    const [first, second] = played.filter(({ what }) => what === 'started');
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(4_000);
    expect(await told()).toEqual([]);
  });

  test('one that fails ends the container, and the pod when it may not restart', async () => {
    const { send, podWhen, told } = await scene(
      hook('broken', { exitCode: 3, output: [{ at: 0, text: 'no disk\n' }] }),
    );
    await send('POST', pods, aPod('p', { containers: [aContainer({ postStart: exec('broken') })] }));
    const pod = await podWhen('p', ({ status }) => status.phase === 'Failed');
    expect(containerOf(pod, 'a').state.terminated).toMatchObject({ exitCode: 9 });
    expect(await told()).toEqual(['FailedPostStartHook: PostStartHook failed', 'Killing: FailedPostStartHook']);
  });

  test('one that fails is why a container that may restart waits', async () => {
    const { send, podWhen } = await scene(hook('broken', { exitCode: 3, output: [{ at: 0, text: 'no disk\n' }] }));
    const spec = { restartPolicy: 'Always' };
    await send('POST', pods, aPod('p', { containers: [aContainer({ postStart: exec('broken') })], spec }));
    const pod = await podWhen('p', (one) => containerOf(one, 'a')?.state.waiting?.reason === 'PostStartHookError');
    expect(containerOf(pod, 'a').state.waiting.message).toBe(
      `Exec lifecycle hook ([sh -c broken]) for Container "a" in Pod "p_default(${pod.metadata.uid})" failed - ` +
        `error: command 'sh -c broken' exited with 3: no disk\n, message: "no disk\\n"`,
    );
  });
});

describe('before the stop', () => {
  async function stopped(
    lifecycle: object,
    graceSeconds: number,
    ...lives: MatchedLife[]
  ): Promise<Scene & { tookMs: number }> {
    const found = await scene(...lives);
    const { send, podWhen, pass, clock, played } = found;
    const spec = { terminationGracePeriodSeconds: graceSeconds };
    await send('POST', pods, aPod('p', { containers: [aContainer(lifecycle)], spec }));
    await podWhen('p', allRun);
    await pass(2_000);
    const from = clock.now();
    await send('DELETE', `${pods}/p`);
    await pass(60_000);
    const end = played.find(({ what }) => what === 'ended');
    return { ...found, tookMs: (end?.at ?? 0) - from };
  }

  test('the hook has its time, then the container is asked to end', async () => {
    const { tookMs, told, played } = await stopped({ preStop: exec('drain') }, 30, hook('drain', { runs: 5_000 }));
    expect(tookMs).toBeGreaterThan(5_000);
    expect(tookMs).toBeLessThan(6_000);
    expect(played.at(-1)).toMatchObject({ what: 'ended', by: 'request' });
    expect(await told()).toEqual(['Killing: Stopping container a']);
  });

  test('a sleep is a hook', async () => {
    const { tookMs } = await stopped({ preStop: { sleep: { seconds: 7 } } }, 30);
    expect(tookMs).toBeGreaterThan(7_000);
    expect(tookMs).toBeLessThan(8_000);
  });

  test('a hook that takes all the grace leaves the least there is, and is not said to have failed', async () => {
    const trap: MatchedLife = { match: { container: 'a' }, runs: 'forever', onTerm: 'ignore' };
    const { tookMs, told, played } = await stopped(
      { preStop: exec('hang') },
      10,
      hook('hang', { runs: 'forever' }),
      trap,
    );
    expect(tookMs).toBeGreaterThan(11_900);
    expect(tookMs).toBeLessThan(12_500);
    expect(played.at(-1)).toMatchObject({ what: 'ended', by: 'force' });
    expect(await told()).toEqual(['Killing: Stopping container a']);
  });

  test('one that fails is told, and the container is ended all the same', async () => {
    const { told, tookMs } = await stopped({ preStop: exec('broken') }, 30, hook('broken', { exitCode: 1 }));
    expect(tookMs).toBeLessThan(1_000);
    expect(await told()).toEqual(['FailedPreStopHook: PreStopHook failed', 'Killing: Stopping container a']);
  });

  test('the switch of an image waits for it, too', async () => {
    const { send, podWhen, pass, played } = await scene(hook('drain', { runs: 3_000 }));
    await send('POST', pods, aPod('p', { containers: [aContainer({ preStop: exec('drain') })] }));
    await podWhen('p', allRun);
    await pass(2_000);
    await send('PATCH', `${pods}/p`, { spec: { containers: [{ name: 'a', image: 'lab.local/next:1' }] } }, strategic);
    await podWhen('p', (pod) => containerOf(pod, 'a').restartCount === 1);
    const [, end] = played;
    expect(end).toMatchObject({ what: 'ended', by: 'request' });
    expect((end?.at ?? 0) - (played[0]?.at ?? 0)).toBeGreaterThan(5_000);
  });
});
