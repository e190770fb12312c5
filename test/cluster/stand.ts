/** A scripted cluster in memory on a clock that only moves when told, with the lab's images. */
import { VirtualClock } from '../../src/clock.ts';
import {
  type ClusterOptions,
  type EmbeddedCluster,
  labImages,
  labLives,
  passTime,
  passTimeUntil,
  startCluster,
} from '../../src/cluster/index.ts';
import { type Answer, type Anything, type SendOptions, send, type Watching, watch } from './memory-client.ts';

export const pods = '/api/v1/namespaces/default/pods';
export const events = '/api/v1/namespaces/default/events';

export interface Stand {
  readonly cluster: EmbeddedCluster;
  readonly clock: VirtualClock;
  send(method: string, path: string, body?: object | string, options?: SendOptions): Promise<Answer>;
  watch(path: string): Watching;
  pass(ms: number): Promise<void>;
  /** The pod once `holds` does; throws when it does not within a virtual minute. */
  podWhen(name: string, holds: (pod: Anything) => boolean): Promise<Anything>;
}

const open: EmbeddedCluster[] = [];

export async function startStand(options: ClusterOptions = {}): Promise<Stand> {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const cluster = await startCluster({
    backend: 'scripted',
    transport: 'memory',
    clock,
    seed: 7,
    images: labImages(),
    lives: labLives(),
    ...options,
  });
  open.push(cluster);
  const frames = watch(cluster, pods, 'stand');
  return {
    cluster,
    clock,
    send: (method, path, body, more) => send(cluster, method, path, body, more),
    watch: (path) => watch(cluster, path),
    pass: (ms) => passTime(clock, ms),
    async podWhen(name, holds) {
      const found = (): Anything =>
        frames.frames.findLast(({ object, type }) => object.metadata.name === name && type !== 'DELETED')?.object;
      const held = await passTimeUntil(clock, 60_000, () => found() !== undefined && holds(found()));
      if (!held) throw new Error(`pod ${name} never came so far: ${JSON.stringify(found()?.status)}`);
      return found();
    },
  };
}

/** For `afterEach`. */
export async function stopStands(): Promise<void> {
  await Promise.all(open.splice(0).map((cluster) => cluster.stop()));
}

export function containerOf(pod: Anything, name: string): Anything {
  return pod.status.containerStatuses?.find((one: Anything) => one.name === name);
}

export const allRun = (pod: Anything): boolean => pod.status.phase === 'Running';
