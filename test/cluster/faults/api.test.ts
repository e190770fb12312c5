/** Each fault of what is asked and told does what it says, to those it is meant for, as often as it should. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Fault, FaultRule } from '../../../src/cluster/index.ts';
import { type Anything, aPod, merge, send, stream, watch } from '../memory-client.ts';
import { allRun, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const asVictim = { userAgent: 'victim' } as const;
const forVictim = (fault: Fault, more: Partial<FaultRule> = {}): FaultRule => ({
  fault,
  match: { userAgent: 'victim' },
  ...more,
});

describe('of requests', () => {
  test('a refusal comes once, and only to those it is for', async () => {
    const { cluster } = await startStand();
    cluster.faults.add(forVictim({ kind: 'refuse', code: 503, retryAfterSeconds: 7 }));
    expect((await send(cluster, 'GET', pods, undefined, { userAgent: 'other' })).status).toBe(200);
    const refused = await send(cluster, 'GET', pods, undefined, asVictim);
    expect(refused.body).toMatchObject({ code: 503, reason: 'ServiceUnavailable', details: { retryAfterSeconds: 7 } });
    expect(refused.headers['retry-after']).toBe('7');
    expect((await send(cluster, 'GET', pods, undefined, asVictim)).status).toBe(200);
    expect(cluster.faults.rules).toEqual([]);
  });

  test.each([
    [401, 'Unauthorized', 'Unauthorized'],
    [
      403,
      'Forbidden',
      'pods "a" is forbidden: User "podwright-admin" cannot patch resource "pods" in API group "" in the namespace "default"',
    ],
    [404, 'NotFound', 'pods "a" not found'],
    [
      409,
      'Conflict',
      'Operation cannot be fulfilled on pods "a": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [410, 'Expired', 'The resourceVersion for the provided list is too old.'],
    [429, 'TooManyRequests', 'storage is (re)initializing'],
    [500, 'InternalError', 'Internal error occurred: by a fault of the embedded cluster'],
    [503, 'ServiceUnavailable', 'apiserver is shutting down'],
    [504, 'Timeout', 'Timeout: request did not complete within requested timeout - context deadline exceeded'],
  ])('a refusal with %i is worded as the real one', async (code, reason, message) => {
    const { cluster } = await startStand();
    cluster.faults.add(forVictim({ kind: 'refuse', code, retryAfterSeconds: 2 }));
    const refused = await send(cluster, 'PATCH', `${pods}/a`, {}, { ...merge, ...asVictim });
    expect(refused.status).toBe(code);
    expect(refused.body).toMatchObject({ kind: 'Status', status: 'Failure', code, reason, message });
    expect(refused.body.details.retryAfterSeconds).toBe(2);
    expect(refused.headers['retry-after']).toBe('2');
  });

  test('throttling is plain text with Retry-After', async () => {
    const { cluster } = await startStand();
    cluster.faults.add(forVictim({ kind: 'throttle' }));
    const { status, text, headers } = await send(cluster, 'GET', pods, undefined, asVictim);
    expect([status, text, headers['content-type'], headers['retry-after']]).toEqual([
      429,
      'Too many requests, please try again later.\n',
      'text/plain; charset=utf-8',
      '1',
    ]);
  });

  test('a reset before it leaves nothing done, one after it leaves it done', async () => {
    const { cluster } = await startStand();
    cluster.faults.add(forVictim({ kind: 'resetBefore' }));
    await expect(send(cluster, 'POST', pods, aPod('a'), asVictim)).rejects.toThrow('ECONNRESET');
    expect((await send(cluster, 'GET', `${pods}/a`)).status).toBe(404);
    cluster.faults.add(forVictim({ kind: 'resetAfter' }));
    await expect(send(cluster, 'POST', pods, aPod('a'), asVictim)).rejects.toThrow('ECONNRESET');
    expect((await send(cluster, 'GET', `${pods}/a`)).status).toBe(200);
  });

  test('a delay takes its time', async () => {
    const { cluster, pass } = await startStand();
    cluster.faults.add(forVictim({ kind: 'delay', ms: 5_000 }));
    let answered = false;
    const answer = send(cluster, 'GET', pods, undefined, asVictim).finally(() => {
      answered = true;
    });
    await pass(4_999);
    expect(answered).toBe(false);
    await pass(1);
    expect((await answer).status).toBe(200);
  });

  test('a stale list is an older state, for those who take any', async () => {
    const { cluster, pass } = await startStand();
    await send(cluster, 'POST', pods, aPod('a'));
    await pass(5_000);
    await send(cluster, 'POST', pods, aPod('b', { spec: { nodeSelector: { no: 'such' } } }));
    cluster.faults.add(forVictim({ kind: 'staleList', revisions: 1 }));
    const listed = async (query: string): Promise<Anything[]> =>
      (await send(cluster, 'GET', `${pods}${query}`, undefined, asVictim)).body.items;
    expect(await listed('')).toHaveLength(2);
    expect(await listed('?resourceVersion=0&limit=1')).toHaveLength(1);
    expect(await listed('?resourceVersion=0')).toHaveLength(2);
  });

  test('a stale list is no older than what is still known', async () => {
    const { cluster, pass } = await startStand();
    await send(cluster, 'POST', pods, aPod('a'));
    await pass(5_000);
    cluster.compact();
    cluster.faults.add(forVictim({ kind: 'staleList', revisions: 1_000 }));
    const { body } = await send(cluster, 'GET', `${pods}?resourceVersion=0`, undefined, asVictim);
    expect(body).toMatchObject({ kind: 'PodList', items: [{ metadata: { name: 'a' } }] });
  });

  test('by rate it comes about so often, and to each seed the same', async () => {
    const { cluster } = await startStand({ faults: [forVictim({ kind: 'refuse', code: 500 }, { rate: 0.3 })] });
    let refused = 0;
    for (let at = 0; at < 400; at += 1) {
      if ((await send(cluster, 'GET', pods, undefined, asVictim)).status === 500) refused += 1;
    }
    expect(refused).toBeGreaterThan(80);
    expect(refused).toBeLessThan(160);
    cluster.faults.clear();
    expect((await send(cluster, 'GET', pods, undefined, asVictim)).status).toBe(200);
  });
});

describe('of watches', () => {
  test('given at the start they strike those of its own parts, too, which get on all the same', async () => {
    const fault = { kind: 'watchExpired', afterFrames: 0 } as const;
    const match = { own: true, userAgent: 'podwright-cluster/' };
    const stand = await startStand({ faults: [{ fault, match, rate: 1 }] });
    const watches = (): number => stand.cluster.requests.count({ verb: 'watch', userAgent: 'podwright-cluster/' });
    await stand.pass(10_000);
    const before = watches();
    await stand.send('POST', pods, aPod('a'));
    await stand.podWhen('a', allRun);
    expect(watches()).toBeGreaterThan(before);
  });

  async function disturbed(
    kind:
      | 'watchEnd'
      | 'watchHang'
      | 'watchCut'
      | 'watchExpired'
      | 'watchInternalError'
      | 'watchMalformed'
      | 'watchWrongKind',
  ): Promise<{ stand: Stand; watching: ReturnType<typeof watch> }> {
    const stand = await startStand();
    await stand.send('POST', pods, aPod('a'));
    await stand.podWhen('a', allRun);
    stand.cluster.faults.add(forVictim({ kind, afterFrames: 1 }));
    const watching = watch(stand.cluster, pods, 'victim');
    await stand.pass(10);
    await stand.send('DELETE', `${pods}/a`, { gracePeriodSeconds: 0 });
    await stand.pass(100);
    return { stand, watching };
  }

  test('it ends cleanly', async () => {
    const { watching } = await disturbed('watchEnd');
    expect([watching.frames.length, watching.ended, watching.error]).toEqual([1, true, undefined]);
  });

  test('it hangs: no byte comes, and it does not end', async () => {
    const { watching, stand } = await disturbed('watchHang');
    await stand.pass(600_000);
    expect([watching.lines.length, watching.ended]).toEqual([1, false]);
    watching.stop();
    await stand.pass(1);
    expect(watching.ended).toBe(true);
    expect(stand.cluster.requests.count({ userAgent: 'victim', open: true })).toBe(0);
  });

  test('it breaks in the middle of a line', async () => {
    const { watching } = await disturbed('watchCut');
    expect(watching.lines[1]).not.toContain('\n');
    expect(String(watching.error)).toContain('ECONNRESET');
  });

  test.each([
    ['watchExpired', 410, 'Expired'],
    ['watchInternalError', 500, 'InternalError'],
  ] as const)('%s is told in the stream', async (kind, code, reason) => {
    const { watching } = await disturbed(kind);
    expect(watching.frames.at(-1)).toMatchObject({ type: 'ERROR', object: { code, reason } });
    expect(watching.ended).toBe(true);
  });

  test('a line that is no JSON, and the next frame after it', async () => {
    const { watching } = await disturbed('watchMalformed');
    expect(() => JSON.parse(watching.lines[1] ?? '')).toThrow(SyntaxError);
    expect(watching.frames.length).toBeGreaterThan(1);
  });

  test('an object of another kind, and the next frame after it', async () => {
    const { watching } = await disturbed('watchWrongKind');
    expect(watching.frames[1].object.kind).toBe('Node');
    expect(watching.frames[2].object.kind).toBe('Pod');
  });
});

test('of logs: cut in the middle, or silent for ever', async () => {
  const { cluster, podWhen, pass, send: ask } = await startStand();
  await ask('POST', pods, aPod('a', { image: 'lab.local/chatty:1' }));
  await podWhen('a', allRun);
  cluster.faults.add(forVictim({ kind: 'logCut', afterPieces: 0 }));
  const log = send(cluster, 'GET', `${pods}/a/log?follow=true`, undefined, asVictim);
  const broken = expect(log).rejects.toThrow('ECONNRESET');
  await pass(100);
  cluster.faults.add(forVictim({ kind: 'logHang', afterPieces: 1 }));
  const hung = stream(cluster, `${pods}/a/log?follow=true`, 'victim');
  await pass(600_000);
  expect([hung.lines.length, hung.ended]).toEqual([1, false]);
  await broken;
});

test('of Events: lost or late, while statuses go on', async () => {
  const { cluster, podWhen, pass, send: ask } = await startStand();
  cluster.faults.add({ fault: { kind: 'eventDrop' }, rate: 1 });
  await ask('POST', pods, aPod('a'));
  await podWhen('a', allRun);
  await pass(5_000);
  const fromKubelet = `${events}?fieldSelector=source%3Dkubelet`;
  expect((await ask('GET', fromKubelet)).body.items).toEqual([]);
  cluster.faults.clear();
  cluster.faults.add({ fault: { kind: 'eventDelay', ms: 20_000 } });
  await ask('POST', pods, aPod('b'));
  await podWhen('b', allRun);
  await pass(10_000);
  expect((await ask('GET', fromKubelet)).body.items).toEqual([]);
  await pass(15_000);
  expect((await ask('GET', fromKubelet)).body.items.length).toBeGreaterThan(2);
});
