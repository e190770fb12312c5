/** Label and field selectors of list and watch. */
import type { ApiObject } from '../types.ts';
import { badRequest } from './status.ts';

export type Matcher = (object: ApiObject) => boolean;

interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

const keyPattern = '[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?';
const forms: readonly [RegExp, (parts: RegExpMatchArray) => Requirement][] = [
  [new RegExp(`^!\\s*(${keyPattern})$`), ([, key = '']) => ({ key, operator: 'absent', values: [] })],
  [new RegExp(`^(${keyPattern})$`), ([, key = '']) => ({ key, operator: 'exists', values: [] })],
  [
    new RegExp(`^(${keyPattern})\\s+(in|notin)\\s*\\(([^()]*)\\)$`),
    ([, key = '', operator, list = '']) => ({
      key,
      operator: operator === 'in' ? 'in' : 'notin',
      values: list.split(',').map((value) => value.trim()),
    }),
  ],
  [
    new RegExp(`^(${keyPattern})\\s*(==|=|!=)\\s*([A-Za-z0-9._-]*)$`),
    ([, key = '', operator, value = '']) => ({ key, operator: operator === '!=' ? 'notin' : 'in', values: [value] }),
  ],
  [
    new RegExp(`^(${keyPattern})\\s*(>|<)\\s*(-?\\d+)$`),
    ([, key = '', operator, value = '']) => ({ key, operator: operator === '>' ? 'gt' : 'lt', values: [value] }),
  ],
];

/** Throws 400 for a text that is no selector. */
export function labelMatcher(text: string): Matcher {
  const requirements = split(text).map((part) => parse(part.trim(), text));
  return ({ metadata }) => requirements.every((requirement) => holds(requirement, metadata.labels ?? {}));
}

function parse(part: string, whole: string): Requirement {
  for (const [form, build] of forms) {
    const parts = part.match(form);
    if (parts !== null) return build(parts);
  }
  throw badRequest(`unable to parse requirement: found '${part}', in selector "${whole}"`);
}

function holds({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[key];
  switch (operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'gt':
      return value !== undefined && Number(value) > Number(values[0]);
    case 'lt':
      return value !== undefined && Number(value) < Number(values[0]);
  }
}

/** Splits at commas outside brackets. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = '';
  for (const char of text) {
    if (char === '(') depth += 1;
    if (char === ')') depth -= 1;
    if (char === ',' && depth === 0) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  return text.trim() === '' ? [] : [...parts, part];
}

/** How a resource reads each field that may be selected by. */
export type SelectableFields = Readonly<Record<string, (object: ApiObject) => string>>;

export interface FieldSelector {
  readonly matches: Matcher;
  /** The value that `metadata.name` must equal, when there is one. */
  readonly name: string | undefined;
}

/** Throws 400 for a field that the resource does not offer. */
export function fieldSelector(text: string, fields: SelectableFields): FieldSelector {
  const terms = unescapedSplit(text).map((term) => {
    const parts = term.match(/^([^=!]+?)\s*(==|=|!=)\s*(.*)$/s);
    if (parts === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator = '=', raw = ''] = parts;
    const read = fields[field];
    if (read === undefined) throw badRequest(`field label not supported: ${field}`);
    return { field, read, wanted: raw.replace(/\\([\\,=])/g, '$1'), equals: operator !== '!=' };
  });
  return {
    matches: (object) => terms.every(({ read, wanted, equals }) => (read(object) === wanted) === equals),
    name: terms.find(({ field, equals }) => field === 'metadata.name' && equals)?.wanted,
  };
}

function unescapedSplit(text: string): string[] {
  return text
    .split(/(?<!\\),/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}
