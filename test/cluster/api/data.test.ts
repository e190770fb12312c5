/** What the keys and values of Secrets and ConfigMaps may be, and what of them may change. */
import { expect, test } from 'vitest';
import { merge } from '../memory-client.ts';
import { startStand } from '../stand.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const secrets = '/api/v1/namespaces/default/secrets';

test.each([
  [
    'a key with a space',
    maps,
    { data: { 'a b': '' } },
    422,
    'data[a b]: Invalid value: "a b": a valid config key must',
  ],
  ['the key ..', maps, { data: { '..': '' } }, 422, "must not be '..'"],
  [
    'a key above',
    maps,
    { binaryData: { '..a': '' } },
    422,
    'binaryData[..a]: Invalid value: "..a": must not start with \'..\'',
  ],
  [
    'more than 1 MiB',
    maps,
    { data: { a: 'x'.repeat(1024 * 1024 + 1) } },
    422,
    'Too long: may not be more than 1048576 bytes',
  ],
  [
    'a number',
    maps,
    { data: { a: 1 } },
    400,
    'cannot unmarshal number into Go struct field ConfigMap.data of type string',
  ],
  ['no base64', secrets, { data: { a: 'a' } }, 400, 'illegal base64 data at input byte'],
])('%s is refused', async (_what, path, body, code, text) => {
  const { send } = await startStand();
  const answer = await send('POST', path, { metadata: { name: 'x' }, ...body });
  expect(answer.body).toMatchObject({ code, status: 'Failure' });
  expect(answer.body.message).toContain(text);
});

test('stringData ends up in data, encoded', async () => {
  const { send } = await startStand();
  const answer = await send('POST', secrets, { metadata: { name: 'x' }, stringData: { a: 'b' } });
  expect(answer.body).toMatchObject({ type: 'Opaque', data: { a: 'Yg==' } });
  expect(answer.body.stringData).toBeUndefined();
});

test('what is immutable stays so, and may still be labeled', async () => {
  const { send } = await startStand();
  await send('POST', maps, { metadata: { name: 'x' }, data: { a: 'b' }, immutable: true });
  const refused = await send('PATCH', `${maps}/x`, { data: { a: 'c' } }, merge);
  expect(refused.body.message).toBe(
    'ConfigMap "x" is invalid: data: Forbidden: field is immutable when `immutable` is set',
  );
  expect((await send('PATCH', `${maps}/x`, { metadata: { labels: { a: 'b' } } }, merge)).status).toBe(200);
});
