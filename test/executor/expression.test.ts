import { describe, expect, test } from 'vitest';
import { checkEval, ExpressionError, evaluate } from '../../src/executor/expression.ts';

const variables = { BRANCH: 'main', COUNT: '3', EMPTY: '' };

describe('an eval rule', () => {
  test.each([
    ["BRANCH == 'main'", true],
    ['BRANCH != "main"', false],
    ["BRANCH == 'main' && COUNT == '3'", true],
    ["BRANCH == 'dev' || COUNT == '3'", true],
    ["BRANCH == 'dev' or not (COUNT == '3')", false],
    ["!(BRANCH == 'dev') and true", true],
    ["BRANCH in ['dev', 'main']", true],
    ["BRANCH not in ['dev', 'main']", false],
    ["BRANCH contains 'ai'", true],
    ["BRANCH not contains 'ai'", false],
    ["BRANCH startsWith 'ma' && BRANCH endsWith 'in'", true],
    ["BRANCH matches '^m.*n$'", true],
    ["MISSING == ''", true],
    ['1 + 2 == 3', true],
    ["BRANCH + '-' + COUNT == 'main-3'", true],
    ['2 < 10 && 10 >= 10 && 3 > 2 && 2 <= 2', true],
    ["'it\\'s' == \"it's\"", true],
    ['false || true && false', false],
    ['[] == []', false],
  ])('%s is %s', (source, expected) => {
    expect(checkEval(source)).toBeUndefined();
    expect(evaluate(source, variables)).toBe(expected);
  });

  test.each([
    ['', 'it ends too early'],
    ['BRANCH ==', 'it ends too early'],
    ["BRANCH = 'main'", 'cannot read it at "= \'main\'"'],
    ["(BRANCH == 'main'", '")" is missing'],
    ["BRANCH == 'main')", '")" is not expected'],
    ['len(BRANCH) == 4', 'there is no function "len"'],
    ["BRANCH == 'a' 'b'", '"b" is not expected'],
    ["BRANCH not 'a'", 'an operator is missing after "not"'],
    ['[1, 2', '"," is missing'],
    ["BRANCH == 'open", 'cannot read it at'],
    ["BRANCH toString 'a'", '"toString" is not expected'],
    ['('.repeat(100_000), 'it is nested too deeply'],
  ])('%j is told as wrong', (source, message) => {
    expect(checkEval(source)).toContain(message);
  });

  test.each([
    ["BRANCH matches '('", '"(" is no regular expression'],
    ['[1] + [2] == 3', 'lists cannot be added'],
    [`${'true && '.repeat(100_000)}true`, 'it is nested too deeply'],
  ])('%s cannot be answered', (source, message) => {
    expect(() => evaluate(source, variables)).toThrow(new ExpressionError(message));
  });

  test('a variable is one of the build, whatever its name', () => {
    expect(evaluate("constructor == ''", variables)).toBe(true);
  });

  test.each([
    ['BRANCH', 'it gives "main", not true or false'],
    ['BRANCH && true', '"main" is not true or false'],
  ])('%s gives no boolean', (source, message) => {
    expect(() => evaluate(source, variables)).toThrow(message);
  });
});
