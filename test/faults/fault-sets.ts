/**
 * Faults by name, under which the runtime's suite must pass: each alone, and all at a low rate. Those that change what
 * truly becomes of a pod (evictions, kills, rejections, reboots) are the chaos test's, which knows the truth.
 */
import type { Fault, FaultMatch, FaultRule } from '../../src/cluster/index.ts';

/** Of the runtimes under test; the tests' own client and the cluster's parts are left alone unless said otherwise. */
const ours = { userAgent: 'podwright-test' } as const;
const own = { own: true, userAgent: 'podwright-cluster/' } as const;

const often = 0.2;

function request(fault: Fault, match: FaultMatch = {}, rate = often): FaultRule {
  return { fault, match: { ...ours, ...match }, rate };
}

/** A token expires once for each verb: renewed, it works again. */
const expiredTokens: readonly FaultRule[] = ['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => ({
  fault: { kind: 'refuse', code: 401 },
  match: { ...ours, verb },
  times: 1,
}));

const logs = { subresource: 'log' } as const;

export const faultSets: Readonly<Record<string, readonly FaultRule[]>> = {
  none: [],
  throttled: [request({ kind: 'throttle' })],
  'refused 429': [request({ kind: 'refuse', code: 429, retryAfterSeconds: 1 })],
  'refused 500': [request({ kind: 'refuse', code: 500 })],
  'refused 503': [request({ kind: 'refuse', code: 503 })],
  'refused 504': [request({ kind: 'refuse', code: 504 })],
  'refused 401 once': expiredTokens,
  'Events forbidden': [request({ kind: 'refuse', code: 403 }, { resource: 'events' }, 1)],
  'watches gone 410': [request({ kind: 'refuse', code: 410 }, { verb: 'watch' }, 0.5)],
  // Not more often: a runtime whose first list is refused for 40 s says so instead of opening.
  'lists gone 410': [request({ kind: 'refuse', code: 410 }, { verb: 'list' })],
  delayed: [request({ kind: 'delay', ms: [0, 400] })],
  'reset before': [request({ kind: 'resetBefore' })],
  'reset after': [request({ kind: 'resetAfter' })],
  'creates reset after': [request({ kind: 'resetAfter' }, { verb: 'create' }, 0.5)],
  'patches reset after': [request({ kind: 'resetAfter' }, { verb: 'patch' }, 0.5)],
  'deletes reset after': [request({ kind: 'resetAfter' }, { verb: 'delete' }, 0.5)],
  'watches end': [request({ kind: 'watchEnd' }, {}, 0.7)],
  'watches cut in a line': [request({ kind: 'watchCut' }, {}, 0.7)],
  'watches expire': [request({ kind: 'watchExpired' }, {}, 0.7)],
  'watches fail inside': [request({ kind: 'watchInternalError' }, {}, 0.7)],
  'watches malformed': [request({ kind: 'watchMalformed' }, {}, 0.7)],
  'watches of another kind': [request({ kind: 'watchWrongKind' }, {}, 0.7)],
  'a watch hangs': [{ fault: { kind: 'watchHang' }, match: { ...ours, resource: 'pods' }, times: 1 }],
  'logs cut': [request({ kind: 'logCut' }, logs, 0.5)],
  'logs hang': [request({ kind: 'logHang' }, logs, 0.3)],
  'logs refused': [request({ kind: 'refuse', code: 500 }, logs, 0.5)],
  "the cluster's requests reset": [{ fault: { kind: 'resetAfter' }, match: own, rate: 0.1 }],
  "the cluster's watches end": [{ fault: { kind: 'watchEnd' }, match: own, rate: 0.9 }],
  "the cluster's watches expire": [{ fault: { kind: 'watchExpired' }, match: own, rate: 0.9 }],
  'Events dropped': [{ fault: { kind: 'eventDrop' }, rate: 0.5 }],
  'Events late and out of order': [{ fault: { kind: 'eventDelay', ms: [0, 3_000] }, rate: 0.5 }],
  compacted: [{ fault: { kind: 'compact' }, everyMs: [200, 600] }],
  'connections dropped': [{ fault: { kind: 'dropConnections' }, everyMs: [300, 1_200] }],
  'compacted and dropped': [
    { fault: { kind: 'compact' }, everyMs: 500 },
    { fault: { kind: 'dropConnections' }, everyMs: 600 },
  ],
  'API server restarts': [{ fault: { kind: 'restartApiServer', downMs: [50, 500] }, everyMs: [1_000, 3_000] }],
  'kubelet restarts': [{ fault: { kind: 'restartKubelet', downMs: [50, 500] }, everyMs: [1_000, 3_000] }],
  'sandboxes fail': [{ fault: { kind: 'failSandbox' }, rate: 0.3 }],
  'images removed': [{ fault: { kind: 'removeImages' }, everyMs: [200, 800] }],
  'node silent': [{ fault: { kind: 'silenceNode', downMs: 3_000 }, afterMs: 2_000, everyMs: 8_000 }],
  "node's clock ahead": [{ fault: { kind: 'skewNodeClock', ms: 30_000 } }],
  "node's clock behind": [{ fault: { kind: 'skewNodeClock', ms: -30_000 } }],
  everything: [
    ...['throttle', 'resetBefore', 'resetAfter'].map((kind) => request({ kind } as Fault, {}, 0.02)),
    ...[429, 500, 503, 504].map((code) => request({ kind: 'refuse', code }, {}, 0.02)),
    request({ kind: 'delay', ms: [0, 200] }, {}, 0.05),
    ...(['watchEnd', 'watchCut', 'watchExpired', 'watchInternalError', 'watchMalformed'] as const).map((kind) =>
      request({ kind }, {}, 0.1),
    ),
    // The suite reads few logs, and few of them go on for long enough to be struck.
    request({ kind: 'logCut' }, logs, 0.5),
    request({ kind: 'logHang' }, logs, 0.5),
    { fault: { kind: 'resetAfter' }, match: own, rate: 0.02 },
    { fault: { kind: 'eventDrop' }, rate: 0.1 },
    { fault: { kind: 'eventDelay', ms: [0, 1_000] }, rate: 0.1 },
    { fault: { kind: 'compact' }, everyMs: [2_000, 5_000] },
    { fault: { kind: 'dropConnections' }, everyMs: [3_000, 6_000] },
    { fault: { kind: 'restartApiServer', downMs: [50, 300] }, everyMs: [5_000, 9_000] },
    { fault: { kind: 'restartKubelet', downMs: [50, 300] }, everyMs: [5_000, 9_000] },
    { fault: { kind: 'skewNodeClock', ms: 1_500 } },
  ],
};
