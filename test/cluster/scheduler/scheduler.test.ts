/** Pods wait for a node that fits, are told why, and get their turn when there is room; important ones make room. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Anything, aPod, merge } from '../memory-client.ts';
import { allRun, events, pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

const node = '/api/v1/nodes/localhost';
const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';

const asking = (name: string, requests: object, spec: object = {}, image = 'lab.local/forever:1'): object =>
  aPod(name, { containers: [{ name: 'a', image, resources: { requests } }], spec });

const unscheduled = (pod: Anything): boolean => pod.status.conditions?.[0]?.reason === 'Unschedulable';
const messageOf = (pod: Anything): string => pod.status.conditions[0].message;

async function refusals({ send }: Stand, name: string): Promise<Anything[]> {
  const { body } = await send('GET', `${events}?fieldSelector=reason%3DFailedScheduling,involvedObject.name%3D${name}`);
  return body.items;
}

describe('room', () => {
  test('is what the pods on the node leave, and a pod that waits gets it when one of them ends', async () => {
    const { send, podWhen, pass } = await startStand({ nodeCapacity: { cpu: '2', memory: '1Gi' } });
    await send('POST', pods, asking('one', { cpu: '700m' }));
    await send('POST', pods, asking('two', { cpu: '700m' }, {}, 'lab.local/step:1'));
    await send('POST', pods, asking('three', { cpu: '700m', memory: '1Mi' }));
    const waiting = await podWhen('three', unscheduled);
    expect(messageOf(waiting)).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, ' +
        'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    );
    await podWhen('three', allRun);
    expect((await send('GET', `${pods}/two`)).body.status.phase).toBe('Succeeded');
    await pass(60_000);
    expect((await send('GET', `${pods}/one`)).body.status.phase).toBe('Running');
  });

  test('that the node does not have at all is waited for in vain', async () => {
    const { send, podWhen } = await startStand({ nodeCapacity: { cpu: '2', memory: '1Gi' } });
    await send('POST', pods, asking('p', { cpu: '3', memory: '2Gi' }));
    expect(messageOf(await podWhen('p', unscheduled))).toBe(
      '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. no new claims to deallocate, ' +
        'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    );
  });

  test('taken by two pods of the same moment is not given twice', async () => {
    const { send, pass } = await startStand({ nodeCapacity: { cpu: '1', memory: '1Gi' } });
    await Promise.all(['a', 'b', 'c'].map((name) => send('POST', pods, asking(name, { cpu: '600m' }))));
    await pass(5_000);
    const { body } = await send('GET', pods);
    expect(body.items.map(({ status }: Anything) => status.phase).sort()).toEqual(['Pending', 'Pending', 'Running']);
    expect(body.items.map(({ status }: Anything) => status.reason)).toEqual([undefined, undefined, undefined]);
  });
});

describe('a pod that finds no node', () => {
  test('is tried again when the node changes, later and later, and its Event becomes a series', async () => {
    const stand = await startStand();
    const { send, podWhen, pass } = stand;
    await send('POST', pods, aPod('p', { spec: { nodeSelector: { disk: 'fast' } } }));
    await podWhen('p', unscheduled);
    const relabel = (labels: object): Promise<unknown> => send('PATCH', node, { metadata: { labels } }, merge);
    const counts = async (): Promise<number[]> =>
      (await refusals(stand, 'p')).map(({ series }) => series?.count ?? 1).sort();
    // Each change is a try, but not before 1, 2, 4, … s after the last one. The first try was of an older version.
    for (let at = 0; at < 60; at += 1) {
      await relabel({ at: String(at) });
      await pass(500);
    }
    expect(await counts(), 'the second time is told at once, the others when the series is over').toEqual([1, 2]);
    await pass(3_000);
    await relabel({ disk: 'fast' });
    await podWhen('p', allRun);
    await pass(15 * 60_000);
    const [first, series] = await counts();
    expect(first).toBe(1);
    // 1 + 2 + 4 + 8 s, then every 10 s.
    expect(series).toBeGreaterThanOrEqual(4);
    expect(series).toBeLessThanOrEqual(6);
  });

  test('is tried again after five minutes though nothing has changed', async () => {
    const stand = await startStand();
    await stand.send('POST', pods, aPod('p', { spec: { nodeSelector: { no: 'such' } } }));
    await stand.pass(299_000);
    expect(await refusals(stand, 'p')).toHaveLength(1);
    await stand.pass(32_000);
    expect(await refusals(stand, 'p')).toHaveLength(2);
    expect((await stand.send('GET', `${pods}/p`)).body.status.conditions).toHaveLength(1);
  });

  test('is not tried by what the node says of its health', async () => {
    const stand = await startStand();
    await stand.send('POST', pods, aPod('p', { spec: { nodeSelector: { no: 'such' } } }));
    await stand.pass(120_000);
    expect(stand.cluster.requests.count({ userAgent: 'podwright-cluster/scheduler', verb: 'patch' })).toBe(1);
    expect(await refusals(stand, 'p')).toHaveLength(1);
  });

  test('is bound when the gate that held it is taken away', async () => {
    const { send, podWhen, pass } = await startStand();
    await send('POST', pods, aPod('p', { spec: { schedulingGates: [{ name: 'quota' }] } }));
    await pass(10_000);
    expect((await send('GET', `${pods}/p`)).body.spec.nodeName).toBeUndefined();
    await send('PATCH', `${pods}/p`, { spec: { schedulingGates: null } }, merge);
    await podWhen('p', allRun);
  });
});

describe('priority', () => {
  const urgent = { metadata: { name: 'urgent' }, value: 1_000 };

  async function fullNode(): Promise<Stand> {
    const stand = await startStand({ nodeCapacity: { cpu: '2', memory: '1Gi' } });
    await stand.send('POST', classes, urgent);
    await stand.send('POST', pods, asking('big', { cpu: '1500m' }));
    await stand.send('POST', pods, asking('small', { cpu: '500m' }));
    await stand.podWhen('big', allRun);
    await stand.podWhen('small', allRun);
    return stand;
  }

  test('makes as many less important pods give way as is needed, and no more', async () => {
    const { send, podWhen, watch, pass } = await fullNode();
    const { frames } = watch(pods);
    const { body: made } = await send('POST', pods, asking('boss', { cpu: '1' }, { priorityClassName: 'urgent' }));
    expect(made.spec).toMatchObject({ priority: 1_000, preemptionPolicy: 'PreemptLowerPriority' });
    const waiting = await podWhen('boss', unscheduled);
    expect(messageOf(waiting)).toBe('0/1 nodes are available: 1 Insufficient cpu.');
    expect(waiting.status.nominatedNodeName).toBe('localhost');
    await podWhen('boss', allRun);
    const big = frames.filter(({ object }) => object.metadata.name === 'big').map(({ object }) => object);
    expect(big.find(({ metadata }) => metadata.deletionTimestamp !== undefined)?.status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionTarget',
        reason: 'PreemptionByScheduler',
        message: 'default-scheduler: preempting to accommodate a higher priority pod',
      }),
    );
    expect((await send('GET', `${pods}/big`)).status).toBe(404);
    await pass(1_000);
    expect((await send('GET', `${pods}/small`)).body.status.phase).toBe('Running');
    const { body } = await send('GET', `${events}?fieldSelector=reason%3DPreempted`);
    expect(body.items).toHaveLength(1);
    expect(body.items[0]).toMatchObject({
      message: `Preempted by pod ${made.metadata.uid} on node localhost`,
      action: 'Preempting',
      involvedObject: { name: 'big' },
      related: { name: 'boss' },
    });
  });

  test('takes nothing from its equals, and nothing at all under the policy Never', async () => {
    const { send, podWhen } = await fullNode();
    await send('POST', classes, { metadata: { name: 'patient' }, value: 1_000, preemptionPolicy: 'Never' });
    await send('POST', pods, asking('patient', { cpu: '1' }, { priorityClassName: 'patient' }));
    expect(messageOf(await podWhen('patient', unscheduled))).toMatch(
      /1 Insufficient cpu\. .*preemption: not eligible due to preemptionPolicy=Never\.$/,
    );
    await send('POST', pods, asking('equal', { cpu: '1' }));
    expect(messageOf(await podWhen('equal', unscheduled))).toContain('1 No preemption victims found for incoming pod.');
    expect((await send('GET', `${pods}/big`)).body.metadata.deletionTimestamp).toBeUndefined();
  });

  test('comes from a class, and from nowhere else', async () => {
    const { send } = await startStand();
    await send('POST', classes, urgent);
    const refused = async (spec: object): Promise<string> => {
      const { body } = await send('POST', pods, aPod('p', { spec }));
      expect(body.code).toBe(403);
      return body.message;
    };
    expect(await refused({ priorityClassName: 'none' })).toBe(
      'pods "p" is forbidden: no PriorityClass with name none was found',
    );
    expect(await refused({ priority: 5 })).toBe(
      'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    );
    expect(await refused({ priorityClassName: 'urgent', preemptionPolicy: 'Never' })).toContain(
      'the string value of PreemptionPolicy (Never) must not be provided in pod spec',
    );
    const { body: system } = await send(
      'POST',
      pods,
      aPod('s', { spec: { priorityClassName: 'system-node-critical' } }),
    );
    expect(system.spec.priority).toBe(2_000_001_000);
    await send('POST', classes, { metadata: { name: 'usual' }, value: 7, globalDefault: true });
    const { body: usual } = await send('POST', pods, aPod('u'));
    expect(usual.spec).toMatchObject({ priority: 7, priorityClassName: 'usual' });
  });

  test('of a class has an upper bound, and does not change', async () => {
    const { send } = await startStand();
    const { body } = await send('POST', classes, { metadata: { name: 'high' }, value: 1_000_000_001 });
    expect(body.message).toContain('value: Forbidden: maximum allowed value of a user defined priority is 1000000000');
    await send('POST', classes, urgent);
    const changed = await send('PATCH', `${classes}/urgent`, { value: 3 }, merge);
    expect(changed.body.message).toContain('value: Forbidden: may not be changed in an update.');
    expect((await send('DELETE', `${classes}/urgent`)).status).toBe(200);
  });
});
