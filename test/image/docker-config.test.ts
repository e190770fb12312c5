// Credentials are found where docker and podman leave them, and what is broken is said without showing a secret.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { registryCredentials } from '../../src/image/docker-config.ts';

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'docker-'));
  file = join(folder, 'config.json');
  vi.stubEnv('PATH', `${folder}${delimiter}${process.env['PATH']}`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const write = (config: unknown) => writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config));
const auth = (text: string) => ({ auth: Buffer.from(text).toString('base64') });
const helper = (name: string, script: string) => {
  writeFileSync(join(folder, `docker-credential-${name}`), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, `docker-credential-${name}`), 0o755);
};
const password = (username: string, secret: string) => ({ kind: 'password', username, password: secret });

test('a file that is not there, or has nothing for the registry, means no credentials', async () => {
  expect(await registryCredentials(join(folder, 'absent'), 'r.example')).toBeUndefined();
  for (const config of [{}, { auths: {} }, { auths: { 'other.example': auth('a:b'), 'r.example': {} } }]) {
    write(config);
    expect(await registryCredentials(file, 'r.example')).toBeUndefined();
  }
});

test('every form of an entry is read', async () => {
  const forms = [
    [auth('me:pass:word'), password('me', 'pass:word')],
    [{ username: 'me', password: 'secret' }, password('me', 'secret')],
    [
      { ...auth('me:x'), identitytoken: 'refresh' },
      { kind: 'identityToken', token: 'refresh' },
    ],
    [{ registrytoken: 'bearer' }, { kind: 'registryToken', token: 'bearer' }],
  ] as const;
  for (const [entry, expected] of forms) {
    write({ auths: { 'r.example:5000': entry } });
    expect(await registryCredentials(file, 'r.example:5000')).toEqual(expected);
  }
});

test('a registry is found by its host, also under an old URL, and the default one under its own', async () => {
  write({
    auths: {
      'https://old.example/v1/': auth('old:1'),
      'https://index.docker.io/v1/': auth('hub:2'),
      'r.example': auth('r:3'),
    },
  });
  expect(await registryCredentials(file, 'old.example')).toEqual(password('old', '1'));
  expect(await registryCredentials(file, 'docker.io')).toEqual(password('hub', '2'));
  expect(await registryCredentials(file, 'r.example:5000'), 'another port is another registry').toBeUndefined();
});

test('a helper of the registry goes before the store, the store before the file', async () => {
  helper(
    'mine',
    `read host; echo "{\\"ServerURL\\":\\"$host\\",\\"Username\\":\\"mine\\",\\"Secret\\":\\"$1 $host\\"}"`,
  );
  helper(
    'store',
    `read host; case $host in r.example) echo '{"Username":"<token>","Secret":"t"}';; *) echo "credentials not found in native keychain"; exit 1;; esac`,
  );
  write({
    auths: { 'r.example': auth('file:1'), 'other.example': auth('file:2') },
    credHelpers: { 'h.example': 'mine', 'docker.io': 'mine' },
    credsStore: 'store',
  });
  expect(await registryCredentials(file, 'h.example')).toEqual(password('mine', 'get h.example'));
  expect(await registryCredentials(file, 'docker.io')).toEqual(password('mine', 'get https://index.docker.io/v1/'));
  expect(await registryCredentials(file, 'r.example')).toEqual({ kind: 'identityToken', token: 't' });
  expect(await registryCredentials(file, 'other.example')).toEqual(password('file', '2'));
});

test('a file that docker would not write is an error with its path', async () => {
  const broken = [
    '{',
    '[]',
    'null',
    { auths: 1 },
    { auths: { r: 'x' } },
    { auths: { r: { auth: 1 } } },
    { credHelpers: { r: 1 } },
    { credsStore: 1 },
  ];
  for (const config of broken) {
    write(config);
    await expect(registryCredentials(file, 'r'), JSON.stringify(config)).rejects.toMatchObject({
      code: 'ERR_PODWRIGHT_CONFIG',
      message: expect.stringContaining(file),
    });
  }
  write({ auths: { r: { auth: Buffer.from('nocolon').toString('base64') } } });
  await expect(registryCredentials(file, 'r')).rejects.toMatchObject({ remedy: 'Log in again.' });
  await expect(registryCredentials(folder, 'r'), 'a folder').rejects.toMatchObject({ code: 'ERR_PODWRIGHT_CONFIG' });
});

test('a helper that does not work is an error that shows no secret', async () => {
  write({ credHelpers: { r: 'h' } });
  await expect(registryCredentials(file, 'r')).rejects.toMatchObject({
    message: expect.stringContaining('cannot be started'),
  });
  const cases = [
    ['echo broken; exit 3', 'failed for r: broken'],
    ['exit 3', 'exit code 3'],
    ['echo s3cret', 'did not answer in JSON'],
    [`echo '"s3cret"'`, 'did not answer with an object'],
    [`echo '{"Secret":"s3cret"}'`, 'without Username or Secret'],
  ];
  for (const [script = '', said] of cases) {
    helper('h', script);
    const error = await registryCredentials(file, 'r').catch((reason: unknown) => reason);
    expect(error, script).toMatchObject({ code: 'ERR_PODWRIGHT_CONFIG', message: expect.stringContaining(said ?? '') });
    expect(String((error as Error).cause)).not.toContain('s3cret');
    expect(String(error)).not.toContain('s3cret');
  }
  write({ credHelpers: { r: '../../bin/sh' } });
  await expect(registryCredentials(file, 'r')).rejects.toMatchObject({
    message: expect.stringContaining('not the name'),
  });
});
