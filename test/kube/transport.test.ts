/** Connections are shared, proven, limited in time, and gone after the close; credentials are renewed when refused. */
import { execFile } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { chmod, copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { connect } from '../../src/kube/client.ts';
import { all, connectTo, failureOf, fixtures, startApiServer, status, until, writeKubeConfig } from './api-server.ts';

const pods = { resource: 'pods', namespace: 'builds' };
const pod = { ...pods, name: 'x' };

test('an answer that never comes ends at the time limit, and the connection with it', async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock, requestTimeoutMs: 5_000 });
  api.answer = () => undefined;
  const failure = failureOf(client.get(pod, { retryForMs: 0 }));
  await until(() => api.requests.length === 1);
  clock.advance(5_000);
  const error = await failure;
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(error.message).toContain('connection timed out');
  await until(() => api.requests[0]?.closed === true);
});

test("the caller's signal ends a request, also between two tries, and rejects with its reason", async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock });
  const reason = new Error('enough');
  const during = new AbortController();
  api.answer = () => undefined;
  const first = client.get(pod, { signal: during.signal });
  await until(() => api.requests.length === 1);
  during.abort(reason);
  await expect(first).rejects.toBe(reason);

  const between = new AbortController();
  api.answer = (exchange) => exchange.text(503, 'later');
  const second = client.get(pod, { signal: between.signal });
  await until(() => clock.nextAt !== undefined && api.requests.length === 2 && api.requests[1]?.closed === true);
  between.abort(reason);
  await expect(second).rejects.toBe(reason);
  expect(clock.nextAt).toBeUndefined();
});

test('fifty requests at once share a few connections', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(200, {});
  await Promise.all(Array.from({ length: 50 }, () => client.get(pod)));
  expect(api.requests).toHaveLength(50);
  expect(api.sockets.size).toBeLessThanOrEqual(16);
});

test('close ends what is under way with ERR_PODWRIGHT_STOPPED and leaves no connection', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => (exchange.query.has('watch') ? exchange.open() : undefined);
  const stream = await client.openWatch(pods, {}, new AbortController().signal);
  const read = failureOf(all(stream));
  const unary = failureOf(client.get(pod));
  await until(() => api.requests.length === 2);
  await client.close();
  expect((await unary).code).toBe('ERR_PODWRIGHT_STOPPED');
  expect((await read).code).toBe('ERR_PODWRIGHT_STOPPED');
  await until(() => api.sockets.size === 0);
  expect((await failureOf(client.get(pod))).code).toBe('ERR_PODWRIGHT_STOPPED');
  await client.close();
});

test('a refused token is read again once, for all requests that were refused together', async () => {
  const api = await startApiServer();
  const folder = dirname(await writeKubeConfig(api.url));
  const tokenFile = join(folder, 'token');
  await writeFile(tokenFile, 'old\n');
  const client = await connectTo(api, { user: { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } } });
  api.answer = (exchange) =>
    exchange.headers['authorization'] === 'Bearer new'
      ? exchange.json(200, {})
      : exchange.json(401, status(401, 'Unauthorized', 'Unauthorized'));
  await failureOf(client.get(pod));
  await writeFile(tokenFile, 'new\n');
  const before = api.requests.length;
  await Promise.all([client.get(pod), client.get(pod), client.get(pod)]);
  expect(api.requests.length - before).toBeLessThanOrEqual(6);
  await client.get(pod);
});

test('a token that stays refused ends with a remedy, after two requests', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(401, status(401, 'Unauthorized', 'Unauthorized'));
  const error = await failureOf(client.get(pod));
  expect(error.code).toBe('ERR_PODWRIGHT_UNAUTHORIZED');
  expect(error.remedy).toMatch(/context "work" of .*config.*renew/);
  expect(api.requests).toHaveLength(2);
});

test('an exec plugin is asked once, and again when its token is refused', async () => {
  const api = await startApiServer();
  const folder = dirname(await writeKubeConfig(api.url));
  const plugin = join(folder, 'plugin');
  const counter = join(folder, 'count');
  await writeFile(
    plugin,
    `#!/bin/sh\necho x >> '${counter}'\nn=$(wc -l < '${counter}' | tr -d ' ')\n` +
      `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t'$n'"}}'\n`,
  );
  await chmod(plugin, 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' };
  const client = await connectTo(api, { user: { exec } });
  api.answer = (exchange) => exchange.json(200, {});
  await Promise.all([client.get(pod), client.get(pod)]);
  expect(api.requests.map((request) => request.headers['authorization'])).toEqual(['Bearer t1', 'Bearer t1']);
  api.next((exchange) => exchange.json(401, status(401, 'Unauthorized', 'Unauthorized')));
  await client.get(pod);
  expect(api.requests.at(-1)?.headers['authorization']).toBe('Bearer t2');
  expect((await readFile(counter, 'utf8')).length).toBe(4);
});

test('TLS with a client certificate is proven against the given authority', async () => {
  const api = await startApiServer({ tls: true });
  const user = { 'client-certificate': join(fixtures, 'client.crt'), 'client-key': join(fixtures, 'client.key') };
  let subject: unknown;
  api.answer = (exchange) => {
    const socket = exchange.response.socket;
    if (socket !== null && 'getPeerCertificate' in socket && typeof socket.getPeerCertificate === 'function') {
      subject = socket.getPeerCertificate().subject;
    }
    exchange.json(200, {});
  };
  const client = await connectTo(api, { user, cluster: { 'certificate-authority': join(fixtures, 'ca.crt') } });
  await client.get(pod);
  expect(subject).toMatchObject({ CN: 'podwright-test-client' });

  const suspicious = await connectTo(api, { user });
  const error = await failureOf(suspicious.get(pod));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(error.message).toContain('SELF_SIGNED_CERT_IN_CHAIN');
  expect(error.remedy).toContain('certificate-authority');
});

test('credentials that cannot be read for a moment, as while they are rotated, are used on', async () => {
  const api = await startApiServer({ tls: true });
  const folder = dirname(await writeKubeConfig(api.url));
  const certificate = join(folder, 'client.crt');
  await copyFile(join(fixtures, 'client.crt'), certificate);
  const clock = new VirtualClock();
  const logged: string[] = [];
  const client = await connectTo(api, {
    clock,
    logger: { info: (message) => logged.push(message), debug: () => undefined },
    user: { 'client-certificate': certificate, 'client-key': join(fixtures, 'client.key') },
    cluster: { 'certificate-authority': join(fixtures, 'ca.crt') },
  });
  api.answer = (exchange) => exchange.json(200, {});
  await client.get(pod);
  await rm(certificate);
  clock.advance(60_000);
  await client.get(pod);
  expect(logged).toEqual(['The credentials cannot be read, and the last ones are used']);
  // The server decides how long they are good for; refused ones are read anew or not at all.
  api.answer = (exchange) => exchange.json(401, status(401, 'Unauthorized', 'Unauthorized'));
  expect((await failureOf(client.get(pod))).code).toBe('ERR_PODWRIGHT_CONFIG');
});

test('requests go through the proxy of the cluster entry', async () => {
  const proxy = await startApiServer();
  proxy.answer = (exchange) => exchange.json(200, { by: exchange.headers.host });
  const kubeConfig = await writeKubeConfig('http://api.example:6443', { token: 'good' }, { 'proxy-url': proxy.url });
  const client = await connect({ kubeConfig });
  onTestFinished(() => client.close());
  await expect(client.get(pod)).resolves.toEqual({ by: 'api.example:6443' });
  await client.close();
  await until(() => proxy.sockets.size === 0);
});

test('a process whose client was closed in the middle of everything ends by itself', async () => {
  const api = await startApiServer();
  api.answer = (exchange) => (exchange.query.has('watch') ? exchange.open() : exchange.text(503, 'later'));
  const source = new URL('../../src/kube/client.ts', import.meta.url).href;
  const script = `
    const { connect } = await import(${JSON.stringify(source)});
    const client = await connect({ kubeConfig: ${JSON.stringify(await writeKubeConfig(api.url))} });
    const pods = { resource: 'pods', namespace: 'builds' };
    await client.openWatch(pods, {}, new AbortController().signal);
    const retried = client.list(pods).catch(({ code }) => code);
    await client.close();
    console.log(await retried);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('ERR_PODWRIGHT_STOPPED');
});

test.each([
  ['a watch', 'watch'],
  ['a log', 'log'],
])('%s that is refused with a body that never ends is refused all the same', async (_what, kind) => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock });
  api.answer = (exchange) => {
    exchange.response.writeHead(503, { 'retry-after': '3' });
    exchange.write('{"kind":"Sta');
  };
  const { signal } = new AbortController();
  const hasHeaders = new Promise<void>((resolve) => {
    const tell = (): void => resolve();
    subscribe('undici:request:headers', tell);
    onTestFinished(() => void unsubscribe('undici:request:headers', tell));
  });
  const refused = failureOf(
    kind === 'watch' ? client.openWatch(pods, {}, signal) : client.openLog('builds', 'x', 'step', {}, signal),
  );
  await hasHeaders;
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(30_000);
  expect((await refused).details).toMatchObject({ status: 503, retryAfterMs: 3_000 });
  expect(clock.nextAt).toBeUndefined();
  await until(() => api.requests[0]?.closed === true);
});

test('nobody waits for a credential plugin whose request was given up, or whose client was closed', async () => {
  const api = await startApiServer();
  const plugin = join(dirname(await writeKubeConfig(api.url)), 'plugin');
  await writeFile(plugin, '#!/bin/sh\nexec sleep 2\n');
  await chmod(plugin, 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' };
  const client = await connectTo(api, { user: { exec } });
  const reason = new Error('enough');
  const giveUp = new AbortController();
  let isFirst: string | undefined;
  const given = client.get(pod, { signal: giveUp.signal }).catch((error: unknown) => {
    isFirst ??= 'given up';
    return error;
  });
  const closed = failureOf(client.get(pod)).then((error) => {
    isFirst ??= 'closed';
    return error;
  });
  giveUp.abort(reason);
  expect(await given).toBe(reason);
  await client.close();
  expect((await closed).code).toBe('ERR_PODWRIGHT_STOPPED');
  expect(isFirst).toBe('given up');
});
