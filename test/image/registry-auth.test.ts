// Challenges are read as RFC 9110 has them, and credentials go only where they are safe.
import { expect, test } from 'vitest';
import { authorize, parseChallenges } from '../../src/image/registry-auth.ts';

test.each([
  ['Basic realm="a b"', [{ scheme: 'basic', parameters: { realm: 'a b' } }]],
  [
    'BEARER Realm="https://t/x?a=1",service=plain',
    [{ scheme: 'bearer', parameters: { realm: 'https://t/x?a=1', service: 'plain' } }],
  ],
  [
    'Bearer realm="t", scope="repository:a:pull,push", error="x \\"y\\""',
    [{ scheme: 'bearer', parameters: { realm: 't', scope: 'repository:a:pull,push', error: 'x "y"' } }],
  ],
  [
    'Negotiate, Basic realm="r", Bearer realm = "t"',
    [
      { scheme: 'negotiate', parameters: {} },
      { scheme: 'basic', parameters: { realm: 'r' } },
      { scheme: 'bearer', parameters: { realm: 't' } },
    ],
  ],
  ['', []],
  ['=;=', []],
])('%s', (header, expected) => {
  expect(parseChallenges(header)).toEqual(expected);
});

const login = { kind: 'password', username: 'me', password: 'secret' } as const;
const asked = (header: string, registry = 'https://r.example/v2/') => ({
  challenges: parseChallenges(header),
  registry: new URL(registry),
  scope: 'repository:a:pull,push',
  credentials: login,
  fetch: () => Promise.resolve(Response.json({ token: 'T' })),
});

test('a password is not sent over plain text to a token service of a registry with TLS', async () => {
  const unsafe = asked('Bearer realm="http://t.example/token"');
  const never = () => Promise.reject(new Error('was sent'));
  await expect(authorize({ ...unsafe, fetch: never })).rejects.toMatchObject({
    code: 'ERR_PODWRIGHT_PLACEHOLDER',
    message: expect.stringContaining('plain text'),
  });
  expect(await authorize(asked('Bearer realm="https://t.example/token"'))).toBe('Bearer T');
  expect(await authorize(asked('Bearer realm="http://t.example/token"', 'http://localhost:5000/v2/'))).toBe('Bearer T');
});

test('a challenge without a usable token service is an error, an unknown one is not answered', async () => {
  for (const header of ['Bearer', 'Bearer realm=""', 'Bearer realm="file:///etc/passwd"', 'Bearer realm="/token"']) {
    await expect(authorize(asked(header)), header).rejects.toMatchObject({
      message: expect.stringContaining('no token service'),
    });
  }
  expect(await authorize(asked('Negotiate'))).toBeUndefined();
  expect(await authorize({ ...asked('Basic realm="r"'), credentials: undefined })).toBeUndefined();
});

test('service and scope are added to what the realm asks already', async () => {
  const urls: string[] = [];
  const fetch = (url: URL) => {
    urls.push(url.href);
    return Promise.resolve(Response.json({ access_token: 'T' }));
  };
  await authorize({ ...asked('Bearer realm="https://t.example/token?account=x",service="s v"'), fetch });
  expect(urls).toEqual(['https://t.example/token?account=x&service=s+v&scope=repository%3Aa%3Apull%2Cpush']);
});
