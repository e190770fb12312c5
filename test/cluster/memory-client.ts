/** A bare client of a cluster in memory, and the bytes it was given. */
import type { EmbeddedCluster } from '../../src/cluster/index.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests read objects of every kind
export type Anything = any;

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly body: Anything;
}

export interface SendOptions {
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly userAgent?: string;
}

export async function send(
  cluster: EmbeddedCluster,
  method: string,
  path: string,
  body?: object | string,
  { contentType = 'application/json', headers = {}, userAgent = 'test' }: SendOptions = {},
): Promise<Answer> {
  const [pathname = '', query = ''] = path.split('?', 2);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await cluster.transport({
    method,
    path: pathname,
    query: new URLSearchParams(query),
    headers: { 'user-agent': userAgent, ...(body !== undefined && { 'content-type': contentType }), ...headers },
    body: body === undefined ? undefined : Buffer.from(text),
    signal: new AbortController().signal,
  });
  let answer = '';
  if (typeof response.body === 'string') answer = response.body;
  else for await (const piece of response.body) answer += Buffer.from(piece).toString();
  const isJson = response.headers['content-type']?.startsWith('application/json') === true && !answer.includes('\n{');
  return {
    status: response.status,
    headers: response.headers,
    text: answer,
    body: isJson && answer !== '' ? JSON.parse(answer) : undefined,
  };
}

export const strategic = { contentType: 'application/strategic-merge-patch+json' } as const;
export const merge = { contentType: 'application/merge-patch+json' } as const;
export const jsonPatch = { contentType: 'application/json-patch+json' } as const;

export interface Watching {
  /** Lines as they came. */
  readonly lines: string[];
  readonly frames: Anything[];
  readonly ended: boolean;
  readonly error: unknown;
  stop(): void;
}

export function watch(cluster: EmbeddedCluster, path: string, userAgent = 'test'): Watching {
  return stream(cluster, `${path}${path.includes('?') ? '&' : '?'}watch=true`, userAgent);
}

/** Any answer that comes piece by piece. */
export function stream(cluster: EmbeddedCluster, path: string, userAgent = 'test'): Watching {
  const [pathname = '', query = ''] = path.split('?', 2);
  const stop = new AbortController();
  const watching = {
    lines: [] as string[],
    frames: [] as Anything[],
    ended: false,
    error: undefined as unknown,
    stop: () => stop.abort(),
  };
  const run = async (): Promise<void> => {
    const response = await cluster.transport({
      method: 'GET',
      path: pathname,
      query: new URLSearchParams(query),
      headers: { 'user-agent': userAgent },
      body: undefined,
      signal: stop.signal,
    });
    if (typeof response.body === 'string') throw new Error(response.body);
    for await (const piece of response.body) {
      const line = Buffer.from(piece).toString();
      watching.lines.push(line);
      if (line.startsWith('{') && line.endsWith('}\n')) watching.frames.push(JSON.parse(line));
    }
  };
  run()
    .catch((error: unknown) => {
      watching.error = error;
    })
    .finally(() => {
      watching.ended = true;
    });
  return watching;
}

export interface PodOptions {
  readonly image?: string;
  readonly containers?: readonly object[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
}

export function aPod(
  name: string,
  { image = 'lab.local/placeholder:1', containers, labels, spec }: PodOptions = {},
): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, ...(labels && { labels }) },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 5,
      containers: containers ?? [{ name: 'a', image }],
      ...spec,
    },
  };
}
