/** What Go's encoding/json and fmt say about JSON, as far as it is seen in the API server's answers. */
import { isObject, type Json } from '../json.ts';

/** The error of Go for a text that is no JSON. */
export function syntaxError(text: string): string {
  const scanner = new Scanner(text);
  try {
    scanner.document();
  } catch (error) {
    if (error instanceof SyntaxProblem) return error.message;
    throw error;
  }
  return 'unexpected end of JSON input';
}

/** The kind of a value in Go's errors. */
export function goKind(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}

/** As `%v` prints what was decoded without a type: `map[a:1 b:[x y]]`. */
export function goPrinted(value: Json): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(goPrinted).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const keys = Object.keys(value).sort();
  return `map[${keys.map((key) => `${key}:${goPrinted(value[key] ?? null)}`).join(' ')}]`;
}

class SyntaxProblem extends Error {}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): void {
    this.#value();
    this.#space();
    if (this.#at < this.#text.length) this.#refuse('after top-level value');
  }

  #value(): void {
    this.#space();
    const char = this.#text[this.#at];
    if (char === '{') this.#object();
    else if (char === '[') this.#array();
    else if (char === '"') this.#string();
    else if (char !== undefined && /[-\d]/.test(char)) this.#number();
    else if (char === 't') this.#literal('true');
    else if (char === 'f') this.#literal('false');
    else if (char === 'n') this.#literal('null');
    else this.#refuse('looking for beginning of value');
  }

  #object(): void {
    this.#at += 1;
    this.#space();
    if (this.#takes('}')) return;
    for (;;) {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#refuse('looking for beginning of object key string');
      this.#string();
      this.#space();
      if (!this.#takes(':')) this.#refuse('after object key');
      this.#value();
      this.#space();
      if (this.#takes('}')) return;
      if (!this.#takes(',')) this.#refuse('after object key:value pair');
    }
  }

  #array(): void {
    this.#at += 1;
    this.#space();
    if (this.#takes(']')) return;
    for (;;) {
      this.#value();
      this.#space();
      if (this.#takes(']')) return;
      if (!this.#takes(',')) this.#refuse('after array element');
    }
  }

  #string(): void {
    this.#at += 1;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined || char < ' ') this.#refuse('in string literal');
      this.#at += 1;
      if (char === '"') return;
      if (char === '\\') this.#escape();
    }
  }

  #escape(): void {
    if (!/["\\/bfnrtu]/.test(this.#text[this.#at] ?? '')) this.#refuse('in string escape code');
    const isCode = this.#takes('u');
    if (!isCode) this.#at += 1;
    for (let digit = 0; isCode && digit < 4; digit += 1) {
      if (!/[\da-fA-F]/.test(this.#text[this.#at] ?? '')) this.#refuse('in \\u hexadecimal character escape');
      this.#at += 1;
    }
  }

  #number(): void {
    this.#takes('-');
    if (!this.#takes('0')) this.#digits('in numeric literal');
    if (this.#takes('.')) this.#digits('after decimal point in numeric literal');
    if (!this.#takes('e') && !this.#takes('E')) return;
    if (!this.#takes('+')) this.#takes('-');
    this.#digits('in exponent of numeric literal');
  }

  #digits(place: string): void {
    if (!/\d/.test(this.#text[this.#at] ?? '')) this.#refuse(place);
    while (/\d/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #literal(word: string): void {
    for (const char of word) {
      if (!this.#takes(char)) this.#refuse(`in literal ${word} (expecting '${char}')`);
    }
  }

  #space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #takes(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #refuse(place: string): never {
    const char = this.#text[this.#at];
    if (char === undefined) throw new SyntaxProblem('unexpected end of JSON input');
    throw new SyntaxProblem(`invalid character ${quoted(char)} ${place}`);
  }
}

function quoted(char: string): string {
  if (char === "'") return "'\\''";
  return char === '"' ? `'"'` : `'${JSON.stringify(char).slice(1, -1)}'`;
}
