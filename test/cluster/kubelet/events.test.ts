/** The lossy way of the kubelet's Events: counts, aggregation, budget. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Anything, aPod, strategic } from '../memory-client.ts';
import { allRun, containerOf, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

async function placeholders(profile: '1.31' | '1.36', count: number): Promise<Stand> {
  const stand = await startStand({ profile });
  const containers = Array.from({ length: count }, (_, at) => ({ name: `c${at}`, image: 'lab.local/placeholder:1' }));
  await stand.send('POST', pods, aPod('p', { containers }));
  await stand.podWhen('p', allRun);
  await stand.pass(2_000);
  return stand;
}

async function list(stand: Stand, selector: string): Promise<Anything[]> {
  return (await stand.send('GET', `${events}?fieldSelector=${encodeURIComponent(selector)}`)).body.items;
}

async function run(stand: Stand, name: string, image: string): Promise<void> {
  await stand.send('PATCH', `${pods}/p`, { spec: { containers: [{ name, image }] } }, strategic);
  await stand.podWhen('p', (pod) => containerOf(pod, name)?.state.terminated !== undefined);
  await stand.pass(3_000);
}

test('what is said again is counted in the same object', async () => {
  const stand = await placeholders('1.36', 1);
  await run(stand, 'c0', 'lab.local/step:1');
  const created = await list(stand, 'reason=Created');
  expect(created.map(({ count, message }) => [count, message])).toEqual([[2, 'Container created']]);
});

test('from the tenth similar message on one object stands for all of them', async () => {
  const stand = await placeholders('1.31', 8);
  for (let at = 0; at < 3; at += 1) await run(stand, `c${at}`, `lab.local/next:1`);
  const created = await list(stand, 'reason=Created');
  expect(created.map(({ message }) => message)).toContain('Created container: c0');
});

describe('the budget of 25', () => {
  const warnings = async (profile: '1.31' | '1.36'): Promise<number> => {
    const stand = await placeholders(profile, 8);
    for (let at = 0; at < 3; at += 1) await run(stand, `c${at}`, 'lab.local/next:1');
    await run(stand, 'c7', 'localhost:5000/step:none');
    const normal = await list(stand, 'type=Normal,source=kubelet');
    const counted = normal.reduce((sum, { count }) => sum + count, 0);
    expect(counted).toBe(25);
    return (await list(stand, 'type=Warning')).length;
  };

  test('is one for all types up to 1.31: warnings are lost with the rest', async () => {
    expect(await warnings('1.31')).toBe(0);
  });

  test('is one for each type since: the warnings of a failed pull come through', async () => {
    expect(await warnings('1.36')).toBe(2);
  });
});
