// Errors are told apart by their code, also when two copies of the package are loaded.
import { expect, test } from 'vitest';
import { assert, assertNever } from '../src/assert.ts';
import { errorCodes, isPodwrightError, PodwrightError } from '../src/errors.ts';

test('an error carries its code, cause, remedy and details', () => {
  const cause = new Error('refused');
  const error = new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', 'no answer', {
    cause,
    remedy: 'start it',
    details: { server: 'x' },
  });
  expect(error).toMatchObject({
    code: 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE',
    cause,
    remedy: 'start it',
    details: { server: 'x' },
  });
  expect(error).toBeInstanceOf(Error);
});

test('instanceof recognises an error of another copy of the package', () => {
  const foreign = Object.defineProperty(new Error('x'), Symbol.for('podwright.error'), { value: true });
  expect(foreign instanceof PodwrightError).toBe(true);
  expect(new Error('x') instanceof PodwrightError).toBe(false);
});

test('isPodwrightError asks for one code', () => {
  const error = new PodwrightError('ERR_PODWRIGHT_TIMEOUT', 'x');
  expect(isPodwrightError(error)).toBe(true);
  expect(isPodwrightError(error, 'ERR_PODWRIGHT_TIMEOUT')).toBe(true);
  expect(isPodwrightError(error, 'ERR_PODWRIGHT_STATE')).toBe(false);
  expect(isPodwrightError(null)).toBe(false);
});

test('every code has the same prefix and stands once', () => {
  expect(errorCodes.filter((code) => !/^ERR_PODWRIGHT_[A-Z_]+$/.test(code))).toEqual([]);
  expect(new Set(errorCodes).size).toBe(errorCodes.length);
});

test('a failed assertion is an error with a code of its own', () => {
  expect(() => assert(1 > 2, 'one is more')).toThrow(expect.objectContaining({ code: 'ERR_PODWRIGHT_ASSERTION' }));
  expect(() => assertNever('x' as never, 'letter')).toThrow('unexpected letter: "x"');
});
