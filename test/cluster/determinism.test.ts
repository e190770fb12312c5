/** The same seed gives the same bytes, also when everything goes wrong that can. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { VirtualClock } from '../../src/clock.ts';
import { faultKinds, faultMessage } from '../../src/cluster/faults/rules.ts';
import {
  type EmbeddedCluster,
  type FaultRule,
  labImages,
  labLives,
  passTimeUntil,
  startCluster,
} from '../../src/cluster/index.ts';
import { SelfCheck } from '../../src/cluster/self-check.ts';
import type { Logger } from '../../src/logger.ts';
import { type Anything, send, stream, watch } from './memory-client.ts';
import { startBuilds } from './virtual-builds.ts';

const own = { own: true, userAgent: 'podwright-cluster/' } as const;

/** Every kind of fault, at a rate at which builds still get on. */
const everything: readonly FaultRule[] = [
  { fault: { kind: 'delay', ms: [1, 800] }, rate: 0.05 },
  { fault: { kind: 'refuse', code: 500 }, rate: 0.02 },
  { fault: { kind: 'refuse', code: 503, retryAfterSeconds: 1 }, rate: 0.02 },
  { fault: { kind: 'throttle' }, rate: 0.02 },
  { fault: { kind: 'resetBefore' }, rate: 0.02 },
  { fault: { kind: 'resetAfter' }, rate: 0.02 },
  { fault: { kind: 'resetAfter' }, rate: 0.01, match: own },
  { fault: { kind: 'staleList', revisions: 5 }, rate: 0.3 },
  ...(
    [
      'watchEnd',
      'watchHang',
      'watchCut',
      'watchExpired',
      'watchInternalError',
      'watchMalformed',
      'watchWrongKind',
    ] as const
  ).map((kind) => ({ fault: { kind }, rate: 0.1 })),
  { fault: { kind: 'watchEnd' }, rate: 0.2, match: own },
  { fault: { kind: 'logCut' }, rate: 0.2 },
  { fault: { kind: 'logHang' }, rate: 0.1 },
  { fault: { kind: 'eventDrop' }, rate: 0.1 },
  { fault: { kind: 'eventDelay', ms: [10, 5_000] }, rate: 0.1 },
  { fault: { kind: 'rejectPod' }, rate: 0.03 },
  { fault: { kind: 'failSandbox' }, rate: 0.1 },
  { fault: { kind: 'compact' }, everyMs: [20_000, 60_000] },
  { fault: { kind: 'dropConnections' }, everyMs: [10_000, 60_000] },
  { fault: { kind: 'restartApiServer', downMs: [500, 3_000] }, everyMs: [40_000, 90_000] },
  { fault: { kind: 'restartKubelet', downMs: [500, 3_000] }, everyMs: [40_000, 90_000] },
  { fault: { kind: 'removeImages' }, everyMs: [10_000, 30_000] },
  { fault: { kind: 'evictPods', share: 0.3 }, afterMs: [5_000, 30_000] },
  { fault: { kind: 'killContainers', share: 0.2 }, afterMs: [5_000, 30_000] },
  { fault: { kind: 'killSandboxes', share: 0.2 }, afterMs: [5_000, 30_000] },
  { fault: { kind: 'silenceNode', downMs: [1_000, 90_000] }, afterMs: [1_000, 60_000], rate: 0.3 },
  { fault: { kind: 'shutDownNode' }, afterMs: [1_000, 60_000], rate: 0.3 },
  { fault: { kind: 'rebootNode' }, afterMs: [30_000, 60_000] },
  { fault: { kind: 'skewNodeClock', ms: -3_000 }, afterMs: [1_000, 10_000] },
];

const userAgent = 'builds';
const pods = '/api/v1/namespaces/builds/pods';
const builds = 4;
const seeds = 100;
const seedsAtOnce = 10;

const digests = new Set<string>();
const struck = new Set<string>();

test.each(Array.from({ length: seeds / seedsAtOnce }, (_, at) => at * seedsAtOnce + 1))(
  'the same seed gives the same bytes with all faults on, and what a pod shows stays in order (%i…)',
  async (from) => {
    for (let seed = from; seed < from + seedsAtOnce; seed += 1) {
      const first = await run(seed, (kind) => struck.add(kind));
      const second = await run(seed);
      expect(second, `seed ${seed}`).toEqual(first);
      expect(first.broken, `seed ${seed}`).toEqual([]);
      expect(first.answers, `seed ${seed}: builds come to an end by themselves`).toBeLessThan(1_000);
      digests.add(first.digest);
    }
  },
);

test('each of those seeds gave another run, and every kind of fault struck', () => {
  expect(digests.size).toBe(seeds);
  expect([...struck].sort()).toEqual([...faultKinds].sort());
});

interface Run {
  readonly digest: string;
  readonly answers: number;
  readonly frames: number;
  readonly broken: readonly string[];
}

async function run(seed: number, onStruck: (kind: string) => void = () => undefined): Promise<Run> {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const cluster = await startCluster({
    backend: 'scripted',
    transport: 'memory',
    clock,
    seed,
    namespaces: ['builds'],
    images: labImages(),
    lives: labLives(),
    logger: faultLogger(onStruck),
    faults: everything.map((rule) => ({ ...rule, match: { userAgent, ...rule.match } })),
  });
  try {
    const witness = witnessed(cluster, clock);
    const read = readEverything(cluster, clock);
    const log = startBuilds(cluster, clock, builds, 700);
    await passTimeUntil(clock, 900_000, () => log.done === builds);
    const bytes = [...log.lines, ...read].join('\n');
    return {
      digest: createHash('sha256').update(bytes).digest('hex'),
      answers: log.lines.length,
      frames: witness.length,
      broken: brokenRules(witness),
    };
  } finally {
    await cluster.stop();
  }
}

function faultLogger(onStruck: (kind: string) => void): Logger {
  return {
    info: () => undefined,
    debug: (message, fields) => {
      if (message === faultMessage) onStruck(String(fields?.['fault']));
    },
  };
}

/** What a client is told that watches pods and Events, follows logs and lists, for as long as the cluster lives. */
function readEverything(cluster: EmbeddedCluster, clock: VirtualClock): readonly string[] {
  const lines: string[] = [];
  const streams = [
    `${pods}?watch=true`,
    '/api/v1/namespaces/builds/events?watch=true',
    ...Array.from({ length: builds }, (_, at) => `${pods}/build-${at}/log?container=a&follow=true&timestamps=true`),
  ];
  const again = (): Promise<void> => new Promise((resolve) => void clock.schedule(1_000, resolve));
  const follow = async (path: string): Promise<void> => {
    for (;;) {
      const following = stream(cluster, path, userAgent);
      // One that says nothing for so long is left.
      for (let told = -1, quiet = 0; !following.ended && quiet < 60; quiet += 1) {
        if (following.lines.length > told) quiet = 0;
        told = following.lines.length;
        await again();
      }
      following.stop();
      lines.push(path, ...following.lines, String(following.error));
      await again();
    }
  };
  const list = async (): Promise<void> => {
    for (;;) {
      const answer = await send(cluster, 'GET', `${pods}?resourceVersion=0`, undefined, { userAgent }).catch(String);
      lines.push(typeof answer === 'string' ? answer : answer.text);
      for (let pause = 0; pause < 5; pause += 1) await again();
    }
  };
  for (const path of streams) void follow(path);
  void list();
  return lines;
}

/** The cluster judges itself by what it stores, this by what a client saw. */
function brokenRules(frames: readonly Anything[]): readonly string[] {
  const check = new SelfCheck();
  // A clock that is set back makes things end before they began.
  check.ignoresTimes = true;
  for (const frame of frames) check.see(frame, 'own');
  return check.broken;
}

/** Every frame of the pods, across restarts of the server: no fault is for this watch itself. */
function witnessed(cluster: EmbeddedCluster, clock: VirtualClock): Anything[] {
  const frames: Anything[] = [];
  const seen = new Set<string>();
  const follow = async (): Promise<void> => {
    let version = '0';
    for (;;) {
      const watching = watch(cluster, `${pods}?resourceVersion=${version}`, 'witness');
      for (let at = 0; !watching.ended || at < watching.frames.length; ) {
        const frame = watching.frames[at];
        if (frame === undefined) await new Promise<void>((resolve) => void clock.schedule(100, resolve));
        else {
          at += 1;
          version = frame.type === 'ERROR' ? '0' : frame.object.metadata.resourceVersion;
          // After a restart the present state is told once more.
          if (frame.type === 'ERROR' || seen.has(version)) continue;
          seen.add(version);
          frames.push(frame);
        }
      }
    }
  };
  void follow();
  return frames;
}
