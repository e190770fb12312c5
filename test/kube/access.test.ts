/** What is missing is found by asking, and the Role that is printed grants just that. */
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { checkAccess, mayKeepRestartRules, neededRights, roleText } from '../../src/kube/access.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import { type Exchange, startApiServer, status, writeKubeConfig } from './api-server.ts';

interface Asked {
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
}

async function clientFor(review: (exchange: Exchange, asked: Asked) => void): Promise<KubeClient> {
  const api = await startApiServer();
  api.answer = (exchange) => {
    if (exchange.path === '/version') exchange.json(200, { major: '1', minor: '36', gitVersion: 'v1.36.3' });
    else review(exchange, JSON.parse(exchange.body).spec.resourceAttributes);
  };
  const client = await connect({ kubeConfig: await writeKubeConfig(api.url) });
  onTestFinished(() => client.close());
  return client;
}

test('rights that the server denies are missing, with what they are needed for', async () => {
  const client = await clientFor((exchange, { resource, subresource }) =>
    exchange.json(201, { status: { allowed: resource !== 'events' && subresource !== 'log' } }),
  );
  const { missing, unknown, version } = await checkAccess(client, 'builds');
  expect(
    missing.map(({ verb, resource, subresource, isEssential }) => [verb, resource, subresource, isEssential]),
  ).toEqual([
    ['get', 'pods', 'log', true],
    ['list', 'events', undefined, false],
    ['watch', 'events', undefined, false],
  ]);
  expect(unknown).toEqual([]);
  expect(version.gitVersion).toBe('v1.36.3');
});

test('a server without access reviews leaves the rights unknown, not missing', async () => {
  const client = await clientFor((exchange) => exchange.json(404, status(404, 'NotFound', 'no such resource')));
  const { missing, unknown } = await checkAccess(client, 'builds');
  expect(missing).toEqual([]);
  expect(unknown).toEqual(neededRights);
});

test('refused credentials are an error, not missing rights', async () => {
  const client = await clientFor((exchange) => exchange.json(401, status(401, 'Unauthorized', 'Unauthorized')));
  await expect(checkAccess(client, 'builds')).rejects.toMatchObject({ code: 'ERR_PODWRIGHT_UNAUTHORIZED' });
});

test('the Role holds exactly the rights, one rule for each resource', () => {
  expect(parse(roleText('builds', neededRights.slice(0, 8)))).toEqual({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'podwright', namespace: 'builds' },
    rules: [
      { apiGroups: [''], resources: ['pods'], verbs: ['create', 'get', 'list', 'watch', 'patch', 'delete'] },
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['events'], verbs: ['list'] },
    ],
  });
});

test.each([
  ['1', '34', false],
  ['1', '35', true],
  ['1', '36+', true],
  ['2', '0', true],
])('version %s.%s keeps restart rules: %s', (major, minor, expected) => {
  expect(mayKeepRestartRules({ major, minor, gitVersion: '' })).toBe(expected);
});
