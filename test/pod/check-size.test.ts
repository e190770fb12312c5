/** What would be too large for the cluster is told before anything is sent. */
import { expect, it } from 'vitest';
import type { BuildSpec } from '../../src/pod/build-spec.ts';
import { checkSize } from '../../src/pod/check-size.ts';
import { placeholderStrategy } from '../../src/pod/start-strategy.ts';
import { aPlan, aSpec, aStep, placeholder } from './specs.ts';

const check = (spec: BuildSpec): void => checkSize(aPlan(spec), placeholderStrategy(placeholder));

it('a hundred and twenty steps with long names and scripts fit', () => {
  const containers = Array.from({ length: 120 }, (_, i) =>
    aStep(`stage ${i % 10} · a step with a rather long name ${i}`, { script: 'x'.repeat(2_000) }),
  );
  expect(() => check(aSpec({ containers }))).not.toThrow();
});

it('scripts do not count where they are files', () => {
  const containers = Array.from({ length: 20 }, (_, i) => aStep(`s${i}`, { script: 'x'.repeat(200_000) }));
  expect(() => check(aSpec({ containers }))).not.toThrow();
});

it.each<[string, BuildSpec, RegExp]>([
  [
    'a pod',
    aSpec({
      containers: Array.from({ length: 100 }, (_, i) => aStep(`s${i}`, { environment: { A: 'x'.repeat(10_000) } })),
    }),
    /its pod would have \d+ KiB of 700/,
  ],
  [
    'secrets',
    aSpec({ containers: [aStep('a', { secrets: { A: 'ü'.repeat(600_000) } })] }),
    /its secrets would have 1172 KiB of 1024/,
  ],
  ['annotations', aSpec({ annotations: { a: 'x'.repeat(300_000) } }), /the annotations of its pod/],
])('%s', (_, spec, message) => {
  expect(() => check(spec)).toThrow(message);
});
