/** Events go an hour after they were last written. */
import { afterEach, expect, test } from 'vitest';
import { aPod, merge } from './memory-client.ts';
import { events, pods, startStand, stopStands } from './stand.ts';

afterEach(stopStands);

test('an Event that is not written again goes after an hour, and watchers are told', async () => {
  const { send, watch, pass } = await startStand();
  await send('POST', pods, aPod('p'));
  await pass(10_000);
  const { frames } = watch(`${events}?timeoutSeconds=9000`);
  await pass(0);
  const kept = frames[0].object.metadata.name;
  await pass(1_800_000);
  await send('PATCH', `${events}/${kept}`, { count: 2 }, merge);
  await pass(1_900_000);
  expect(
    (await send('GET', events)).body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
  ).toEqual([kept]);
  expect(frames.filter(({ type }) => type === 'DELETED').length).toBeGreaterThan(2);
  await pass(1_800_000);
  expect((await send('GET', events)).body.items).toEqual([]);
});
