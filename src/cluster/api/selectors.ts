/** Label and field selectors of list and watch. */
import type { ApiObject } from '../types.ts';
import { parseLabelSelector, type Requirement } from './label-selector.ts';
import { badRequest } from './status.ts';

export type Matcher = (object: ApiObject) => boolean;

/** Throws 400 for a text that is no selector. */
export function labelMatcher(text: string): Matcher {
  const requirements = parseLabelSelector(text);
  return ({ metadata }) => requirements.every((requirement) => holds(requirement, metadata.labels ?? {}));
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
    // Unescaped, these would be operators of their own.
    if (/(?<!\\)=/.test(raw)) throw badRequest('invalid field selector: unescaped character in value: 61');
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
