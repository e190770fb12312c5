/** Faults over HTTP, for clients in other processes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';

let cluster: EmbeddedCluster;

beforeAll(async () => {
  cluster = await startCluster({
    backend: 'scripted',
    tokens: [
      { token: 'root', user: 'root', groups: ['system:masters'] },
      { token: 'me', user: 'me' },
    ],
  });
});

afterAll(() => cluster.stop());

async function ask(
  method: string,
  path: string,
  body?: unknown,
  token = 'root',
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${cluster.url}/podwright/${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

test('rules are added, listed and removed', async () => {
  const added = await ask('POST', 'faults', [
    { name: 'slow', fault: { kind: 'delay', ms: 5 }, rate: 0.1 },
    { fault: { kind: 'throttle' } },
  ]);
  expect(added).toEqual({ status: 201, body: { names: ['slow', expect.any(String)] } });
  const listed = await ask('GET', 'faults');
  expect(listed.body).toMatchObject({ rules: [{ name: 'slow', rate: 0.1 }, { fault: { kind: 'throttle' } }] });
  expect((await ask('DELETE', 'faults/slow')).status).toBe(200);
  expect((await ask('DELETE', 'faults/slow')).status).toBe(404);
  expect((await ask('DELETE', 'faults')).body).toEqual({ rules: [] });
});

test('something happens at once, and the answer comes when it is over', async () => {
  expect(await ask('POST', 'strike', { kind: 'compact' })).toEqual({ status: 200, body: { struck: 'compact' } });
});

test.each([
  ['a rule that is wrong', 'faults', { fault: { kind: 'rain' } }, 'the rule.fault.kind is not known'],
  [
    'a kind that only JavaScript knows',
    'faults',
    { fault: { kind: 'constructor' } },
    'the rule.fault.kind is not known',
  ],
  ['no JSON', 'faults', '{', 'JSON'],
  ['a strike that can only be a rule', 'strike', { kind: 'delay', ms: 5 }, 'is none of the cluster as a whole'],
])('%s is told with a remedy', async (_what, path, body, text) => {
  const answer = await ask('POST', path, body);
  expect(answer).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining(text), remedy: expect.any(String) },
  });
});

test('only administrators may', async () => {
  expect((await ask('GET', 'faults', undefined, 'me')).status).toBe(401);
  expect((await ask('GET', 'faults', undefined, 'nobody')).status).toBe(401);
});

test('other paths are not there', async () => {
  expect((await ask('GET', 'weather')).status).toBe(404);
});
