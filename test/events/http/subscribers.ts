/** Plays many subscribers against one hub, some of which do not read, and measures what it costs the server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import { startEventServer } from '../../../src/events/http/server.ts';
import type { StreamEnd } from '../../../src/events/http/stream.ts';
import { v3Routes } from '../../../src/events/http/v3-routes.ts';
import { EventHub } from '../../../src/events/hub.ts';
import { collectGarbage } from '../../helpers/garbage.ts';

export interface Measured {
  /** The last sequence numbers the readers saw: one number when all saw the same. */
  readonly lasts: readonly number[];
  /** Gaps and repeats over all readers. */
  readonly faults: number;
  /** The last message of those who had not read, once they did. */
  readonly late: readonly string[];
  readonly ends: Readonly<Partial<Record<StreamEnd, number>>>;
  readonly last: number;
  /** The most that was held in heap and buffers while events were published, beyond what was before. */
  readonly grownBytes: number;
  readonly seconds: number;
}

export async function measureSubscribers(options: {
  readonly readers: number;
  readonly stalled: number;
  readonly events: number;
  readonly eventBytes: number;
}): Promise<Measured> {
  const kept = { maxEntries: 500, maxBytes: 4 * 2 ** 20 };
  const hub = new EventHub({ clock: systemClock, version: 'test', events: kept });
  const ends: Partial<Record<StreamEnd, number>> = {};
  const onSubscriber = () => (end: StreamEnd) => {
    ends[end] = (ends[end] ?? 0) + 1;
  };
  const server = await startEventServer({ routes: v3Routes(hub, { clock: systemClock, onSubscriber }) });
  const child = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('subscribers-child.ts', import.meta.url)),
      server.url,
      String(options.readers),
      String(options.stalled),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await said.next();
    if (done === true) throw new Error('the subscribers ended');
    return value as string;
  };
  if ((await nextLine()) !== 'connected') throw new Error('the subscribers did not connect');
  const before = bytesUsed();
  const began = performance.now();
  let most = before;
  const message = 'x'.repeat(options.eventBytes);
  for (let i = 0; i < options.events; i++) {
    hub.publish({ type: 'watch.changed', resource: 'pods', state: message, staleSince: null });
    if (hub.events.last % 50 !== 0) continue;
    // Those who read are let read everything, so that only those who do not can fall behind.
    while ((await nextLine()) !== `at ${hub.events.last}`);
    most = Math.max(most, bytesUsed());
  }
  hub.end('succeeded');
  const readers = JSON.parse(await nextLine()) as { lasts: number[]; faults: number };
  const seconds = (performance.now() - began) / 1000;
  const { late } = JSON.parse(await nextLine()) as { late: string[] };
  if (child.exitCode === null) await once(child, 'exit');
  await server.close();
  return { ...readers, late, ends, last: hub.events.last, grownBytes: most - before, seconds };
}

function bytesUsed(): number {
  collectGarbage();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + Math.max(external, arrayBuffers);
}
