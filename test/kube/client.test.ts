/** Requests reach the server as Kubernetes wants them, and every failure says what to do about it. */
import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { isPodwrightError, type PodwrightError } from '../../src/errors.ts';
import { type ConnectOptions, connect, type KubeClient } from '../../src/kube/client.ts';
import { type ApiServer, all, fixtures, startApiServer, status, until, writeKubeConfig } from './api-server.ts';

const pods = { resource: 'pods', namespace: 'builds' };
const pod = { ...pods, name: 'x' };

async function connectTo(
  api: ApiServer,
  options: ConnectOptions & { user?: object; cluster?: object } = {},
): Promise<KubeClient> {
  const { user, cluster, ...rest } = options;
  const client = await connect({ kubeConfig: await writeKubeConfig(api.url, user, cluster), ...rest });
  onTestFinished(() => client.close());
  return client;
}

async function failureOf(promise: Promise<unknown>): Promise<PodwrightError> {
  const error = await promise.then(
    () => new Error('it worked'),
    (reason: unknown) => reason,
  );
  if (!isPodwrightError(error)) throw error;
  return error;
}

test('a request carries the token, the user agent and the query, and the answer is plain JSON', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) =>
    exchange.json(200, {
      metadata: { resourceVersion: '7' },
      items: [{ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }],
    });
  const list = await client.list<unknown>(pods, { labelSelector: 'a=b,c', limit: 5 });
  expect(list).toEqual({
    metadata: { resourceVersion: '7' },
    items: [{ metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } }],
  });
  const [request] = api.requests;
  expect(request?.path).toBe('/api/v1/namespaces/builds/pods');
  expect(Object.fromEntries(request?.query ?? [])).toEqual({ labelSelector: 'a=b,c', limit: '5' });
  expect(request?.headers['authorization']).toBe('Bearer good');
  expect(request?.headers['user-agent']).toMatch(/^podwright\/\d/);
  expect(client.namespace).toBe('builds');
});

test('each verb uses its method, content type and body', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(200, { ok: true });
  await client.create({ resource: 'leases', namespace: 'builds' }, { a: 1 });
  await client.patch(pod, { b: 2 }, { type: 'strategic' });
  await client.patch({ ...pod, subresource: 'status' }, [{ c: 3 }], { type: 'json' });
  await client.delete(pod, { gracePeriodSeconds: 0, uid: 'u1', propagationPolicy: 'Background' });
  await client.canI('builds', { verb: 'get', resource: 'pods', subresource: 'log' });
  const seen = api.requests.map(({ method, path, headers, body }) => [
    method,
    path,
    headers['content-type'],
    JSON.parse(body),
  ]);
  expect(seen).toEqual([
    ['POST', '/apis/coordination.k8s.io/v1/namespaces/builds/leases', 'application/json', { a: 1 }],
    ['PATCH', '/api/v1/namespaces/builds/pods/x', 'application/strategic-merge-patch+json', { b: 2 }],
    ['PATCH', '/api/v1/namespaces/builds/pods/x/status', 'application/json-patch+json', [{ c: 3 }]],
    [
      'DELETE',
      '/api/v1/namespaces/builds/pods/x',
      'application/json',
      {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        gracePeriodSeconds: 0,
        propagationPolicy: 'Background',
        preconditions: { uid: 'u1' },
      },
    ],
    [
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      'application/json',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: {
          resourceAttributes: { namespace: 'builds', verb: 'get', group: '', resource: 'pods', subresource: 'log' },
        },
      },
    ],
  ]);
});

test.each([
  [401, 'Unauthorized', 'Unauthorized', 'ERR_PODWRIGHT_UNAUTHORIZED'],
  [404, 'NotFound', 'pods "x" not found', 'ERR_PODWRIGHT_NOT_FOUND'],
  [409, 'Conflict', 'the object has been modified', 'ERR_PODWRIGHT_CONFLICT'],
  [422, 'Invalid', 'Pod "x" is invalid', 'ERR_PODWRIGHT_POD_INVALID'],
  [400, 'BadRequest', 'no', 'ERR_PODWRIGHT_API'],
])('HTTP %i %s becomes an error with the words of the server', async (code, reason, message, expected) => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(code, status(code, reason, message));
  const error = await failureOf(client.get(pod));
  expect(error.code).toBe(expected);
  expect(error.message).toBe(`GET pods "x" in namespace "builds": HTTP ${code}: ${message}`);
  expect(error.details).toMatchObject({ status: code, reason, message });
});

test('a refusal by RBAC names the missing right and who misses it', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  const message =
    'pods is forbidden: User "system:serviceaccount:ci:worker" cannot list resource "pods" in API group "" in the namespace "builds"';
  api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', message));
  const error = await failureOf(client.list(pods));
  expect(error.code).toBe('ERR_PODWRIGHT_FORBIDDEN');
  expect(error.details['missingRight']).toEqual({ verb: 'list', resource: 'pods', group: '' });
  expect(error.remedy).toContain('list pods in builds');
  expect(error.remedy).toContain('system:serviceaccount:ci:worker');
});

test('a refusal by a quota is forbidden, but no right is said to be missing', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.json(403, status(403, 'Forbidden', 'pods "x" is forbidden: exceeded quota: q'));
  const error = await failureOf(client.create(pods, {}));
  expect(error.code).toBe('ERR_PODWRIGHT_FORBIDDEN');
  expect(error.details['missingRight']).toBeUndefined();
  expect(error.remedy).toBeUndefined();
});

test('an unreachable server is told with the address that was tried, at once when no retry is wanted', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  await api.stop();
  const error = await failureOf(client.version({ retryForMs: 0 }));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(error.message).toBe(`${api.url}: connection refused (tried 127.0.0.1:${api.port})`);
  expect(error.cause).toBeInstanceOf(Error);
});

test('a request outlives a restart of the API server', async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock, random: () => 0 });
  api.answer = (exchange) => exchange.json(200, { found: true });
  await api.stop();
  const found = client.get(pod);
  await until(() => clock.nextAt !== undefined && clock.nextAt < 30_000);
  await api.restart();
  clock.advanceTo(clock.nextAt ?? 0);
  await expect(found).resolves.toEqual({ found: true });
});

test('429 in plain text is repeated after the time in Retry-After, and not before', async () => {
  const api = await startApiServer();
  const clock = new VirtualClock();
  const client = await connectTo(api, { clock, random: () => 0 });
  api.next((exchange) => exchange.text(429, 'Too many requests, please try again later.', { 'retry-after': '7' }));
  api.answer = (exchange) => exchange.json(201, {});
  const created = client.create(pods, {});
  await until(() => clock.nextAt === 7_000);
  expect(api.requests).toHaveLength(1);
  clock.advance(7_000);
  await created;
  expect(api.requests).toHaveLength(2);
});

test('retries end with the last error when the time for them is over', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.text(503, 'shutting down', { 'retry-after': '60' });
  const error = await failureOf(client.get(pod, { retryForMs: 1_000 }));
  expect(error.details).toMatchObject({ status: 503, retryAfterMs: 60_000 });
  expect(api.requests).toHaveLength(1);
});

test('a create whose answer is lost is not sent twice; a get is', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.answer = (exchange) => exchange.reset();
  const error = await failureOf(client.create(pods, {}));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
  expect(api.requests).toHaveLength(1);
  api.next((exchange) => exchange.reset());
  api.answer = (exchange) => exchange.json(200, { ok: 1 });
  await expect(client.get(pod)).resolves.toEqual({ ok: 1 });
});

test('a 500 is passing for what may be sent twice, and final for a create', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  const leaderChanged = status(500, 'InternalError', 'etcdserver: leader changed');
  api.next((exchange) => exchange.json(500, leaderChanged));
  api.answer = (exchange) => exchange.json(200, { ok: 1 });
  await expect(client.patch(pod, {}, { type: 'strategic' })).resolves.toEqual({ ok: 1 });
  api.next((exchange) => exchange.json(500, leaderChanged));
  expect((await failureOf(client.create(pods, {}))).details['status']).toBe(500);
});

test('410 is passing for a list of now, and final for one of a version that is gone', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.next((exchange) => exchange.json(410, status(410, 'Expired', 'too old')));
  api.answer = (exchange) => exchange.json(200, { metadata: { resourceVersion: '7' }, items: [] });
  expect(await client.list(pods)).toEqual({ metadata: { resourceVersion: '7' }, items: [] });
  expect(api.requests).toHaveLength(2);
  api.answer = (exchange) => exchange.json(410, status(410, 'Expired', 'too old'));
  expect((await failureOf(client.list(pods, { continue: 'x' }))).details).toMatchObject({ status: 410 });
  expect((await failureOf(client.list(pods, { resourceVersion: '5' }))).details).toMatchObject({ status: 410 });
  expect(api.requests).toHaveLength(4);
});

test('the status of a refused stream is told although its body was cut', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => {
    exchange.response.writeHead(503, { 'retry-after': '3' });
    exchange.write('{"kind":"Sta');
    setImmediate(() => exchange.reset());
  };
  const error = await failureOf(client.openWatch(pods, {}, new AbortController().signal));
  expect(error.details).toMatchObject({ status: 503, retryAfterMs: 3_000 });
});

test('a delete that is repeated after a lost answer takes "not found" for done', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  api.next((exchange) => exchange.reset());
  api.answer = (exchange) => exchange.json(404, status(404, 'NotFound', 'pods "x" not found'));
  await expect(client.delete(pod)).resolves.toBeUndefined();
  expect((await failureOf(client.delete(pod))).code).toBe('ERR_PODWRIGHT_NOT_FOUND');
});

test('a namespace too new for its service account is waited for', async () => {
  const api = await startApiServer();
  const client = await connectTo(api, { random: () => 0 });
  const message =
    'pods "x" is forbidden: error looking up service account builds/default: serviceaccount "default" not found';
  api.next((exchange) => exchange.json(403, status(403, 'Forbidden', message)));
  api.answer = (exchange) => exchange.json(201, { made: true });
  await expect(client.create(pods, {})).resolves.toEqual({ made: true });
});

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

test('an answer that is no JSON is not taken for one', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.text(200, '<html>Please log in</html>');
  const error = await failureOf(client.get(pod));
  expect(error.code).toBe('ERR_PODWRIGHT_API');
  expect(error.remedy).toContain('login page');
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

test('a watch whose connection breaks fails for its reader, and one nobody reads disturbs nobody', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => {
    exchange.open();
    exchange.write('half a li');
    setImmediate(() => exchange.reset());
  };
  const signal = new AbortController().signal;
  await client.openWatch(pods, {}, signal);
  const error = await failureOf(all(await client.openWatch(pods, {}, signal)));
  expect(error.code).toBe('ERR_PODWRIGHT_CLUSTER_UNREACHABLE');
});

test('leaving the loop over a log closes its connection', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => {
    exchange.open();
    exchange.write('a line\n');
  };
  const log = await client.openLog('builds', 'x', 'step', { follow: true }, new AbortController().signal);
  for await (const chunk of log.body) {
    expect(Buffer.from(chunk).toString()).toBe('a line\n');
    break;
  }
  await until(() => api.requests[0]?.closed === true);
});

test('a log of a pod without a node is an empty 204, a waiting container an error with the words of the kubelet', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  const { signal } = new AbortController();
  api.next((exchange) => void exchange.response.writeHead(204).end());
  const log = await client.openLog('builds', 'x', 'step', {}, signal);
  expect(log.status).toBe(204);
  expect(await all(log.body)).toEqual([]);
  const message = 'container "step" in pod "x" is waiting to start: ContainerCreating';
  api.next((exchange) => exchange.json(400, status(400, 'BadRequest', message)));
  expect((await failureOf(client.openLog('builds', 'x', 'step', {}, signal))).details).toMatchObject({
    status: 400,
    message,
  });
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
    `#!/bin/sh\necho x >> ${counter}\nn=$(wc -l < ${counter} | tr -d ' ')\n` +
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
