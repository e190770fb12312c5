/** JSON errors are told in the words of Go's encoding/json; the texts are what Go 1.26 gives. */
import { expect, test } from 'vitest';
import { goPrinted, syntaxError } from '../../../src/cluster/api/go-json.ts';

test.each([
  ['', 'unexpected end of JSON input'],
  ['{', 'unexpected end of JSON input'],
  ['"a', 'unexpected end of JSON input'],
  ['nope', "invalid character 'o' in literal null (expecting 'u')"],
  ['trve', "invalid character 'v' in literal true (expecting 'u')"],
  ['x', "invalid character 'x' looking for beginning of value"],
  ['{a:1}', "invalid character 'a' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ['{"a":1 "b":2}', `invalid character '"' after object key:value pair`],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['[1 2]', "invalid character '2' after array element"],
  ['[1,]', "invalid character ']' looking for beginning of value"],
  ['{} {}', "invalid character '{' after top-level value"],
  ['"\n"', "invalid character '\\n' in string literal"],
  ['"\\x"', "invalid character 'x' in string escape code"],
  ['"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"],
  ['-a', "invalid character 'a' in numeric literal"],
  ['1.x', "invalid character 'x' after decimal point in numeric literal"],
  ['1ex', "invalid character 'x' in exponent of numeric literal"],
  ["'a'", "invalid character '\\'' looking for beginning of value"],
])('%j: %s', (text, error) => {
  expect(syntaxError(text)).toBe(error);
});

test('values are printed as by %v, with keys in order', () => {
  expect(goPrinted({ b: [1, 'x', null], a: { c: true } })).toBe('map[a:map[c:true] b:[1 x <nil>]]');
});
