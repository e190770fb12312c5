/**
 * Label selectors in the grammar of apimachinery `labels.Parse`: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`,
 * `a>1`, joined by commas.
 */
import { keyProblems, labelValueProblems } from './names.ts';
import { badRequest } from './status.ts';

export interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

/** Throws 400, in the words of Kubernetes, for a text that is no selector. */
export function parseLabelSelector(text: string): readonly Requirement[] {
  const parser = new Parser(tokensOf(text));
  return parser.selector();
}

interface Token {
  readonly kind: 'word' | 'symbol' | 'end';
  readonly text: string;
}

const operators = ['=', '==', 'in', '!=', 'notin', '>', '<'] as const;
type Operator = (typeof operators)[number];

/** As Go lists them, in the order of its constants. */
const binaryOperators = 'in, notin, =, ==, !=, gt, lt';

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  selector(): Requirement[] {
    const requirements: Requirement[] = [];
    if (this.#next.kind === 'end') return requirements;
    for (;;) {
      if (!this.#startsRequirement()) {
        const place = requirements.length === 0 ? "!, identifier, or 'end of string'" : "identifier after ','";
        throw badRequest(`found '${this.#next.text}', expected: ${place}`);
      }
      requirements.push(this.#requirement());
      const after = this.#take();
      if (after.kind === 'end') return requirements;
      if (after.text !== ',') throw badRequest(`found '${after.text}', expected: ',' or 'end of string'`);
    }
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' };
  }

  #take(): Token {
    const token = this.#next;
    this.#at += 1;
    return token;
  }

  #startsRequirement(): boolean {
    return this.#next.kind === 'word' || this.#next.text === '!';
  }

  #requirement(): Requirement {
    const isNegated = this.#next.text === '!';
    if (isNegated) this.#take();
    const { kind, text: key } = this.#take();
    if (kind !== 'word') throw wrong(`found '${key}', expected: identifier`);
    refuse('<nil>', key, keyProblems(key));
    if (this.#next.kind === 'end' || this.#next.text === ',') {
      return { key, operator: isNegated ? 'absent' : 'exists', values: [] };
    }
    if (isNegated) throw badRequest(`found '${this.#next.text}', expected: ',' or 'end of string'`);
    return this.#comparison(key);
  }

  #comparison(key: string): Requirement {
    const operator = this.#operator();
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#value()];
    const isOrder = operator === '>' || operator === '<';
    for (const [at, value] of values.entries()) {
      if (isOrder && !/^[+-]?\d+$/.test(value)) {
        refuse(`values[${at}]`, value, ["for 'Gt', 'Lt' operators, the value must be an integer"]);
      }
      refuse(`values[${at}][${key}]`, value, labelValueProblems(value));
    }
    return { key, operator: meanings[operator], values };
  }

  #operator(): Operator {
    const { text } = this.#take();
    const found = operators.find((operator) => operator === text);
    if (found === undefined) throw wrong(`found '${text}', expected: ${binaryOperators}`);
    return found;
  }

  #value(): string {
    if (this.#next.kind === 'end' || this.#next.text === ',') return '';
    const { kind, text } = this.#take();
    if (kind !== 'word') throw wrong(`found '${text}', expected: identifier`);
    return text;
  }

  #values(): string[] {
    const open = this.#take();
    if (open.text !== '(') throw wrong(`found '${open.text}' expected: '('`);
    const values = new Set<string>();
    for (;;) {
      if (this.#next.text === ')' || this.#next.text === ',') values.add('');
      else values.add(this.#listed());
      const { text, kind } = this.#take();
      if (text === ')') return [...values].sort();
      if (text !== ',' || kind !== 'symbol') throw wrong(`found '${text}', expected: ',' or ')'`);
    }
  }

  #listed(): string {
    const { kind, text } = this.#take();
    if (kind !== 'word') throw wrong(`found '${text}', expected: ',', ')' or identifier`);
    return text;
  }
}

const meanings: Readonly<Record<Operator, Requirement['operator']>> = {
  '=': 'in',
  '==': 'in',
  in: 'in',
  '!=': 'notin',
  notin: 'notin',
  '>': 'gt',
  '<': 'lt',
};

function tokensOf(text: string): Token[] {
  return [...text.matchAll(/==|!=|[=!(),<>]|[^=!(),<>\s]+/g)].map(([token]) => ({
    kind: /^[=!(),<>]/.test(token) ? 'symbol' : 'word',
    text: token,
  }));
}

function wrong(why: string): Error {
  return badRequest(`unable to parse requirement: ${why}`);
}

function refuse(field: string, value: string, problems: readonly string[]): void {
  if (problems.length === 0) return;
  throw wrong(`${field}: Invalid value: ${JSON.stringify(value)}: ${problems.join('; ')}`);
}
