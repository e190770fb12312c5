/** Names are valid and unique whatever the input, and the same for the same input. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildLabels, containerNames, isDnsLabel, labels, labelValue, podName } from '../../src/pod/labels.ts';

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 300, unit: 'grapheme' }),
  fc.stringMatching(/^[a-zA-Z0-9_. -]{1,80}$/),
);
const labelPattern = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;

describe('podName', () => {
  it('is a DNS label for any owner and id', () => {
    fc.assert(fc.property(anyName, anyName, (owner, id) => isDnsLabel(podName(owner, id))));
  });

  it('is decided by owner and id, and differs when one of them does', () => {
    expect(podName('a', 'b')).toBe(podName('a', 'b'));
    expect(podName('a', 'b')).not.toBe(podName('a2', 'b'));
    expect(podName('a', 'b')).not.toBe(podName('a', 'b2'));
    expect(podName('ab', 'c')).not.toBe(podName('a', 'bc'));
  });

  it('can be recognised by a person', () => {
    expect(podName('w', 'Org/Repo#17')).toMatch(/^pw-org-repo-17-[0-9a-f]{12}$/);
    expect(podName('w', '日本')).toMatch(/^pw-build-[0-9a-f]{12}$/);
  });
});

describe('containerNames', () => {
  it('are valid, unique, and in order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { minLength: 1, maxLength: 20 }), (names) => {
        const made = containerNames(names);
        expect(made).toHaveLength(names.length);
        expect(new Set(made).size).toBe(names.length);
        for (const name of made) expect(isDnsLabel(name)).toBe(true);
      }),
    );
  });

  it('leave a name that is valid as it is', () => {
    expect(containerNames(['test', 'deploy-2'])).toEqual(['test', 'deploy-2']);
  });

  it('tell apart names that would become the same', () => {
    const [a, b, c] = containerNames(['Unit Tests', 'unit_tests', 'unit-tests']);
    expect(new Set([a, b, c]).size).toBe(3);
    expect(c).toBe('unit-tests');
  });

  it('never take a name that podwright uses itself', () => {
    expect(containerNames(['podwright-install'])[0]).not.toMatch(/^podwright-/);
  });
});

describe('labelValue', () => {
  it('is valid for any text, and the text itself where that is valid', () => {
    fc.assert(
      fc.property(anyName, (text) => {
        const value = labelValue(text);
        expect(value).toMatch(labelPattern);
        if (labelPattern.test(text)) expect(value).toBe(text);
      }),
    );
  });

  it('differs for texts that differ', () => {
    expect(labelValue('a b')).not.toBe(labelValue('a_ b'));
    expect(labelValue('x'.repeat(70))).not.toBe(labelValue('x'.repeat(71)));
  });
});

it('a build is found again by owner and build, and one attempt by its assembly', () => {
  expect(buildLabels('worker-1', 'build-1', 'a1')).toEqual({
    'app.kubernetes.io/managed-by': 'podwright',
    [labels.owner]: 'worker-1',
    [labels.build]: 'build-1',
    [labels.assembly]: 'a1',
  });
});
