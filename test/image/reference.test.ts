import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPodwrightError } from '../../src/errors.ts';
import {
  familiarImageName,
  formatImageReference,
  type ImageReference,
  isSameImage,
  parseImageReference,
} from '../../src/image/reference.ts';

const sha = 'a'.repeat(64);

describe('a reference is read as container runtimes read it', () => {
  test.each([
    ['alpine', 'docker.io/library/alpine:latest', 'alpine'],
    ['alpine:3.20', 'docker.io/library/alpine:3.20', 'alpine'],
    ['target/vela-git', 'docker.io/target/vela-git:latest', 'target/vela-git'],
    ['index.docker.io/library/alpine', 'docker.io/library/alpine:latest', 'alpine'],
    ['docker.io/library/deep/alpine', 'docker.io/library/deep/alpine:latest', 'library/deep/alpine'],
    ['localhost/tool', 'localhost/tool:latest', 'localhost/tool'],
    ['localhost:5000/step:none', 'localhost:5000/step:none', 'localhost:5000/step'],
    ['lab.local/base:1', 'lab.local/base:1', 'lab.local/base'],
    ['gcr.io/distroless/static', 'gcr.io/distroless/static:latest', 'gcr.io/distroless/static'],
    ['[2001:db8::1]:5000/a/b', '[2001:db8::1]:5000/a/b:latest', '[2001:db8::1]:5000/a/b'],
    ['HOST/tool', 'HOST/tool:latest', 'HOST/tool'],
    ['a__b/c-d.e---f', 'docker.io/a__b/c-d.e---f:latest', 'a__b/c-d.e---f'],
    [`alpine@sha256:${sha}`, `docker.io/library/alpine@sha256:${sha}`, 'alpine'],
    [`x.io/a:1@sha256:${sha}`, `x.io/a:1@sha256:${sha}`, 'x.io/a'],
  ])('%s', (text, canonical, familiar) => {
    const reference = parseImageReference(text);
    expect(formatImageReference(reference)).toBe(canonical);
    expect(familiarImageName(reference)).toBe(familiar);
  });
});

describe('what no runtime takes is refused with a remedy', () => {
  test.each([
    ['', 'empty'],
    ['alpine 3', 'white space'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the mistake itself
    ['alpine:${TAG}', 'variable'],
    ['https://ghcr.io/a/b', 'URL'],
    ['Alpine', 'repository part "Alpine"'],
    ['ghcr.io/Org/tool', 'repository part "Org"'],
    ['alpine:', 'tag ""'],
    ['alpine:-1', 'tag "-1"'],
    [`alpine:${'t'.repeat(129)}`, 'tag'],
    ['a//b', 'slashes'],
    ['a/', 'slashes'],
    ['-host.io/a', 'registry'],
    ['host.io:port/a', 'registry'],
    ['a..b', 'repository part'],
    ['alpine@sha256:abc', 'digest'],
    [`alpine@sha256:${'A'.repeat(64)}`, 'digest'],
    [`alpine@md5:${'a'.repeat(32)}`, 'digest'],
    [sha, 'image ID'],
    [`${'a'.repeat(250)}/${'b'.repeat(20)}`, 'longer than 255'],
  ])('%j', (text, what) => {
    let caught: unknown;
    try {
      parseImageReference(text);
    } catch (error) {
      caught = error;
    }
    expect(isPodwrightError(caught, 'ERR_PODWRIGHT_IMAGE_REFERENCE')).toBe(true);
    expect(String(caught)).toContain(what);
    expect((caught as { remedy?: string }).remedy).toMatch(/\S/);
  });

  test('the remedy for capitals is the reference in lower case', () => {
    expect(() => parseImageReference('ghcr.io/Org/tool:1')).toThrow(
      expect.objectContaining({ remedy: 'Write it in lower case: ghcr.io/org/tool:1' }),
    );
  });
});

test('spellings of one image are the same, others are not', () => {
  expect(isSameImage('alpine', 'docker.io/library/alpine:latest')).toBe(true);
  expect(isSameImage('alpine', 'alpine:3')).toBe(false);
  expect(isSameImage('NOT VALID', 'NOT VALID')).toBe(true);
  expect(isSameImage('NOT VALID', 'alpine')).toBe(false);
});

test('whatever is formatted parses back to the same reference', () => {
  const component = fc.stringMatching(/^[a-z0-9]+(?:[._-][a-z0-9]+)?$/).filter((text) => text.length < 20);
  const reference = fc
    .record({
      registry: fc.constantFrom('docker.io', 'localhost:5000', 'lab.local', 'ghcr.io', '[::1]:80'),
      repository: fc.array(component, { minLength: 2, maxLength: 4 }).map((parts) => parts.join('/')),
      tag: fc.option(fc.stringMatching(/^\w[\w.-]{0,20}$/), { nil: undefined }),
      digest: fc.option(
        fc.stringMatching(/^[0-9a-f]{64}$/).map((hex) => `sha256:${hex}`),
        { nil: undefined },
      ),
    })
    .map(
      ({ tag, digest, ...name }): ImageReference => ({
        ...name,
        ...(tag === undefined && digest === undefined ? { tag: 'latest' } : {}),
        ...(tag === undefined ? {} : { tag }),
        ...(digest === undefined ? {} : { digest }),
      }),
    );
  fc.assert(
    fc.property(reference, (value) => {
      expect(parseImageReference(formatImageReference(value))).toEqual(value);
    }),
  );
});

test('no text makes the parser fail in another way than by its own error', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        formatImageReference(parseImageReference(text));
      } catch (error) {
        if (!isPodwrightError(error, 'ERR_PODWRIGHT_IMAGE_REFERENCE')) throw error;
      }
    }),
  );
});
