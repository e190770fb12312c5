/** OpenAPI says what kubectl looks for: kinds, fields that must be there, and which operations validate. */
import { expect, test } from 'vitest';
import { podKind } from '../../../src/cluster/api/pods/kind.ts';
import { coreMessages } from '../../../src/cluster/api/protobuf-core.ts';
import type { Schema } from '../../../src/cluster/api/schema.ts';
import { startStand } from '../stand.ts';

test('v2 holds what v3 holds, with references of its own', async () => {
  const { send } = await startStand();
  const { paths } = (await send('GET', '/openapi/v3')).body;
  const v3 = (await send('GET', paths['api/v1'].serverRelativeURL)).body;
  const v2 = (await send('GET', '/openapi/v2')).body;
  expect(Object.keys(v2.definitions)).toEqual(expect.arrayContaining(Object.keys(v3.components.schemas)));
  expect(Object.keys(v2.paths)).toEqual(expect.arrayContaining(Object.keys(v3.paths)));
  expect(JSON.stringify(v2)).not.toContain('#/components/');
  const { properties, required } = v2.definitions['io.k8s.api.core.v1.PodSpec'];
  expect(required).toEqual(['containers']);
  expect(properties.containers.items.$ref).toBe('#/definitions/io.k8s.api.core.v1.Container');
  const { patch } = v2.paths['/api/v1/namespaces/{namespace}/pods/{name}'];
  expect(patch.parameters.map(({ name }: { name: string }) => name)).toContain('fieldValidation');
});

test('v2 is given in protobuf to who asks for it, in either spelling', async () => {
  const { send } = await startStand();
  for (const sign of ['@', '.']) {
    const accept = `application/com.github.proto-openapi.spec.v2${sign}v1.0+protobuf`;
    const answer = await send('GET', '/openapi/v2', undefined, { headers: { accept } });
    expect(answer.headers['content-type']).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    // Field 1, of three bytes: swagger.
    expect(answer.text.startsWith('\n\u00032.0')).toBe(true);
  }
});

test('every field of a pod that is served can come in protobuf', () => {
  const missing: string[] = [];
  const visit = (schema: Schema, message: string, path: string): void => {
    if (schema.kind === 'list') visit(schema.items, message, path);
    if (schema.kind !== 'object' || coreMessages[message] === undefined) return;
    const fields = fieldsOf(message);
    for (const [name, field] of Object.entries(schema.fields)) {
      const kind = fields.get(name);
      if (kind === undefined && name !== 'kind' && name !== 'apiVersion') missing.push(`${path}.${name}`);
      else if (kind !== undefined) visit(field, kind.replace('[]', ''), `${path}.${name}`);
    }
  };
  visit(podKind, 'Pod', 'pod');
  // Of 1.35 only, where it was an alpha field.
  expect(missing).toEqual(['pod.spec.workloadRef']);
});

function fieldsOf(message: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const field of coreMessages[message]?.split(', ') ?? []) {
    const [, name = '', kind = ''] = field.split(' ');
    if (name.startsWith('~')) for (const [inner, of] of fieldsOf(name.slice(1))) fields.set(inner, of);
    else fields.set(name, kind);
  }
  return fields;
}
