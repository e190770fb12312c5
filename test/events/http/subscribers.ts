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

export interface Measured {
  /** The last sequence numbers the readers saw: one number when all saw the same. */
  readonly lasts: readonly number[];
  /** Gaps and repeats over all readers. */
  readonly faults: number;
  /** The last message of those who had not read, once they did. */
  readonly late: readonly string[];
  readonly ends: Readonly<Partial<Record<StreamEnd, number>>>;
  readonly last: number;
  /** The most that heap and buffers grew while events were published. */
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
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if ((await lines.next()).value !== 'connected') throw new Error('the subscribers did not connect');
  const before = bytesUsed();
  const began = performance.now();
  let most = before;
  const message = 'x'.repeat(options.eventBytes);
  for (let i = 0; i < options.events; i++) {
    hub.publish({ type: 'watch.changed', resource: 'pods', state: message, staleSince: null });
    if (i % 50 !== 49) continue;
    await allRead(options.readers, hub);
    most = Math.max(most, bytesUsed());
  }
  hub.end('succeeded');
  const readers = JSON.parse((await lines.next()).value as string) as { lasts: number[]; faults: number };
  const seconds = (performance.now() - began) / 1000;
  const { late } = JSON.parse((await lines.next()).value as string) as { late: string[] };
  if (child.exitCode === null) await once(child, 'exit');
  await server.close();
  return { ...readers, late, ends, last: hub.events.last, grownBytes: most - before, seconds };
}

/** Until all who read have read everything: those who stalled hold up nobody else. */
async function allRead(readers: number, hub: EventHub): Promise<void> {
  while (hub.events.waiting < readers) await new Promise((resolve) => setImmediate(resolve));
}

function bytesUsed(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + Math.max(external, arrayBuffers);
}
