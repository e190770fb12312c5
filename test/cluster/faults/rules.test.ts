/** Rules that come from outside are checked, and what is wrong is told with its place. */
import { describe, expect, test } from 'vitest';
import { parseFaultRules } from '../../../src/cluster/index.ts';

describe('rules from outside', () => {
  test.each([
    ['no object', 5, 'the rule is no object'],
    ['no fault', {}, 'the rule.fault is missing'],
    ['an unknown kind', [{ fault: { kind: 'rain' } }], '[0].fault.kind is not known'],
    ['an unknown field', { fault: { kind: 'delay', ms: 1 }, often: true }, 'the rule.often is not known'],
    ['a field of another fault', { fault: { kind: 'throttle', ms: 1 } }, 'the rule.fault.ms is not known'],
    ['a missing field', { fault: { kind: 'refuse' } }, 'the rule.fault.code is missing'],
    ['a wrong value', { fault: { kind: 'refuse', code: 200 } }, 'the rule.fault.code is 200'],
    ['a wrong rate', { fault: { kind: 'throttle' }, rate: 2 }, 'the rule.rate is 2'],
    ['a match of no request', { fault: { kind: 'compact' }, match: { verb: 'get' } }, 'the rule.match has no meaning'],
    ['no text', { fault: { kind: 'rejectPod', reason: 5 } }, 'the rule.fault.reason is 5'],
    ['a wrong match', { fault: { kind: 'throttle' }, match: { path: '/' } }, 'the rule.match.path is not known'],
  ])('%s is told with its place and a remedy', (_what, value, text) => {
    try {
      parseFaultRules(value as never);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_CONFIG', remedy: expect.stringMatching(/\.$/) });
      expect((error as Error).message).toContain(text);
    }
  });

  test('what is right is taken as it is', () => {
    const rules = [
      { name: 'n', fault: { kind: 'delay', ms: [1, 2] }, match: { verb: 'watch', own: true }, rate: 0.5, times: 3 },
    ];
    expect(parseFaultRules(rules)).toEqual(rules);
  });
});
