import { describe, expect, test } from 'vitest';
import { playOf } from '../../src/trace/play.ts';
import { replay } from '../../src/trace/replay.ts';
import { watchInvariants } from '../helpers/invariants.ts';
import { allTraces, compare } from '../helpers/traces.ts';

const traces = allTraces();

describe('a replay of a real cluster gives each container its true verdict', () => {
  test.each(traces.map((trace) => [`${trace.set}/${trace.scenario}`, trace] as const))('%s', (_name, trace) => {
    const invariants = watchInvariants();
    const rows = compare(trace.expected, replay(playOf(trace.load()), { inspect: invariants.inspect }));
    expect(rows.filter(({ isRight }) => !isRight)).toEqual([]);
    expect(invariants.breaches).toEqual([]);
    expect(invariants.checked).toBeGreaterThan(0);
  });

  test('there are recordings, and each expectation names a container', () => {
    expect(traces.length).toBeGreaterThanOrEqual(264);
    for (const { expected } of traces) {
      expect(expected.flatMap(({ containers }) => Object.keys(containers)).length).toBeGreaterThan(0);
    }
  });
});
