/** Builds on a cluster in memory: a placeholder pod each, two steps switched in one after the other, then a delete. */
import type { VirtualClock } from '../../src/clock.ts';
import type { EmbeddedCluster } from '../../src/cluster/index.ts';
import { type Anything, aPod, send, strategic } from './memory-client.ts';

export interface BuildLog {
  /** Each answer and each state that was acted on, in order. */
  readonly lines: string[];
  readonly done: number;
}

const namespace = '/api/v1/namespaces/builds/pods';
const pollMs = 500;
const deadlineMs = 600_000;

/** Builds begin `everyMs` apart. Nothing is awaited but the clock: the caller moves it until `done` says so. */
export function startBuilds(cluster: EmbeddedCluster, clock: VirtualClock, count: number, everyMs: number): BuildLog {
  const log = { lines: [] as string[], done: 0 };
  for (let at = 0; at < count; at += 1) {
    clock.schedule(at * everyMs, () => {
      void build(cluster, clock, `build-${at}`, (line) => log.lines.push(line)).finally(() => {
        log.done += 1;
      });
    });
  }
  return log;
}

async function build(
  cluster: EmbeddedCluster,
  clock: VirtualClock,
  name: string,
  log: (line: string) => void,
): Promise<void> {
  const containers = ['a', 'b'].map((container) => ({ name: container, image: 'lab.local/placeholder:1' }));
  const ask = async (method: string, path: string, body?: object, options = {}): Promise<Anything> => {
    try {
      const {
        status,
        text,
        body: answer,
      } = await send(cluster, method, path, body, { userAgent: 'builds', ...options });
      log(`${name} ${method} ${status} ${text}`);
      return answer;
    } catch (error) {
      log(`${name} ${method} ${String(error)}`);
      return undefined;
    }
  };
  const from = clock.now();
  const until = async (holds: (pod: Anything) => boolean): Promise<void> => {
    while (clock.now() - from < deadlineMs) {
      const pod = await ask('GET', `${namespace}/${name}`);
      if (pod?.kind === 'Pod' ? holds(pod) : pod?.code === 404) return;
      await new Promise<void>((resolve) => void clock.schedule(pollMs, resolve));
    }
  };
  const status = (pod: Anything, container: string): Anything =>
    pod.status.containerStatuses?.find((one: Anything) => one.name === container);
  const over = (pod: Anything): boolean => pod.status.phase === 'Failed' || pod.status.phase === 'Succeeded';
  await ask('POST', namespace, aPod(name, { containers }));
  await until((pod) => over(pod) || ['a', 'b'].every((one) => status(pod, one)?.state.running));
  for (const [container, image] of [
    ['a', 'lab.local/step:1'],
    ['b', 'lab.local/next:1'],
  ] as const) {
    const patch = { spec: { containers: [{ name: container, image }] } };
    await ask('PATCH', `${namespace}/${name}`, patch, strategic);
    await until((pod) => over(pod) || status(pod, container)?.state.terminated);
  }
  const remove = async (): Promise<void> => {
    await ask('DELETE', `${namespace}/${name}`, { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 1 });
  };
  await remove();
  // A delete may be lost: it is asked for until the pod is marked.
  await until((pod) => {
    if (pod.metadata.deletionTimestamp === undefined) void remove();
    return false;
  });
}
