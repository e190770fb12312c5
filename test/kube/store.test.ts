/** The store holds the newest state of each object and tells every change once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { KubeObject } from '../../src/kube/resource.ts';
import { type Delta, isNewer, Store } from '../../src/kube/store.ts';

const object = (name: string, uid: string, version: number): KubeObject => ({
  metadata: { name, namespace: 'ns', uid, resourceVersion: String(version) },
});
const added = (name: string, uid: string, version: number) => ({
  type: 'ADDED' as const,
  object: object(name, uid, version),
});
const brief = (deltas: readonly Delta<KubeObject>[]): string[] =>
  deltas.map(({ kind, key, object: { metadata }, finalStateKnown }) =>
    [kind, key, metadata.uid, metadata.resourceVersion, ...(finalStateKnown ? [] : ['final state unknown'])].join(' '),
  );

test('a new object is added, a newer state updates it and carries the old one', () => {
  const store = new Store<KubeObject>();
  expect(brief(store.apply(added('a', 'u1', 1)))).toEqual(['added ns/a u1 1']);
  const [delta] = store.apply({ type: 'MODIFIED', object: object('a', 'u1', 2) });
  expect(delta).toEqual({
    kind: 'updated',
    key: 'ns/a',
    object: object('a', 'u1', 2),
    old: object('a', 'u1', 1),
    finalStateKnown: true,
  });
  expect(store.get('ns/a')).toEqual(object('a', 'u1', 2));
});

test('the same version twice and an older version tell nothing and change nothing', () => {
  const store = new Store<KubeObject>();
  store.apply(added('a', 'u1', 100));
  expect(store.apply(added('a', 'u1', 100))).toEqual([]);
  expect(store.apply(added('a', 'u1', 99))).toEqual([]);
  expect(store.get('ns/a')).toEqual(object('a', 'u1', 100));
});

test('another uid under the same name is the end of one object and the start of another', () => {
  const store = new Store<KubeObject>();
  store.apply(added('a', 'u1', 5));
  expect(brief(store.apply({ type: 'MODIFIED', object: object('a', 'u2', 9) }))).toEqual([
    'deleted ns/a u1 5 final state unknown',
    'added ns/a u2 9',
  ]);
});

test('a deletion is believed for its uid only, whatever its version', () => {
  const store = new Store<KubeObject>();
  store.apply(added('a', 'u2', 50));
  expect(store.apply({ type: 'DELETED', object: object('a', 'u1', 60) })).toEqual([]);
  expect(brief(store.apply({ type: 'DELETED', object: object('a', 'u2', 40) }))).toEqual(['deleted ns/a u2 40']);
  expect(store.apply({ type: 'DELETED', object: object('a', 'u2', 41) })).toEqual([]);
  expect(store.list()).toEqual([]);
});

test('a list removes what it does not contain and keeps what is newer than it', () => {
  const store = new Store<KubeObject>();
  store.apply(added('gone', 'g', 1));
  store.apply(added('newer', 'n', 20));
  store.apply(added('same', 's', 3));
  store.apply(added('other', 'o1', 4));
  const deltas = store.replace([
    object('newer', 'n', 19),
    object('same', 's', 3),
    object('other', 'o2', 8),
    object('fresh', 'f', 9),
  ]);
  expect(brief(deltas)).toEqual([
    'deleted ns/gone g 1 final state unknown',
    'deleted ns/other o1 4 final state unknown',
    'added ns/other o2 8',
    'added ns/fresh f 9',
  ]);
  expect(store.get('ns/newer')).toEqual(object('newer', 'n', 20));
});

test('versions are compared as numbers of any length; others are believed as they come', () => {
  expect(isNewer('10', '9')).toBe(true);
  expect(isNewer('9', '10')).toBe(false);
  expect(isNewer('90071992547409931', '90071992547409930')).toBe(true);
  expect(isNewer('5', '5')).toBe(false);
  expect(isNewer('abc', 'abd')).toBe(true);
  expect(isNewer('abc', 'abc')).toBe(false);
});

test('whatever frames and lists come, deltas replayed on an empty map give the store, and no state goes back', () => {
  const step = fc.record({
    type: fc.constantFrom('ADDED' as const, 'MODIFIED' as const, 'DELETED' as const, 'LIST' as const),
    objects: fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        uid: fc.constantFrom('1', '2'),
        version: fc.integer({ min: 1, max: 40 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const store = new Store<KubeObject>();
      const replayed = new Map<string, KubeObject>();
      for (const { type, objects } of steps) {
        const items = objects.map(({ name, uid, version }) => object(name, `${name}-${uid}`, version));
        const unique = [...new Map(items.map((item) => [item.metadata.name, item])).values()];
        const [first = object('a', 'a-1', 1)] = items;
        const deltas = type === 'LIST' ? store.replace(unique) : store.apply({ type, object: first });
        for (const delta of deltas) replay(replayed, delta);
        expect([...replayed.values()].sort(byName)).toEqual([...store.list()].sort(byName));
      }
    }),
  );
});

/** A client that knows nothing but the deltas; each must make sense after the ones before. */
function replay(known: Map<string, KubeObject>, delta: Delta<KubeObject>): void {
  const before = known.get(delta.key);
  if (delta.kind === 'added') expect(before).toBeUndefined();
  else expect(before).toEqual(delta.old);
  if (delta.kind === 'updated') {
    expect(delta.object.metadata.uid).toBe(before?.metadata.uid);
    expect(Number(delta.object.metadata.resourceVersion)).toBeGreaterThan(Number(before?.metadata.resourceVersion));
  }
  if (delta.kind === 'deleted') known.delete(delta.key);
  else known.set(delta.key, delta.object);
}

function byName(a: KubeObject, b: KubeObject): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

test('what is kept may be less than what is told, and still tells old from new', () => {
  const store = new Store<KubeObject & { readonly text?: string }>(({ metadata }) => ({ metadata }));
  const [delta] = store.apply({ type: 'ADDED', object: { ...object('a', 'u1', 1), text: 'long' } });
  expect(delta?.object).toMatchObject({ text: 'long' });
  expect(store.get('ns/a')).toEqual(object('a', 'u1', 1));
  expect(store.apply({ type: 'ADDED', object: { ...object('a', 'u1', 1), text: 'long' } })).toEqual([]);
});
