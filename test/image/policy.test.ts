import { expect, test } from 'vitest';
import { imagePullPolicy, isPrivilegedImage } from '../../src/image/policy.ts';

test.each([
  ['always', 'Always'],
  ['on_start', 'Always'],
  ['not_present', 'IfNotPresent'],
  ['never', 'Never'],
  [undefined, 'IfNotPresent'],
] as const)('pull: %s is %s', (pull, policy) => {
  expect(imagePullPolicy(pull)).toBe(policy);
});

test.each([
  ['target/vela-docker', ['target/vela-docker'], true],
  ['docker.io/target/vela-docker:v1', ['target/vela-docker'], true],
  ['target/vela-docker:v2', ['target/vela-docker:v1'], false],
  ['target/vela-docker:v1', ['target/vela-docker:v?'], true],
  ['target/vela-kaniko', ['target/vela-*'], true],
  ['target/deep/vela-kaniko', ['target/*'], false],
  ['registry.example.com/tools/dind:1', ['registry.example.com/tools/*'], true],
  ['alpine', ['target/*', 'alpin[a-f]'], true],
  ['alpine', ['alpin[!a-f]'], false],
  ['alpine', ['a.pine'], false],
  ['alpine', [], false],
])('%s against %j: %s', (image, patterns, expected) => {
  expect(isPrivilegedImage(image, patterns)).toBe(expected);
});
