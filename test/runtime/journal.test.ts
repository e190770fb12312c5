/** A reader gets everything that is kept, in order and once, and is told of what is not. */
import { expect, it } from 'vitest';
import type { BuildStreamItem } from '../../src/runtime/contract.ts';
import { Journal } from '../../src/runtime/journal.ts';

function tell(journal: Journal, count: number): void {
  for (let i = 0; i < count; i++) {
    journal.add({ kind: 'kubeEvent', at: 0, reason: 'Pulled', message: `m${i}`, type: 'Normal', container: null });
  }
}
async function all(items: AsyncIterable<BuildStreamItem>): Promise<number[]> {
  const numbers: number[] = [];
  for await (const item of items) numbers.push(item.kind === 'lost' ? -item.count : item.sequence);
  return numbers;
}

it('who comes late begins with the first item', async () => {
  const journal = new Journal();
  tell(journal, 3);
  const reading = all(journal.read(0));
  tell(journal, 2);
  journal.end();
  await expect(reading).resolves.toEqual([1, 2, 3, 4, 5]);
});

it('who comes again goes on after the last item', async () => {
  const journal = new Journal();
  tell(journal, 5);
  journal.end();
  await expect(all(journal.read(3))).resolves.toEqual([4, 5]);
  await expect(all(journal.read(5))).resolves.toEqual([]);
});

it('who is too slow is told how much is lost, at the place where it is lost', async () => {
  const journal = new Journal(3);
  const reader = journal.read(0);
  tell(journal, 1);
  expect((await reader.next()).value).toMatchObject({ sequence: 1 });
  tell(journal, 10);
  journal.end();
  await expect(all(reader)).resolves.toEqual([-7, 9, 10, 11]);
});

it('a reader that aborts ends quietly, others go on', async () => {
  const journal = new Journal();
  const controller = new AbortController();
  const one = journal.read(0, controller.signal);
  const other = all(journal.read(0));
  tell(journal, 1);
  expect((await one.next()).value).toMatchObject({ sequence: 1 });
  const more = one.next();
  controller.abort();
  await expect(more).resolves.toEqual({ done: true, value: undefined });
  journal.end();
  await expect(other).resolves.toEqual([1]);
});

it('the story is the last twenty items, oldest first, in words', () => {
  const journal = new Journal();
  tell(journal, 30);
  journal.add({
    kind: 'state',
    at: Date.parse('2026-01-01T10:00:00.500Z'),
    change: { actor: 'container', container: 'test', at: 0, previous: 'pulling', state: 'running', outcome: null },
  });
  const story = journal.story();
  expect(story).toHaveLength(20);
  expect(story[0]).toMatch(/Event Pulled \(pod\): m11$/);
  expect(story.at(-1)).toBe('10:00:00.500 container test: pulling → running');
});
