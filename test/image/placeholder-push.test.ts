// A push leaves the whole image in the registry, whatever way of authorization and upload it wants, and says what went
// wrong where it cannot.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import type { PodwrightError } from '../../src/errors.ts';
import type { OciImage } from '../../src/image/oci.ts';
import { buildPlaceholderImage } from '../../src/image/placeholder-image.ts';
import type { PushOptions } from '../../src/image/registry-push.ts';
import { pushImage } from '../../src/image/registry-push.ts';
import type { Answer, Behaviour } from '../helpers/registry.ts';
import { failure, TestRegistry } from '../helpers/registry.ts';

const image = await buildPlaceholderImage();
const now = { retryDelaysMs: [0, 0] };

let folder = '';
let registry: TestRegistry | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'push-'));
});
afterEach(async () => {
  await registry?.stop();
  registry = undefined;
  rmSync(folder, { recursive: true });
});

async function start(behaviour?: Behaviour): Promise<TestRegistry> {
  registry = await TestRegistry.start(behaviour);
  return registry;
}
const push = (to: TestRegistry, options: PushOptions = {}) =>
  pushImage(image, `${to.host}/a/b:1`, { ...now, ...options });
const pushFails = async (to: TestRegistry, options: PushOptions = {}): Promise<PodwrightError> => {
  const error = await push(to, options).then(
    () => new Error('the push did not fail'),
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_PLACEHOLDER' });
  return error as PodwrightError;
};

function expectWhole({ blobs, manifests }: TestRegistry, expected: OciImage = image): void {
  expect(manifests.get('1')?.bytes).toEqual(expected.index.bytes);
  expect(manifests.get('1')?.type).toBe(expected.index.descriptor.mediaType);
  for (const { manifest, config, layers } of expected.images) {
    expect(manifests.get(manifest.descriptor.digest)?.bytes).toEqual(manifest.bytes);
    for (const blob of [config, ...layers]) expect(blobs.get(blob.descriptor.digest)).toEqual(blob.bytes);
  }
}

describe('what is pushed', () => {
  test('blobs come before manifests, manifests before the index, and the answer pins the image', async () => {
    const to = await start();
    expect(await push(to)).toEqual({
      pinned: `${to.host}/a/b@${image.index.descriptor.digest}`,
      uploaded: 4,
      present: 0,
    });
    expectWhole(to);
    const upload = [
      'HEAD /v2/a/b/blobs/DIGEST',
      'POST /v2/a/b/blobs/uploads/',
      expect.stringMatching(/^PUT .*&digest=DIGEST$/),
    ];
    expect(to.calls).toEqual([
      ...upload,
      ...upload,
      ...upload,
      ...upload,
      'PUT /v2/a/b/manifests/DIGEST',
      'PUT /v2/a/b/manifests/DIGEST',
      'PUT /v2/a/b/manifests/1',
    ]);
  });

  test('what is there already is not sent again', async () => {
    const to = await start();
    await push(to);
    expect(await push(to)).toMatchObject({ uploaded: 0, present: 4 });
    expect(to.calls.filter((call) => call.startsWith('POST'))).toHaveLength(4);
  });

  test('a registry that wants chunks gets them', async () => {
    const to = await start({ chunksOnly: true });
    await push(to);
    expectWhole(to);
    expect(to.calls.filter((call) => call.startsWith('PATCH'))).toHaveLength(4);
  });

  test('an upload goes where the registry says, by path or by URL', async () => {
    const to = await start({ location: (path, origin) => `${origin}${path}` });
    await push(to);
    expectWhole(to);
  });
});

describe('authorization', () => {
  const config = (content: object) => {
    const file = join(folder, 'config.json');
    writeFileSync(file, JSON.stringify(content));
    return file;
  };
  const login = (to: TestRegistry, text: string) =>
    config({ auths: { [to.host]: { auth: Buffer.from(text).toString('base64') } } });

  test('basic: the password is sent once asked for, and then with every request', async () => {
    const to = await start({ auth: { kind: 'basic', login: 'me:pass:word' } });
    await push(to, { dockerConfig: login(to, 'me:pass:word') });
    expectWhole(to);
    expect(to.seen.map(({ authorization }) => authorization !== undefined).indexOf(true)).toBe(1);
    expect(to.seen.slice(1).every(({ authorization }) => authorization?.startsWith('Basic '))).toBe(true);
  });

  test('bearer: one token for the whole push, asked for with the password', async () => {
    const to = await start({ auth: { kind: 'bearer', login: 'me:secret' } });
    await push(to, { dockerConfig: login(to, 'me:secret') });
    expectWhole(to);
    expect(to.calls.filter((call) => call.includes('/token'))).toHaveLength(1);
    const withPassword = to.seen.filter(({ authorization }) => authorization?.startsWith('Basic '));
    expect(withPassword.map(({ path }) => path.split('?')[0])).toEqual(['/token']);
  });

  test('bearer: anonymous where the registry allows it', async () => {
    const to = await start({ auth: { kind: 'bearer' } });
    await push(to, { dockerConfig: join(folder, 'absent.json') });
    expectWhole(to);
  });

  test('bearer: an identity token is a refresh token', async () => {
    const to = await start({ auth: { kind: 'bearer', login: 'me:secret', identityToken: 'refresh-me' } });
    await push(to, { dockerConfig: config({ auths: { [to.host]: { identitytoken: 'refresh-me' } } }) });
    expectWhole(to);
  });

  test('bearer: a token that runs out during the push is renewed', async () => {
    const to = await start({
      auth: { kind: 'bearer', login: 'me:secret' },
      intercept: (_, count) => void (count === 9 && registry?.tokens.clear()),
    });
    await push(to, { dockerConfig: login(to, 'me:secret') });
    expectWhole(to);
    expect(to.calls.filter((call) => call.includes('/token'))).toHaveLength(2);
  });

  test('a registry token is used as it is', async () => {
    const to = await start({ auth: { kind: 'bearer', login: 'me:secret' } });
    to.tokens.add('given');
    await push(to, { dockerConfig: config({ auths: { [to.host]: { registrytoken: 'given' } } }) });
    expectWhole(to);
  });

  test('without credentials, or with wrong ones, the error says to log in', async () => {
    const to = await start({ auth: { kind: 'basic', login: 'me:secret' } });
    const without = await pushFails(to);
    expect(without.message).toBe(
      `${to.host} refused the push: HEAD /v2/a/b/blobs/${image.images[0]?.layers[0]?.descriptor.digest} was answered with 401`,
    );
    expect(without.remedy).toBe(`Log in first: docker login ${to.host}`);
    const wrong = await pushFails(to, { dockerConfig: login(to, 'me:wrong') });
    expect(wrong.remedy).toContain('refused');
    expect(JSON.stringify([wrong.message, wrong.details])).not.toContain('wrong');
  });

  test('a token service that gives no token is named', async () => {
    const to = await start({ auth: { kind: 'bearer', login: 'me:secret' } });
    const error = await pushFails(to, { dockerConfig: login(to, 'me:wrong') });
    expect(error.message).toBe(
      `the token service http://${to.host}/token gave no token: HTTP 401 incorrect username or password`,
    );
    for (const body of ['not json', '{}', '{"token":""}', 'null']) {
      await registry?.stop();
      const empty = await start({
        auth: { kind: 'bearer' },
        intercept: ({ path }) => (path.startsWith('/token') ? { status: 200, body } : undefined),
      });
      expect((await pushFails(empty)).message, body).toContain('its answer holds no token');
    }
  });

  test('the authorization goes to no other host than the registry', async () => {
    const store = await TestRegistry.start({ intercept: () => ({ status: 201 }) });
    try {
      const to = await start({
        auth: { kind: 'basic', login: 'me:secret' },
        location: (path) => `http://${store.host}${path}`,
        intercept: ({ method, path }) => (method === 'PUT' && path.includes('manifests') ? { status: 201 } : undefined),
      });
      await push(to, { dockerConfig: login(to, 'me:secret') });
      expect(store.seen).toHaveLength(4);
      expect(store.seen.map(({ authorization }) => authorization)).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
    } finally {
      await store.stop();
    }
  });
});

describe('trouble', () => {
  test('a refusal whose words were cut off is a refusal, and one that passes is tried again', async () => {
    let answers: Answer[] = [{ status: 503, body: 'bu', isCut: true }];
    const to = await start({ intercept: ({ method }) => (method === 'HEAD' ? undefined : answers.shift()) });
    await push(to);
    expectWhole(to);
    answers = [{ status: 403, body: '{"errors":[', isCut: true }];
    expect(await pushFails(to)).toMatchObject({ details: { status: 403 } });
  });

  test('what passes is tried again, also a cut connection', async () => {
    const trouble = [
      () => 'cut' as const,
      () => failure(503, 'UNAVAILABLE', 'later'),
      () => ({ status: 429, headers: { 'retry-after': '0' } }),
    ];
    for (const answer of trouble) {
      for (let at = 1; at <= 15; at += 2) {
        const to = await TestRegistry.start({ intercept: (_, count) => (count === at ? answer() : undefined) });
        try {
          await push(to);
          expectWhole(to);
        } finally {
          await to.stop();
        }
      }
    }
  });

  test('what stays is an error with what the registry said', async () => {
    const to = await start({ intercept: () => failure(503, 'UNAVAILABLE', 'out of order') });
    const error = await pushFails(to);
    expect(to.seen).toHaveLength(3);
    expect(error.message).toContain('was answered with 503');
  });

  test.each([
    [403, 'Log in first'],
    [404, 'created before'],
    [405, 'no pushes'],
    [413, 'what the registry says'],
  ])('%i has a remedy', async (status, remedy) => {
    const to = await start({
      intercept: ({ method }) => (method === 'POST' ? failure(status, 'CODE', 'the words of the registry') : undefined),
    });
    const error = await pushFails(to);
    expect(error.message).toContain(`was answered with ${status} (CODE: the words of the registry)`);
    expect(error.remedy).toContain(remedy);
    expect(error.details).toMatchObject({ registry: to.host, method: 'POST', status, codes: ['CODE'] });
  });

  test('a page of something on the way is quoted as text', async () => {
    const page = { status: 400, body: '<html><b>Bad\n gateway</b></html>' };
    const to = await start({ intercept: ({ method }) => (method === 'POST' ? page : undefined) });
    expect((await pushFails(to)).message).toContain('(Bad gateway)');
  });

  test('an upload without a location, and one with a wrong digest, are errors', async () => {
    const lost = await start({ intercept: ({ method }) => (method === 'POST' ? { status: 202 } : undefined) });
    expect((await pushFails(lost)).message).toContain('no location');
    await lost.stop();
    const changed = await start({
      intercept: ({ path }) =>
        path.includes('/manifests/1') ? { status: 201, headers: { 'docker-content-digest': 'sha256:0' } } : undefined,
    });
    expect((await pushFails(changed)).message).toContain('stored other bytes');
  });

  test('nobody at the address, and no TLS there, are told apart', async () => {
    const to = await start();
    await to.stop();
    const nobody = await pushFails(to);
    expect(nobody.details).toEqual({ registry: to.host, code: 'ECONNREFUSED' });
    expect(nobody.remedy).toContain('port');
    const plain = createServer((socket) => socket.on('error', () => undefined).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => plain.listen(0, '0.0.0.0', resolve));
    const address = plain.address();
    const port = typeof address === 'object' ? address?.port : 0;
    // Not a loopback address by its text, so TLS is spoken.
    const error = await pushImage(image, `0.0.0.0:${port}/a:1`, now).catch((reason: unknown) => reason);
    plain.close();
    expect(error).toMatchObject({ code: 'ERR_PODWRIGHT_PLACEHOLDER', remedy: expect.stringContaining('--plain-http') });
  });

  test('an abort ends the push with its reason, also while it waits for the next try', async () => {
    const abort = new AbortController();
    const clock = new VirtualClock();
    const to = await start({
      intercept: () => {
        setImmediate(() => abort.abort(new Error('enough')));
        return { status: 503 };
      },
    });
    await expect(push(to, { signal: abort.signal, clock, retryDelaysMs: [1000] })).rejects.toThrow('enough');
    expect(clock.nextAt, 'no timer is left').toBeUndefined();
    await expect(push(to, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before');
  });

  test('a registry that does not answer is given up', async () => {
    const clock = new VirtualClock();
    const silent = createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => clock.advance(60_000)),
    );
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const name = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}/a:1`;
    const error = await pushImage(image, name, { clock, retryDelaysMs: [] }).catch((reason: unknown) => reason);
    silent.close();
    expect(error).toMatchObject({ message: expect.stringContaining('no answer within 60 s') });
  });

  test('a digest cannot be pushed to', async () => {
    const name = `localhost/a@sha256:${'0'.repeat(64)}`;
    await expect(pushImage(image, name)).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_IMAGE_REFERENCE' });
  });
});
