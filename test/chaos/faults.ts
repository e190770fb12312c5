/** Faults for a world: a few kinds of many, each at a rate at which builds still get on. */
import type { Fault, FaultRule } from '../../src/cluster/index.ts';
import type { Random } from '../../src/cluster/random.ts';

export const userAgent = 'podwright-chaos';
const match = { userAgent } as const;
const own = { own: true, userAgent: 'podwright-cluster/' } as const;
const logs = { ...match, subresource: 'log' } as const;

type Draw = (random: Random) => FaultRule;

const ofRequest =
  (fault: Fault, most: number, more: FaultRule['match'] = match): Draw =>
  (random) => ({ fault, match: more, rate: random.between(most / 10, most) });
const every =
  (fault: Fault, everyMs: readonly [number, number]): Draw =>
  () => ({ fault, everyMs });

/** They disturb what is told, and never what happens. */
const disturbing: readonly Draw[] = [
  ofRequest({ kind: 'delay', ms: [1, 5_000] }, 0.2),
  ...[429, 500, 503, 504].map((code) => ofRequest({ kind: 'refuse', code }, 0.15)),
  ofRequest({ kind: 'throttle' }, 0.15),
  ofRequest({ kind: 'refuse', code: 401 }, 0.02),
  ofRequest({ kind: 'refuse', code: 410 }, 0.3, { ...match, verb: 'watch' }),
  () => ({ fault: { kind: 'refuse', code: 403 }, match: { ...match, resource: 'events' }, rate: 1 }),
  ofRequest({ kind: 'resetBefore' }, 0.15),
  ofRequest({ kind: 'resetAfter' }, 0.15),
  ...['create', 'patch', 'delete'].map((verb) => ofRequest({ kind: 'resetAfter' }, 0.5, { ...match, verb })),
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
  ).map((kind) => ofRequest({ kind }, 0.5)),
  ofRequest({ kind: 'logCut' }, 0.5, logs),
  ofRequest({ kind: 'logHang' }, 0.3, logs),
  ofRequest({ kind: 'refuse', code: 500 }, 0.3, logs),
  ofRequest({ kind: 'resetAfter' }, 0.05, own),
  ofRequest({ kind: 'watchExpired' }, 0.3, own),
  ofRequest({ kind: 'watchEnd' }, 0.3, own),
  (random) => ({ fault: { kind: 'eventDrop' }, rate: random.between(0.1, 1) }),
  (random) => ({ fault: { kind: 'eventDelay', ms: [10, 20_000] }, rate: random.between(0.1, 1) }),
  every({ kind: 'compact' }, [1_000, 30_000]),
  every({ kind: 'dropConnections' }, [500, 20_000]),
  every({ kind: 'restartApiServer', downMs: [100, 8_000] }, [10_000, 60_000]),
  every({ kind: 'restartKubelet', downMs: [100, 8_000] }, [10_000, 60_000]),
  every({ kind: 'silenceNode', downMs: [1_000, 30_000] }, [30_000, 90_000]),
  (random) => ({
    fault: { kind: 'skewNodeClock', ms: random.integer(-20_000, 20_000) },
    afterMs: random.chance(0.5) ? 0 : random.integer(0, 20_000),
  }),
];

/** They end what runs. */
const harming: readonly Draw[] = [
  () => ({ fault: { kind: 'evictPods', share: 0.3 }, afterMs: [1_000, 40_000] }),
  () => ({ fault: { kind: 'killContainers', share: 0.2 }, afterMs: [1_000, 40_000] }),
  () => ({ fault: { kind: 'killSandboxes', share: 0.2 }, afterMs: [1_000, 40_000] }),
  () => ({ fault: { kind: 'rebootNode' }, afterMs: [5_000, 60_000] }),
  () => ({ fault: { kind: 'shutDownNode' }, afterMs: [5_000, 60_000] }),
  () => ({ fault: { kind: 'silenceNode', downMs: [60_000, 900_000] }, afterMs: [1_000, 40_000] }),
];

export function drawFaults(random: Random): { readonly faults: readonly FaultRule[]; readonly harms: boolean } {
  const harms = random.chance(0.3);
  const disturbances = random.shuffle(disturbing).slice(0, random.integer(0, 6));
  const harm = harms ? random.shuffle(harming).slice(0, random.integer(1, 2)) : [];
  return { faults: [...disturbances, ...harm].map((draw) => draw(random)), harms };
}
