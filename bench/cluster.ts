/**
 * How many builds a minute the embedded cluster plays in virtual time, on one core:
 *   node bin/with-node.js bench/cluster.ts [BUILDS]
 * A build is a pod of two placeholders whose steps are switched in one after the other, then deleted.
 */
import { VirtualClock } from '../src/clock.ts';
import { labImages, labLives, passTimeUntil, startCluster } from '../src/cluster/index.ts';
import { startBuilds } from '../test/cluster/virtual-builds.ts';

const builds = Number(process.argv[2] ?? 2_000);
const everyMs = 100;

const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
const cluster = await startCluster({
  backend: 'scripted',
  transport: 'memory',
  clock,
  seed: 1,
  namespaces: ['builds'],
  images: labImages(),
  lives: labLives(),
  nodeCapacity: { cpu: '10000', memory: '10000Gi' },
});
const startedAt = performance.now();
const virtualAt = clock.now();
const log = startBuilds(cluster, clock, builds, everyMs);
await passTimeUntil(clock, 24 * 3_600_000, () => log.done === builds);
const seconds = (performance.now() - startedAt) / 1000;
const virtualSeconds = (clock.now() - virtualAt) / 1000;
console.log(
  JSON.stringify({
    builds,
    seconds: Number(seconds.toFixed(1)),
    buildsPerMinute: Math.round((builds / seconds) * 60),
    virtualSeconds: Math.round(virtualSeconds),
    requests: cluster.requests.total,
    rssMiB: Math.round(process.memoryUsage().rss / 2 ** 20),
  }),
);
await cluster.stop();
