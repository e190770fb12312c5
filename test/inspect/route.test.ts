// An address says what is shown, whatever the names are.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatRoute, home, parseRoute, type Route, tabs } from '../../src/inspect/page/model/route.ts';

test('what is written is read again', () => {
  const name = fc.string({ minLength: 1, unit: 'grapheme' });
  const route = fc.record({
    build: name,
    container: fc.option(name),
    tab: fc.constantFrom(...tabs),
    at: fc.option(fc.nat()),
    filter: fc.string(),
  });
  fc.assert(
    fc.property(route, (one: Route) => {
      expect(parseRoute(formatRoute(one))).toEqual(one);
    }),
  );
});

test.each(['', '#', '#/', '#/nothing/else', '#/build/'])('%j is the list of builds', (hash) => {
  expect(parseRoute(hash)).toEqual(home);
});

test('a broken address is read as far as it goes', () => {
  expect(parseRoute('#/build/a%ZZ/step/nosuch?at=x')).toEqual({ ...home, build: 'a%ZZ', container: 'step' });
});
