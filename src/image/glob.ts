/**
 * Shell patterns as in Go's `path.Match`: `*` and `?` do not cross a slash, `[a-z]` and `[^a-z]` stand for one
 * character, a backslash takes the next one literally. There is no `**`.
 */

/** Whether the whole text matches. A pattern with an open bracket matches nothing. */
export function matchesGlob(pattern: string, text: string): boolean {
  return globExpression(pattern)?.test(text) ?? false;
}

/** Undefined when the pattern is malformed. */
function globExpression(pattern: string): RegExp | undefined {
  let expression = '';
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern.charAt(index);
    if (char === '*') expression += '[^/]*';
    else if (char === '?') expression += '[^/]';
    else if (char === '[') {
      const set = /^\[([!^]?)((?:\\.|[^\]\\])+)\]/.exec(pattern.slice(index));
      if (set === null) return undefined;
      const [whole, negation, members = ''] = set;
      expression += `[${negation === '' ? '' : '^'}${members.replace(/[[^&~]/g, '\\$&')}]`;
      index += whole.length - 1;
    } else {
      const literal = char === '\\' ? pattern.charAt(++index) : char;
      if (literal === '') return undefined;
      expression += literal.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    }
  }
  try {
    return new RegExp(`^${expression}$`, 'su');
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
