/** Requests reach the server as Kubernetes wants them, and answers come back as the server gave them. */
import { expect, test } from 'vitest';
import { all, connectTo, failureOf, startApiServer, status, until } from './api-server.ts';

const pods = { resource: 'pods', namespace: 'builds' };
const pod = { ...pods, name: 'x' };

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

test('an answer that is no JSON is not taken for one', async () => {
  const api = await startApiServer();
  const client = await connectTo(api);
  api.answer = (exchange) => exchange.text(200, '<html>Please log in</html>');
  const error = await failureOf(client.get(pod));
  expect(error.code).toBe('ERR_PODWRIGHT_API');
  expect(error.remedy).toContain('login page');
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
