/** One log of revisions: every write takes the next number, the past stays readable until it is compacted. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RevisionStore } from '../../../src/cluster/store/revisions.ts';
import type { ApiObject } from '../../../src/cluster/types.ts';

const anObject = (name: string, value: number): ApiObject => ({
  kind: 'Thing',
  apiVersion: 'v1',
  metadata: { name, uid: name, resourceVersion: '', creationTimestamp: '' },
  value,
});

test('the state at any revision is the state that was listed then', () => {
  const write = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), remove: fc.boolean(), other: fc.boolean() });
  fc.assert(
    fc.property(fc.array(write, { maxLength: 40 }), (writes) => {
      const store = new RevisionStore(100);
      const past: [number, string][] = [[100, '']];
      const shown = (objects: readonly ApiObject[] | undefined): string =>
        (objects ?? []).map(({ metadata, ['value']: value }) => `${metadata.name}=${value}`).join();
      for (const [at, { key, remove, other }] of writes.entries()) {
        const resource = other ? 'others' : 'things';
        if (!remove) store.put(resource, key, anObject(key, at));
        else if (store.get(resource, key) !== undefined) store.remove(resource, key);
        past.push([store.current, shown(store.list('things'))]);
      }
      for (const [number, then] of past) expect(shown(store.listAt('things', number))).toBe(then);
    }),
  );
});

test('what was written after a revision is told in order, and no more', () => {
  const store = new RevisionStore(10);
  store.put('things', 'a', anObject('a', 1));
  store.put('others', 'x', anObject('x', 1));
  store.put('things', 'a', anObject('a', 2));
  store.remove('things', 'a');
  expect(store.since('things', 11)?.map(({ type, number }) => [type, number])).toEqual([
    ['MODIFIED', 13],
    ['DELETED', 14],
  ]);
  expect(store.since('things', 14)).toEqual([]);
});

test('a deletion has a revision of its own, and the object carries it', () => {
  const store = new RevisionStore(10);
  store.put('things', 'a', anObject('a', 1));
  expect(store.remove('things', 'a').metadata.resourceVersion).toBe('12');
});

test('what is compacted can neither be listed nor be watched from', () => {
  const store = new RevisionStore(10);
  store.put('things', 'a', anObject('a', 1));
  store.put('things', 'a', anObject('a', 2));
  store.compact(12);
  expect(store.since('things', 11)).toBeUndefined();
  expect(store.listAt('things', 11)).toBeUndefined();
  expect(store.since('things', 12)).toEqual([]);
  expect(store.listAt('things', 12)).toHaveLength(1);
});
