/** Runs many builds and says what of them is left in this process: memory, handles, actors, handles of builds. */
import type { InspectionEvent } from 'xstate';
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { namespace, placeholder213, step } from '../runtime/embedded.ts';
import { collectGarbage } from './garbage.ts';

export interface Leftovers {
  /** Bytes of heap after a collection, for each build between the first and the second half. */
  readonly heapPerBuild: number;
  /** By kind, as node names them, while the runtime is open and idle. */
  readonly handlesBefore: Readonly<Record<string, number>>;
  readonly handlesAfter: Readonly<Record<string, number>>;
  /** Actors that were created and are still held by anybody. */
  readonly actorsAlive: number;
  readonly actorsMade: number;
  /** The same of the callers' build objects, which the runtime must not hold. */
  readonly buildsAlive: number;
}

/** A cluster keeps Events for an hour, and so does the watch: they are deleted before anything is measured. */
async function forgetEvents(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/namespaces/${namespace}/events`, { method: 'DELETE' });
  if (!answer.ok) throw new Error(`the Events could not be deleted: ${answer.status}`);
  await answer.arrayBuffer();
}

export async function measureLeaks(
  { kubeConfig, url }: { readonly kubeConfig: string; readonly url: string },
  builds: number,
  atATime: number,
): Promise<Leftovers> {
  const actors = new Set<WeakRef<object>>();
  const inspect = (event: InspectionEvent): void => {
    if (event.type === '@xstate.actor') actors.add(new WeakRef(event.actorRef));
  };
  const runtime = await createRuntime({ kubeConfig, namespace, owner: 'leaks', placeholder: placeholder213, inspect });
  const handles: WeakRef<object>[] = [];
  const half = Math.floor(builds / 2);
  try {
    await runMany(runtime, handles, 0, half, atATime);
    await forgetEvents(url);
    const handlesBefore = await idleHandles();
    const heapBefore = await collectedHeap();
    await runMany(runtime, handles, half, builds, atATime);
    await forgetEvents(url);
    const handlesAfter = await idleHandles();
    const heapAfter = await collectedHeap();
    const isAlive = (ref: WeakRef<object>): boolean => ref.deref() !== undefined;
    return {
      heapPerBuild: (heapAfter - heapBefore) / (builds - half),
      handlesBefore,
      handlesAfter,
      actorsAlive: [...actors].filter(isAlive).length,
      actorsMade: actors.size,
      buildsAlive: handles.filter(isAlive).length,
    };
  } finally {
    await runtime.close();
  }
}

async function runMany(
  runtime: Runtime,
  handles: WeakRef<object>[],
  from: number,
  to: number,
  atATime: number,
): Promise<void> {
  let next = from;
  const lane = async (): Promise<void> => {
    while (next < to) handles.push(new WeakRef(await runOne(runtime, next++)));
  };
  await Promise.all(Array.from({ length: atATime }, lane));
}

/** Ends in turn by itself, by a cancel, and by a signal; each time with readers that are open. */
async function runOne(runtime: Runtime, number: number): Promise<object> {
  const abort = new AbortController();
  const build = await runtime.setupBuild({
    id: `leak-${number}`,
    containers: [step('a', 'echo a'), step('b', number % 3 === 0 ? 'echo b' : 'sleep 30')],
    pod: { terminationGracePeriodSeconds: 1 },
    timeouts: { removeMs: 1, pullMs: 60_000, runMs: 60_000 },
  });
  const stream = drain(runtime.streamBuild(build));
  await runtime.assembleBuild(build, { signal: abort.signal });
  await runtime.runContainer(build, 'a');
  await drain(runtime.tailContainer(build, 'a'));
  await runtime.waitContainer(build, 'a');
  await runtime.runContainer(build, 'b', { signal: abort.signal });
  const log = drain(runtime.tailContainer(build, 'b'));
  const ended = runtime.waitContainer(build, 'b', { signal: abort.signal });
  if (number % 3 === 1) runtime.cancelBuild(build);
  if (number % 3 === 2) abort.abort();
  await ended;
  await runtime.removeBuild(build);
  await Promise.all([stream, log]);
  return build;
}

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** What is left is there at every look; what a frame of the watch takes for a moment is not. */
async function idleHandles(): Promise<Record<string, number>> {
  let least: Record<string, number> | undefined;
  for (let look = 0; look < 10; look++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const counts: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
    const before: Record<string, number> = least ?? counts;
    least = Object.fromEntries(
      Object.entries(before).map(([kind, count]) => [kind, Math.min(count, counts[kind] ?? 0)]),
    );
  }
  return least ?? {};
}

async function collectedHeap(): Promise<number> {
  for (let i = 0; i < 5; i++) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().heapUsed;
}
