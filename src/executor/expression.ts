/**
 * The `eval` rule: a small expression over the build's variables, of the operators that such rules use.
 *
 * `== != < <= > >=`, `&& || !` and `and or not`, `in`, `contains`, `startsWith`, `endsWith`, `matches`, `+`, lists,
 * parentheses, texts, numbers, `true` and `false`. A variable that does not exist is an empty text.
 */
/** What is wrong with the expression, or undefined. */
export function checkEval(source: string): string | undefined {
  try {
    bounded(() => parse(source));
    return undefined;
  } catch (error) {
    if (error instanceof ExpressionError) return error.message;
    throw error;
  }
}

/** The value of a checked expression. Throws `ExpressionError` when it is no boolean. */
export function evaluate(source: string, variables: Readonly<Record<string, string>>): boolean {
  const value = bounded(() => parse(source)(variables));
  if (typeof value !== 'boolean') throw new ExpressionError(`it gives ${JSON.stringify(value)}, not true or false`);
  return value;
}

export class ExpressionError extends Error {}

/** What the stack cannot hold, no person wrote. */
function bounded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? new ExpressionError('it is nested too deeply') : error;
  }
}

type Value = string | number | boolean | readonly Value[];
type Evaluator = (variables: Readonly<Record<string, string>>) => Value;

const tokenPattern =
  /\s*(?:("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|(==|!=|<=|>=|&&|\|\||[<>!+()[\],]))/y;

function parse(source: string): Evaluator {
  const parser = new Parser(tokenize(source));
  const evaluator = parser.disjunction();
  parser.end();
  return evaluator;
}

interface Token {
  readonly kind: 'text' | 'number' | 'word' | 'sign';
  readonly text: string;
}

function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const rest = source.trimEnd();
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < rest.length) {
    const at = tokenPattern.lastIndex;
    const match = tokenPattern.exec(rest);
    if (match === null) throw new ExpressionError(`cannot read it at "${rest.slice(at, at + 20).trim()}"`);
    const [, text, number, word, sign] = match;
    if (text !== undefined) tokens.push({ kind: 'text', text: text.slice(1, -1).replace(/\\(.)/g, '$1') });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else tokens.push({ kind: 'sign', text: sign ?? '' });
  }
  return tokens;
}

const comparisons: ReadonlyMap<string, (left: Value, right: Value) => boolean> = new Map(
  Object.entries<(left: Value, right: Value) => boolean>({
    '==': (left, right) => left === right,
    '!=': (left, right) => left !== right,
    '<': (left, right) => left < right,
    '<=': (left, right) => left <= right,
    '>': (left, right) => left > right,
    '>=': (left, right) => left >= right,
    in: (left, right) => Array.isArray(right) && right.includes(left),
    contains: (left, right) => String(left).includes(String(right)),
    startsWith: (left, right) => String(left).startsWith(String(right)),
    endsWith: (left, right) => String(left).endsWith(String(right)),
    matches: (left, right) => regularExpression(String(right)).test(String(left)),
  }),
);

function regularExpression(pattern: string): RegExp {
  try {
    return new RegExp(pattern);
  } catch {
    throw new ExpressionError(`"${pattern}" is no regular expression`);
  }
}

/** Recursive descent; each method is one level of binding strength, the weakest first. */
class Parser {
  readonly #tokens: readonly Token[];
  #index = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  disjunction(): Evaluator {
    let left = this.#conjunction();
    while (this.#take('||') || this.#take('or')) {
      const [before, right] = [left, this.#conjunction()];
      left = (variables) => truth(before(variables)) || truth(right(variables));
    }
    return left;
  }

  end(): void {
    const next = this.#tokens[this.#index];
    if (next !== undefined) throw new ExpressionError(`"${next.text}" is not expected`);
  }

  #conjunction(): Evaluator {
    let left = this.#negation();
    while (this.#take('&&') || this.#take('and')) {
      const [before, right] = [left, this.#negation()];
      left = (variables) => truth(before(variables)) && truth(right(variables));
    }
    return left;
  }

  #negation(): Evaluator {
    if (!this.#take('!') && !this.#take('not')) return this.#comparison();
    const operand = this.#negation();
    return (variables) => !truth(operand(variables));
  }

  #comparison(): Evaluator {
    const left = this.#sum();
    const isNegated = this.#peek() === 'not';
    if (isNegated) this.#index++;
    const compare = comparisons.get(this.#peek() ?? '');
    if (compare === undefined) {
      if (isNegated) throw new ExpressionError('an operator is missing after "not"');
      return left;
    }
    this.#index++;
    const right = this.#sum();
    return (variables) => compare(left(variables), right(variables)) !== isNegated;
  }

  #sum(): Evaluator {
    let left = this.#operand();
    while (this.#take('+')) {
      const [before, right] = [left, this.#operand()];
      left = (variables) => add(before(variables), right(variables));
    }
    return left;
  }

  #operand(): Evaluator {
    const token = this.#tokens[this.#index++];
    if (token === undefined) throw new ExpressionError('it ends too early');
    if (token.kind === 'text') return () => token.text;
    if (token.kind === 'number') return () => Number(token.text);
    if (token.kind === 'word') {
      if (token.text === 'true' || token.text === 'false') return () => token.text === 'true';
      if (this.#peek() === '(') throw new ExpressionError(`there is no function "${token.text}"`);
      return (variables) => (Object.hasOwn(variables, token.text) ? (variables[token.text] ?? '') : '');
    }
    if (token.text === '(') {
      const inner = this.disjunction();
      this.#expect(')');
      return inner;
    }
    if (token.text === '[') return this.#list();
    throw new ExpressionError(`"${token.text}" is not expected`);
  }

  #list(): Evaluator {
    const items: Evaluator[] = [];
    while (!this.#take(']')) {
      if (items.length > 0) this.#expect(',');
      items.push(this.disjunction());
    }
    return (variables) => items.map((item) => item(variables));
  }

  #peek(): string | undefined {
    const token = this.#tokens[this.#index];
    return token?.kind === 'sign' || token?.kind === 'word' ? token.text : undefined;
  }

  #take(text: string): boolean {
    if (this.#peek() !== text) return false;
    this.#index++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new ExpressionError(`"${text}" is missing`);
  }
}

function truth(value: Value): boolean {
  if (typeof value !== 'boolean') throw new ExpressionError(`${JSON.stringify(value)} is not true or false`);
  return value;
}

function add(left: Value, right: Value): Value {
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (Array.isArray(left) || Array.isArray(right)) throw new ExpressionError('lists cannot be added');
  return `${left}${right}`;
}
