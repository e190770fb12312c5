/** Whatever a server does to the connection, deltas tell each object's life in order and end with the server's state. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { PodwrightError } from '../../src/errors.ts';
import type { KubeClient, ListOptions, WatchQuery } from '../../src/kube/client.ts';
import { type Delta, Informer } from '../../src/kube/informer.ts';
import type { ByteStream, KubeList, KubeObject } from '../../src/kube/resource.ts';
import { status } from './api-server.ts';

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: KubeObject;
}

/** What a response is broken by, once it has sent so many bytes. */
interface Break {
  readonly afterBytes: number;
  readonly how: 'end' | 'reset' | 'hang' | 'garbage' | 'expire' | 'internal';
}

/** An API server with a history, and nothing else of Kubernetes. */
class World {
  readonly objects = new Map<string, KubeObject>();
  readonly breaks: Break[] = [];
  /** How many requests are refused, and with what, before one is served. */
  readonly refusals: number[] = [];
  #history: Change[] = [];
  #version = 10;
  #uid = 0;
  #compactedTo = 0;
  readonly #wake = new Set<() => void>();

  touch(name: string): void {
    const old = this.objects.get(name);
    const uid = old?.metadata.uid ?? `uid-${++this.#uid}`;
    this.#commit(old === undefined ? 'ADDED' : 'MODIFIED', name, uid);
  }

  remove(name: string): void {
    const old = this.objects.get(name);
    if (old !== undefined) this.#commit('DELETED', name, old.metadata.uid);
  }

  /** Deleted and made again at once: another uid under the same name. */
  replace(name: string): void {
    this.remove(name);
    this.touch(name);
  }

  compact(): void {
    this.#compactedTo = this.#version;
    this.#history = [];
  }

  list(): KubeList<KubeObject> {
    return { metadata: { resourceVersion: String(this.#version) }, items: [...this.objects.values()] };
  }

  async *watch(from: number, chunkSize: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let breaking = this.breaks.shift();
    let sent = 0;
    let version = from;
    for (;;) {
      if (version < this.#compactedTo) {
        yield line('ERROR', status(410, 'Expired', 'too old resource version'));
        return;
      }
      const fresh = this.#history.filter(({ object }) => Number(object.metadata.resourceVersion) > version);
      const bytes = Buffer.concat(fresh.map(({ type, object }) => line(type, object)));
      version = Number(fresh.at(-1)?.object.metadata.resourceVersion ?? version);
      const room = breaking === undefined ? bytes.length : Math.max(0, breaking.afterBytes - sent);
      for (let at = 0; at < Math.min(bytes.length, room); at += chunkSize) {
        yield bytes.subarray(at, Math.min(at + chunkSize, room));
      }
      sent += Math.min(bytes.length, room);
      if (breaking !== undefined && room <= bytes.length) {
        yield* this.#break(breaking.how, signal);
        // Garbage takes the place of frames, and the stream goes on after them.
        if (breaking.how !== 'garbage') return;
        breaking = undefined;
      }
      await this.#changed(signal);
    }
  }

  async *#break(how: Break['how'], signal: AbortSignal): AsyncGenerator<Uint8Array> {
    if (how === 'reset') throw unreachable();
    if (how === 'hang') await aborted(signal);
    if (how === 'garbage') yield Buffer.from('\n<html>\n');
    if (how === 'expire') yield Buffer.concat([Buffer.from('\n'), line('ERROR', status(410, 'Expired', 'too old'))]);
    if (how === 'internal')
      yield Buffer.concat([Buffer.from('\n'), line('ERROR', status(500, 'InternalError', 'oops'))]);
  }

  #commit(type: Change['type'], name: string, uid: string): void {
    const resourceVersion = String(++this.#version);
    const object = { metadata: { name, namespace: 'ns', uid, resourceVersion } };
    if (type === 'DELETED') this.objects.delete(name);
    else this.objects.set(name, object);
    this.#history.push({ type, object });
    for (const wake of this.#wake) wake();
  }

  async #changed(signal: AbortSignal): Promise<void> {
    let wake = (): void => undefined;
    const change = new Promise<void>((resolve) => {
      wake = resolve;
    });
    this.#wake.add(wake);
    try {
      await Promise.race([change, aborted(signal)]);
    } finally {
      this.#wake.delete(wake);
    }
  }
}

/** Never resolves; rejects once the signal is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const line = (type: string, object: object): Buffer => Buffer.from(`${JSON.stringify({ type, object })}\n`);
const unreachable = (): PodwrightError => new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', 'connection reset');

/** The two verbs that an informer uses. */
function clientOf(world: World, chunkSize: number): KubeClient {
  const refuse = (): void => {
    const code = world.refusals.shift();
    if (code === 0) throw unreachable();
    if (code !== undefined) throw new PodwrightError('ERR_PODWRIGHT_API', 'refused', { details: { status: code } });
  };
  const part = {
    list: async (_path: unknown, _options: ListOptions) => {
      refuse();
      return world.list();
    },
    openWatch: async (_path: unknown, { resourceVersion }: WatchQuery, signal: AbortSignal): Promise<ByteStream> => {
      refuse();
      return world.watch(Number(resourceVersion), chunkSize, signal);
    },
  };
  return part as unknown as KubeClient;
}

const name = fc.constantFrom('a', 'b', 'c');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('touch' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('replace' as const), name }) },
  { weight: 1, arbitrary: fc.constant({ do: 'compact' as const }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 500, 2_000, 95_000) }) },
);
const breaks = fc.array(
  fc.record({
    afterBytes: fc.nat(1_500),
    how: fc.constantFrom<Break['how']>('end', 'reset', 'hang', 'garbage', 'expire', 'internal'),
  }),
  { minLength: 2, maxLength: 8 },
);
const refusals = fc.array(fc.constantFrom(0, 429, 500, 503, 410, 403), { maxLength: 3 });

test('deltas are whole, in order, and end with the state of the server', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 80 }),
      breaks,
      refusals,
      fc.integer({ min: 1, max: 300 }),
      async (steps, faults, refused, chunkSize) => {
        const world = new World();
        world.breaks.push(...faults);
        world.refusals.push(...refused);
        const clock = new VirtualClock();
        const informer = new Informer<KubeObject>({
          client: clientOf(world, chunkSize),
          path: { resource: 'pods', namespace: 'ns' },
          trim: ({ metadata }) => ({ metadata }),
          bookmarks: true,
          clock,
          random: () => 0.5,
        });
        const known = new Map<string, KubeObject>();
        informer.addHandler((delta) => replay(known, delta));
        informer.start();
        await settle();
        for (const each of steps) {
          if (each.do === 'compact') world.compact();
          else if (each.do !== 'wait') world[each.do](each.name);
          else {
            clock.advance(each.ms);
            await settle();
          }
        }
        const expected = versions(world.objects.values());
        // Each fault and each pause ends with time; a server that is kept from breaking is live in the end.
        for (
          let round = 0;
          round < 60 && !(informer.health.state === 'live' && versions(informer.list()) === expected);
          round++
        ) {
          await settle();
          if (clock.nextAt !== undefined) clock.advanceTo(clock.nextAt);
        }
        expect(versions(informer.list())).toBe(expected);
        expect(versions(known.values())).toBe(expected);
        expect(informer.health.counters.handlerErrors).toBe(0);
        await informer.stop();
        expect(clock.nextAt).toBeUndefined();
      },
    ),
    { numRuns: 300 },
  );
});

/** A client that knows nothing but the deltas: each must make sense after the ones before. */
function replay(known: Map<string, KubeObject>, { kind, key, object, old }: Delta<KubeObject>): void {
  const before = known.get(key);
  if (kind === 'added') expect(before).toBeUndefined();
  else expect(old).toEqual(before);
  if (kind === 'updated') {
    expect(object.metadata.uid).toBe(before?.metadata.uid);
    expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(Number(before?.metadata.resourceVersion));
  }
  if (kind === 'deleted') known.delete(key);
  else known.set(key, object);
}

function versions(objects: Iterable<KubeObject>): string {
  return [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join();
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}
