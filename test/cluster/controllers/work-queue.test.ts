import { expect, test } from 'vitest';
import { VirtualClock } from '../../../src/clock.ts';
import { WorkQueue } from '../../../src/cluster/controllers/work-queue.ts';
import { silentLogger } from '../../../src/logger.ts';

test('a key that is added at any moment around the end of the last one is worked on', async () => {
  for (let turns = 0; turns < 12; turns++) {
    const done: string[] = [];
    const work = async (key: string): Promise<undefined> => void done.push(key);
    const queue = new WorkQueue({ clock: new VirtualClock(), logger: silentLogger, work });
    queue.add('first');
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    queue.add('second');
    await new Promise((resolve) => setImmediate(resolve));
    expect({ turns, done: done.toSorted() }).toEqual({ turns, done: ['first', 'second'] });
    await queue.stop();
  }
});
