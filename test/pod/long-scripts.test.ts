/** A long script arrives as it is, however often it must be cut. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { buildPod } from '../../src/pod/build-pod.ts';
import type { JsonObject } from '../../src/pod/build-spec.ts';
import { longestInlineBytes, scriptConfigMaps } from '../../src/pod/long-scripts.ts';
import { placeholderStrategy } from '../../src/pod/start-strategy.ts';
import { aPlan, aSpec, aStep, placeholder } from './specs.ts';

const plan = (...scripts: string[]) =>
  aPlan(aSpec({ containers: scripts.map((script, i) => aStep(`s${i}`, { script })) }));
const podOf = (...scripts: string[]): JsonObject =>
  buildPod(plan(...scripts), placeholderStrategy(placeholder), 'a').spec;
const argument = (spec: JsonObject, index: number): unknown => {
  const containers = spec['containers'] as { readonly args: readonly string[] }[];
  return containers[index]?.args[3];
};
const long = (bytes: number): string => '#'.repeat(bytes);

it('a script up to the limit is an argument, and needs nothing else', () => {
  const spec = podOf(long(longestInlineBytes));
  expect(argument(spec, 0)).toBe(long(longestInlineBytes));
  expect(JSON.stringify(spec)).not.toContain('podwright-scripts');
});

it('a longer one is a file that is sourced, mounted read-only where it is run', () => {
  const spec = podOf('true', long(longestInlineBytes + 1));
  expect(argument(spec, 1)).toBe('. /podwright/scripts/1.000');
  const [short, file] = spec['containers'] as JsonObject[];
  expect(short?.['volumeMounts']).not.toContainEqual(expect.objectContaining({ name: 'podwright-scripts' }));
  expect(file?.['volumeMounts']).toContainEqual({
    name: 'podwright-scripts',
    mountPath: '/podwright/scripts',
    readOnly: true,
  });
  expect(spec['volumes']).toContainEqual({
    name: 'podwright-scripts',
    projected: { sources: [{ configMap: { name: expect.stringMatching(/-scripts-0$/) as string } }] },
  });
});

it('one that no ConfigMap can hold is several files, read in order', () => {
  const spec = podOf(long(2_500_000));
  // Kubernetes makes `$(` of it.
  expect(argument(spec, 0)).toBe('eval "$$(cat /podwright/scripts/0.*)"');
  expect(scriptConfigMaps(plan(long(2_500_000)), {}).map(({ data }) => Object.keys(data))).toEqual([
    ['0.000'],
    ['0.001'],
    ['0.002'],
  ]);
});

it('nothing is lost or cut within a character, and no ConfigMap is over its limit', () => {
  const text = fc
    .tuple(fc.constantFrom('a', 'ü', '€', '😀'), fc.integer({ min: 1, max: 700_000 }))
    .map(([char, times]) => char.repeat(times));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 3 }), (scripts) => {
      const maps = scriptConfigMaps(plan(...scripts), {});
      for (const { data } of maps) {
        expect(Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value), 0)).toBeLessThanOrEqual(
          1 << 20,
        );
      }
      const files = maps.flatMap(({ data }) => Object.entries(data));
      for (const [index, script] of scripts.entries()) {
        if (Buffer.byteLength(script) <= longestInlineBytes) continue;
        const own = files.filter(([name]) => name.startsWith(`${index}.`)).sort(([a], [b]) => (a < b ? -1 : 1));
        expect(own.map(([, piece]) => piece).join('') === script).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});
