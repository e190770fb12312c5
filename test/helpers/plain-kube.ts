/**
 * The Kubernetes API by plain requests, so that a test on a real cluster does not lean on the client it may be testing.
 * Speaks to the first cluster of KUBECONFIG as its first user, who has a token.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { parse } from 'yaml';

/** The object once the predicate holds: read, then watched from there. */
export async function eventually<T extends object>(
  path: string,
  name: string,
  predicate: (object: T) => boolean,
): Promise<T> {
  const query = `fieldSelector=metadata.name%3D${name}`;
  const list = await api<{ metadata: { resourceVersion: string }; items: T[] }>('GET', `${path}?${query}`);
  const [now] = list.items;
  if (now !== undefined && predicate(now)) return now;
  const watch = `${path}?${query}&watch=true&timeoutSeconds=120&resourceVersion=${list.metadata.resourceVersion}`;
  let last: T | undefined = now;
  for await (const line of linesOf(watch)) {
    const { object } = JSON.parse(line) as { object: T };
    last = object;
    if (predicate(object)) return object;
  }
  throw new Error(`${path}/${name} never came to it: ${JSON.stringify(last)}`);
}

export async function api<T = object>(method: string, path: string, body?: object): Promise<T> {
  return JSON.parse(await text(method, path, body)) as T;
}

export async function text(method: string, path: string, body?: object): Promise<string> {
  const response = await send(method, path, body);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const content = Buffer.concat(chunks).toString();
  if ((response.statusCode ?? 0) >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${content}`);
  return content;
}

export async function* linesOf(path: string): AsyncGenerator<string> {
  const response = await send('GET', path);
  try {
    yield* createInterface({ input: response });
  } finally {
    response.destroy();
  }
}

function send(method: string, path: string, body?: object): Promise<IncomingMessage> {
  const { server, token } = cluster();
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, server), {
      method,
      agent: false,
      rejectUnauthorized: false,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json',
      },
    });
    sent.on('response', resolve).on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function cluster(): { server: string; token: string } {
  const config = parse(readFileSync(process.env['KUBECONFIG'] ?? '', 'utf8')) as {
    clusters: [{ cluster: { server: string } }];
    users: [{ user: { token: string } }];
  };
  return { server: config.clusters[0].cluster.server, token: config.users[0].user.token };
}
