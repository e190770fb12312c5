/** Bearer tokens and Roles. */
import { afterEach, expect, test } from 'vitest';
import { pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
const asMe = { headers: { authorization: 'Bearer mine' } } as const;
const asAdmin = { headers: { authorization: 'Bearer admin' } } as const;

async function withRole(...rules: readonly object[]): Promise<Stand> {
  const stand = await startStand({
    tokens: [
      { token: 'admin', user: 'root', groups: ['system:masters'] },
      { token: 'mine', user: 'me' },
    ],
  });
  await stand.send('POST', `${rbac}/roles`, { metadata: { name: 'r' }, rules }, asAdmin);
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
  const subjects = [{ kind: 'User', name: 'me', apiGroup: 'rbac.authorization.k8s.io' }];
  await stand.send('POST', `${rbac}/rolebindings`, { metadata: { name: 'b' }, subjects, roleRef }, asAdmin);
  return stand;
}

test('without a token, or with a wrong one, the answer is 401', async () => {
  const { send } = await withRole();
  expect((await send('GET', pods)).body).toMatchObject({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
  expect((await send('GET', pods, undefined, { headers: { authorization: 'Bearer other' } })).status).toBe(401);
});

test('what no Role allows is refused, and the text says what is missing', async () => {
  const { send } = await withRole({ verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] });
  expect((await send('GET', pods, undefined, asMe)).status).toBe(200);
  const { body } = await send('GET', `${pods}?watch=true`, undefined, asMe);
  expect(body).toMatchObject({
    code: 403,
    reason: 'Forbidden',
    message: 'pods is forbidden: User "me" cannot watch resource "pods" in API group "" in the namespace "default"',
  });
  const log = await send('GET', `${pods}/p/log`, undefined, asMe);
  expect(log.body.message).toContain('cannot get resource "pods/log"');
  const all = await send('GET', '/api/v1/pods', undefined, asMe);
  expect(all.body.message).toContain('at the cluster scope');
});

test.each([
  ['create', 'pods', '', true],
  ['delete', 'pods', '', false],
  ['get', 'pods', 'log', true],
  ['get', 'secrets', '', false],
])('a review says of %s %s/%s: %s', async (verb, resource, subresource, allowed) => {
  const { send } = await withRole(
    { verbs: ['create'], apiGroups: [''], resources: ['pods'] },
    { verbs: ['get'], apiGroups: [''], resources: ['pods/log'] },
  );
  const { status, body } = await send(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    { spec: { resourceAttributes: { namespace: 'default', verb, resource, subresource } } },
    asMe,
  );
  expect(status).toBe(201);
  expect(body.status.allowed).toBe(allowed);
});

test('a rule for a name holds for that name only', async () => {
  const { send } = await withRole({ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] });
  expect((await send('GET', `${pods}/a`, undefined, asMe)).status).toBe(404);
  expect((await send('GET', `${pods}/b`, undefined, asMe)).status).toBe(403);
});
