/** To requests that are wrong or odd the server answers what a real one (1.36.3) was recorded to answer. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type EmbeddedCluster, startCluster } from '../../../src/cluster/index.ts';
import { send } from '../memory-client.ts';
import { type Answer, answerKey, normalized } from './answers.ts';
import { type RawRequest, requests } from './requests.ts';

const namespace = 'answers';
const recorded = JSON.parse(await readFile(new URL('answers.golden.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, Answer>
>;
let cluster: EmbeddedCluster;

beforeAll(async () => {
  const life = { runs: 'forever' } as const;
  cluster = await startCluster({
    backend: 'scripted',
    transport: 'memory',
    images: [{ image: '*', present: true, life }],
    namespaces: [namespace],
  });
  const own = `/api/v1/namespaces/${namespace}`;
  await send(cluster, 'POST', `${own}/configmaps`, { metadata: { name: 'c' } });
  const container = { name: 'p', image: 'lab.local/quiet:1', command: ['sh', '-c', 'sleep 1000'] };
  await send(cluster, 'POST', `${own}/pods`, { metadata: { name: 'p' }, spec: { containers: [container] } });
  await vi.waitFor(async () => expect((await send(cluster, 'GET', `${own}/pods/p`)).text).toContain('startedAt'), {
    timeout: 10_000,
  });
  // The real one had forgotten its first revisions.
  cluster.compact();
  await send(cluster, 'POST', `${own}/configmaps`, { metadata: { name: 'd' } });
  cluster.compact();
});

afterAll(() => cluster.stop());

test.each(requests.map((request) => [answerKey(request), request] as const))('%s', async (key, request) => {
  expect(await answer(request)).toStrictEqual(recorded[key]);
});

async function answer({ method, path, contentType, accept, body }: RawRequest): Promise<Answer> {
  const { status, headers, text } = await send(cluster, method, path.replace('$NS', namespace), body, {
    headers: { ...(contentType && { 'content-type': contentType }), ...(accept && { accept }) },
  });
  return normalized({ status, type: headers['content-type'] ?? '', text }, namespace);
}
