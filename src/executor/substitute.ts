/**
 * Variables in a pipeline: `${NAME}` and the string operations of the format, `$${` for a literal `${`.
 *
 * A form whose variable is not known stays as it is written, so that a shell can resolve it; so does `$NAME`, always.
 * In commands everything that a POSIX shell understands is left to it: each variable is in its environment, and a
 * commit message with a backtick in it must not become a command.
 */
import { matchesGlob } from '../image/glob.ts';

/** The value of a variable; undefined when there is none of that name. */
export type Lookup = (name: string) => string | undefined;

/** For every field but commands. A default (`${NAME:-default}`) is used when the variable is not known. */
export function substitute(text: string, lookup: Lookup): string {
  return replaceForms(text, (form) => {
    const value = lookup(form.name);
    const argument = substitute(form.argument, lookup);
    if (value === undefined) return defaulting.has(form.operator) ? argument : undefined;
    return apply(form, value, argument);
  });
}

/** For a shell command: replaces what `/bin/sh` would not, quoted for the place where it stands. */
export function substituteCommand(text: string, lookup: Lookup): string {
  return replaceForms(text, (form, at) => {
    const quote = quoteAt(text, at);
    const value = lookup(form.name);
    if (value === undefined || (posix.has(form.operator) && quote !== "'")) return undefined;
    const replaced = apply(form, value, substitute(form.argument, lookup));
    return replaced === undefined ? undefined : quoted(replaced, quote);
  });
}

/** Whether anything in the text would be replaced if its variable were known. */
export function hasVariable(text: string): boolean {
  let found = false;
  replaceForms(text, () => {
    found = true;
    return undefined;
  });
  return found;
}

interface Form {
  readonly name: string;
  /** Empty for the plain form, `length` for `${#NAME}`. */
  readonly operator: string;
  readonly argument: string;
}

const defaulting: ReadonlySet<string> = new Set([':-', '-', ':=', '=']);
const posix: ReadonlySet<string> = new Set([
  '',
  'length',
  ':-',
  '-',
  ':=',
  '=',
  ':?',
  '?',
  ':+',
  '+',
  '#',
  '##',
  '%',
  '%%',
]);
/** The longer ones first. */
const operators = [
  '//',
  '/#',
  '/%',
  '/',
  '##',
  '#',
  '%%',
  '%',
  '^^',
  '^',
  ',,',
  ',',
  ':-',
  ':=',
  ':?',
  ':+',
  ':',
  '-',
  '=',
  '?',
  '+',
];

function replaceForms(text: string, replace: (form: Form, at: number) => string | undefined): string {
  let result = '';
  let index = 0;
  while (index < text.length) {
    const dollar = text.indexOf('$', index);
    if (dollar === -1) break;
    result += text.slice(index, dollar);
    if (text.startsWith('$${', dollar)) {
      result += '${';
      index = dollar + 3;
      continue;
    }
    const end = text[dollar + 1] === '{' ? closingBrace(text, dollar + 2) : -1;
    const form = end === -1 ? undefined : readForm(text.slice(dollar + 2, end));
    const written = end === -1 ? '$' : text.slice(dollar, end + 1);
    result += (form === undefined ? undefined : replace(form, dollar)) ?? written;
    index = dollar + written.length;
  }
  return result + text.slice(index);
}

/** The index of the brace that closes the form whose inside starts at `from`, or -1. */
function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let index = from; index < text.length; index++) {
    if (text.startsWith('${', index)) depth++;
    else if (text[index] === '}' && --depth === 0) return index;
  }
  return -1;
}

function readForm(inside: string): Form | undefined {
  const length = /^#([A-Za-z_]\w*)$/.exec(inside);
  if (length !== null) return { name: length[1] ?? '', operator: 'length', argument: '' };
  const name = /^[A-Za-z_]\w*/.exec(inside)?.[0];
  if (name === undefined) return undefined;
  const rest = inside.slice(name.length);
  if (rest === '') return { name, operator: '', argument: '' };
  const operator = operators.find((candidate) => rest.startsWith(candidate));
  return operator === undefined ? undefined : { name, operator, argument: rest.slice(operator.length) };
}

function apply(form: Form, value: string, argument: string): string | undefined {
  switch (form.operator) {
    case '':
      return value;
    case 'length':
      return String([...value].length);
    case ':-':
    case ':=':
      return value === '' ? argument : value;
    case '-':
    case '=':
    case '?':
    case ':?':
      return value;
    case ':+':
      return value === '' ? '' : argument;
    case '+':
      return argument;
    case '^':
      return value.slice(0, 1).toUpperCase() + value.slice(1);
    case '^^':
      return value.toUpperCase();
    case ',':
      return value.slice(0, 1).toLowerCase() + value.slice(1);
    case ',,':
      return value.toLowerCase();
    case ':':
      return slice(value, argument);
    case '#':
    case '##':
      return trimStart(value, argument, form.operator === '##');
    case '%':
    case '%%':
      return trimEnd(value, argument, form.operator === '%%');
    default:
      return replaceIn(value, form.operator, argument);
  }
}

/** `position` or `position:length`, both may count from the end. */
function slice(value: string, argument: string): string | undefined {
  const match = /^\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?$/.exec(argument);
  if (match === null) return undefined;
  const characters = [...value];
  const position = Number(match[1]);
  const start = position < 0 ? Math.max(0, characters.length + position) : position;
  const length = match[2] === undefined ? characters.length : Number(match[2]);
  return characters.slice(start, length < 0 ? length : start + length).join('');
}

function trimStart(value: string, pattern: string, isLongest: boolean): string {
  const ends = Array.from({ length: value.length + 1 }, (_, index) => index);
  if (isLongest) ends.reverse();
  const end = ends.find((index) => matches(pattern, value.slice(0, index)));
  return end === undefined ? value : value.slice(end);
}

function trimEnd(value: string, pattern: string, isLongest: boolean): string {
  const starts = Array.from({ length: value.length + 1 }, (_, index) => value.length - index);
  if (isLongest) starts.reverse();
  const start = starts.find((index) => matches(pattern, value.slice(index)));
  return start === undefined ? value : value.slice(0, start);
}

/** In a value, unlike in a path, `*` stands for slashes too. */
function matches(pattern: string, text: string): boolean {
  const noSlash = (part: string): string => part.replaceAll('/', '\u0000');
  return matchesGlob(noSlash(pattern), noSlash(text));
}

/** The argument is `old/new`; a missing `new` removes. */
function replaceIn(value: string, operator: string, argument: string): string {
  const slash = argument.indexOf('/');
  const from = slash === -1 ? argument : argument.slice(0, slash);
  const to = slash === -1 ? '' : argument.slice(slash + 1);
  if (from === '') return value;
  switch (operator) {
    case '//':
      return value.split(from).join(to);
    case '/#':
      return value.startsWith(from) ? to + value.slice(from.length) : value;
    case '/%':
      return value.endsWith(from) ? value.slice(0, -from.length) + to : value;
    default: {
      const at = value.indexOf(from);
      return at === -1 ? value : value.slice(0, at) + to + value.slice(at + from.length);
    }
  }
}

type Quote = '' | "'" | '"';

/** Which quotes are open at this place of a shell command. */
function quoteAt(text: string, at: number): Quote {
  let quote: Quote = '';
  for (let index = 0; index < at; index++) {
    const char = text[index];
    if (char === '\\' && quote !== "'") index++;
    else if (quote === '' && (char === "'" || char === '"')) quote = char;
    else if (quote === char) quote = '';
  }
  return quote;
}

/** A text that the shell reads as itself, in the quotes that are open. */
function quoted(text: string, quote: Quote): string {
  if (/^[\w./:@%+,=-]*$/.test(text)) return text;
  if (quote === '"') return text.replace(/[\\"$`]/g, '\\$&');
  const inner = text.replaceAll("'", "'\\''");
  return quote === "'" ? inner : `'${inner}'`;
}
