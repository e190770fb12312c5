/** deploy/role.yaml grants what the start check asks for: no more and no less. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { roleText } from '../../src/kube/access.ts';

it('the Role in deploy/ is the one that errors print', () => {
  const file = readFileSync(new URL('../../deploy/role.yaml', import.meta.url), 'utf8');
  const role = parseAllDocuments(file).map((document) => document.toJS() as { kind: string; rules?: unknown })[0];
  const printed = parse(roleText('builds')) as { rules: unknown };
  expect(role?.kind).toBe('Role');
  expect(role?.rules).toEqual(printed.rules);
});
