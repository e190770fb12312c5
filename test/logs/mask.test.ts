/** No form of a secret that a program is likely to print gets through, and ordinary text does. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogLine } from '../../src/logs/line.ts';
import { createMask, maskLines, maskText, shortestMasked } from '../../src/logs/mask.ts';
import { all } from '../kube/api-server.ts';

const secret = 'p4ss wörd/"+';

test.each([
  ['itself', secret],
  ['as JSON', JSON.stringify({ password: secret })],
  ['in a URL', `https://host/?q=${encodeURIComponent(secret)}`],
  ['in a form', `q=${encodeURIComponent(secret).replaceAll('%20', '+')}`],
  ['in a URL with small letters', encodeURIComponent(secret).toLowerCase()],
  ['in base64', Buffer.from(secret).toString('base64')],
  ['in base64 for URLs', Buffer.from(secret).toString('base64url')],
  ['twice', `${secret}${secret}`],
])('a secret is masked: %s', (_form, text) => {
  const masked = createMask([secret]).apply(`before ${text} after`);
  expect(masked).toMatch(/^before .*\*\*\*.* after$/);
  for (const part of [secret, 'p4ss', Buffer.from('p4ss').toString('base64').slice(0, 5)])
    expect(masked).not.toContain(part);
});

test('a secret inside a longer base64 text is masked, wherever it stands in it', () => {
  const anySecret = fc
    .string({ minLength: 12, maxLength: 60 })
    .filter((text) => text.trim().length >= 12 && !text.includes('\n'));
  fc.assert(
    fc.property(anySecret, fc.string({ maxLength: 9 }), fc.string({ maxLength: 9 }), (hidden, before, after) => {
      const text = Buffer.from(before + hidden + after).toString('base64');
      const masked = createMask([hidden]).apply(text);
      expect(masked).toContain(maskText);
      // At most a character on each side, of which some bits are the secret's.
      const left = masked.split(maskText).join('').length;
      expect(left).toBeLessThanOrEqual(Math.ceil((before.length * 4 + after.length * 4) * 1.4) + 8);
    }),
  );
});

test('each line of a secret of many lines is masked, its braces are not', () => {
  const key = '{\n  "private_key": "abcdef",\n  "id": 7\n}\n';
  const mask = createMask([key]);
  expect(key.split('\n').map((line) => mask.apply(line))).toEqual(['{', `  ${maskText}`, `  ${maskText}`, '}', '']);
  expect(mask.apply('if (x) { y }')).toBe('if (x) { y }');
  expect(mask.apply(JSON.stringify({ key }))).toBe(`{"key":"${maskText}"}`);
});

test('a base64 text that was broken into lines is masked in each line', () => {
  const long = Array.from({ length: 30 }, (_, index) => `word${index}`).join(' ');
  const wrapped =
    Buffer.from(long)
      .toString('base64')
      .match(/.{1,76}/g) ?? [];
  expect(wrapped.length).toBeGreaterThan(2);
  const mask = createMask([long]);
  for (const line of wrapped) expect(mask.apply(line)).toBe(maskText);
});

test('secrets that overlap are masked as one', () => {
  expect(createMask(['abcdef', 'defghi']).apply('xabcdefghix')).toBe(`x${maskText}x`);
  expect(createMask(['abab']).apply('ababab')).toBe(maskText);
});

test('what is too short to be a secret is not looked for, and counted', () => {
  const mask = createMask(['', '  ', 'abc', 'a'.repeat(shortestMasked)]);
  expect(mask.ignored).toBe(3);
  expect(mask.apply('abc aaaa')).toBe(`abc ${maskText}`);
});

test('signs that mean something in a regular expression are taken as they are', () => {
  const signs = ['.*+?^$', '{}()|[]\\/-a'].join('');
  expect(createMask([signs]).apply(`x${signs}x axxx`)).toBe(`x${maskText}x axxx`);
});

const line = (text: string, partial: boolean): LogLine => ({
  text,
  at: '',
  position: '',
  ...(partial ? { partial } : {}),
});

async function* from(lines: readonly LogLine[]): AsyncGenerator<LogLine, void, undefined> {
  yield* lines;
}

test('wherever a long line is cut into pieces, what remains is the masked line, and no piece is lost', async () => {
  const word = fc.constantFrom('secret', 'cretse', 'se', 'cret', 'x', ' ', 'tsecre', 'secretsecret');
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 12 }), fc.array(fc.nat(60), { maxLength: 4 }), async (words, cuts) => {
      const whole = words.join('');
      const mask = createMask(['secret', 'cretse']);
      const edges = [0, ...[...new Set(cuts)].filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length];
      // Pieces are longer than any secret.
      fc.pre(
        edges.every((edge, index) => index === 0 || edge - (edges[index - 1] ?? 0) >= 12 || index === edges.length - 1),
      );
      const pieces = edges
        .slice(1)
        .map((edge, index) => line(whole.slice(edges[index], edge), index < edges.length - 2));
      const masked = await all(maskLines(from(pieces), mask));
      expect(masked).toHaveLength(pieces.length);
      expect(masked.map(({ text }) => text).join('')).toBe(mask.apply(whole));
    }),
  );
});

test('lines and gaps pass in order with their positions', async () => {
  const gap: LogLine = {
    text: '',
    at: 'later',
    position: 'p2',
    gap: { after: null, before: null, reason: 'rotated', message: null },
  };
  const lines = [{ ...line('a secret', true), position: 'p1' }, gap, { ...line('plain', false), position: 'p3' }];
  const masked = await all(maskLines(from(lines), createMask(['secret'])));
  expect(masked.map(({ text, position }) => [text, position])).toEqual([
    [`a ${maskText}`, 'p1'],
    ['', 'p2'],
    ['plain', 'p3'],
  ]);
});
