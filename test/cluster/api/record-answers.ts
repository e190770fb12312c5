/**
 * Records a real server's answers: `node bin/with-node.js test/cluster/api/record-answers.ts`, with KUBECONFIG that of
 * an administrator with a token.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { request as send } from 'node:https';
import { parse } from 'yaml';
import { type Answer, answerKey, normalized } from './answers.ts';
import { type RawRequest, requests } from './requests.ts';

const path = process.env['KUBECONFIG'];
if (path === undefined) throw new Error('set KUBECONFIG');
const config = parse(await readFile(path, 'utf8')) as {
  clusters: { cluster: { server: string } }[];
  users: { user: { token: string } }[];
};
const server = config.clusters[0]?.cluster.server ?? '';
const token = config.users[0]?.user.token ?? '';
const namespace = `answers-${Date.now().toString(36)}`;

const json = 'application/json';
const own = `/api/v1/namespaces/${namespace}`;
const container = { name: 'p', image: 'lab.local/quiet:1', command: ['sh', '-c', 'sleep 1000'] };
await create('/api/v1/namespaces', { metadata: { name: namespace } });
while ((await ask({ method: 'GET', path: `${own}/serviceaccounts/default` })).status !== 200) await pause();
await create(`${own}/configmaps`, { metadata: { name: 'c' } });
await create(`${own}/pods`, { metadata: { name: 'p' }, spec: { restartPolicy: 'Never', containers: [container] } });
while (!(await ask({ method: 'GET', path: `${own}/pods/p` })).text.includes('startedAt')) await pause();
const answers: Record<string, Answer> = {};
for (const request of requests) {
  const { status, type, text } = await ask({ ...request, path: request.path.replace('$NS', namespace) });
  answers[answerKey(request)] = normalized({ status, type, text }, namespace);
}
await ask({ method: 'DELETE', path: own });
await writeFile(new URL('answers.golden.json', import.meta.url), `${JSON.stringify(answers, undefined, 1)}\n`);

async function create(where: string, object: object): Promise<void> {
  const { status, text } = await ask({ method: 'POST', path: where, contentType: json, body: JSON.stringify(object) });
  if (status !== 201) throw new Error(text);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 200));
}

function ask({ method, path: where, contentType, accept, body }: RawRequest): Promise<{
  status: number;
  type: string;
  text: string;
}> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(contentType && { 'content-type': contentType }),
      ...(accept && { accept }),
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    };
    const request = send(`${server}${where}`, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
