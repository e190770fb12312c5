/** GET and LIST: versions, pages, selectors. */
import { afterEach, describe, expect, test } from 'vitest';
import { aPod } from '../memory-client.ts';
import { pods, type Stand, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

async function withPods(...names: readonly string[]): Promise<Stand> {
  const stand = await startStand();
  for (const name of names)
    await stand.send('POST', pods, aPod(name, { labels: { name, even: String(names.indexOf(name) % 2 === 0) } }));
  await stand.pass(5_000);
  return stand;
}

interface Named {
  readonly metadata: { readonly name: string };
}

const names = ({ body }: { body: { items: readonly Named[] } }): string[] =>
  body.items.map(({ metadata }) => metadata.name);

test('items carry neither kind nor apiVersion', async () => {
  const { send } = await withPods('a');
  const { body } = await send('GET', pods);
  expect(body).toMatchObject({ kind: 'PodList', apiVersion: 'v1' });
  expect(body.items[0]).not.toHaveProperty('kind');
  expect(body.items[0]).not.toHaveProperty('apiVersion');
});

describe('pages', () => {
  test('go on from where they ended, at the state of the first one', async () => {
    const { send } = await withPods('a', 'b', 'c', 'd', 'e');
    const first = await send('GET', `${pods}?limit=2`);
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.body.metadata.remainingItemCount).toBe(3);
    await send('DELETE', `${pods}/c`, { gracePeriodSeconds: 0 });
    const second = await send('GET', `${pods}?limit=2&continue=${first.body.metadata.continue}`);
    expect(names(second), 'c was there then').toEqual(['c', 'd']);
    expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
    const third = await send('GET', `${pods}?limit=2&continue=${second.body.metadata.continue}`);
    expect(names(third)).toEqual(['e']);
    expect(third.body.metadata.continue).toBeUndefined();
  });

  test('that are too old give a token with which to go on inconsistently', async () => {
    const { send, cluster } = await withPods('a', 'b', 'c');
    const first = await send('GET', `${pods}?limit=1`);
    await send('DELETE', `${pods}/b`, { gracePeriodSeconds: 0 });
    cluster.compact();
    const expired = await send('GET', `${pods}?limit=1&continue=${first.body.metadata.continue}`);
    expect(expired.body).toMatchObject({ code: 410, reason: 'Expired' });
    const rest = await send('GET', `${pods}?continue=${expired.body.metadata.continue}`);
    expect(names(rest)).toEqual(['c']);
  });

  test.each([
    ['a token that is none', 'continue=abc', 400, 'continue key is not valid'],
    [
      'a version beside a token',
      `continue=${Buffer.from('{"rv":1,"start":"a"}').toString('base64url')}&resourceVersion=5`,
      400,
      'specifying resource version is not allowed when using continue',
    ],
  ])('%s is refused', async (_what, query, code, text) => {
    const { send } = await withPods('a');
    const { body } = await send('GET', `${pods}?${query}`);
    expect(body.code).toBe(code);
    expect(body.message).toContain(text);
  });
});

describe('versions', () => {
  test('an exact one gives the state of then, or is gone', async () => {
    const { send, cluster } = await withPods('a');
    const then = (await send('GET', pods)).body.metadata.resourceVersion;
    await send('POST', pods, aPod('b'));
    const exact = `${pods}?resourceVersion=${then}&resourceVersionMatch=Exact`;
    expect(names(await send('GET', exact))).toEqual(['a']);
    expect(names(await send('GET', `${pods}?resourceVersion=${then}&resourceVersionMatch=NotOlderThan`))).toEqual([
      'a',
      'b',
    ]);
    await send('POST', pods, aPod('c'));
    cluster.compact();
    expect((await send('GET', exact)).body).toMatchObject({
      code: 410,
      reason: 'Expired',
      message: 'The resourceVersion for the provided list is too old.',
    });
  });

  test('one in the future is told to come back later', async () => {
    const { send } = await withPods('a');
    const { body, headers } = await send('GET', `${pods}?resourceVersion=99999999`);
    expect(body).toMatchObject({
      code: 504,
      reason: 'Timeout',
      details: { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] },
    });
    expect(body.message).toMatch(/^Timeout: Too large resource version: 99999999, current: \d+$/);
    expect(headers['retry-after']).toBe('1');
  });

  test.each([
    ['resourceVersion=x', 400, 'invalid resource version'],
    ['resourceVersionMatch=Exact', 422, 'resourceVersionMatch is forbidden unless resourceVersion is provided'],
    ['resourceVersion=0&resourceVersionMatch=Exact', 422, 'is forbidden for resourceVersion "0"'],
    ['resourceVersion=1&resourceVersionMatch=Any', 422, 'Unsupported value: "Any"'],
    ['sendInitialEvents=true', 422, 'sendInitialEvents is forbidden for list'],
  ])('%s is refused', async (query, code, text) => {
    const { send } = await withPods('a');
    const { body } = await send('GET', `${pods}?${query}`);
    expect(body.code).toBe(code);
    expect(body.message).toContain(text);
  });
});

describe('selectors', () => {
  test.each([
    ['labelSelector=name%3Da', ['a']],
    ['labelSelector=name!%3Da', ['b', 'c']],
    ['labelSelector=name in (a,c),even', ['a', 'c']],
    ['labelSelector=name notin (a,c)', ['b']],
    ['labelSelector=!name', []],
    ['fieldSelector=metadata.name%3Db', ['b']],
    ['fieldSelector=metadata.name!%3Db,status.phase%3DRunning', ['a', 'c']],
    ['fieldSelector=spec.nodeName%3D', []],
  ])('%s', async (query, wanted) => {
    const { send } = await withPods('a', 'b', 'c');
    expect(names(await send('GET', `${pods}?${query}`))).toEqual(wanted);
  });

  test.each([
    ['fieldSelector=spec.colour%3Dblue', 'field label not supported: spec.colour'],
    ['labelSelector=a b', 'unable to parse requirement'],
  ])('%s is refused', async (query, text) => {
    const { send } = await withPods('a');
    const { body } = await send('GET', `${pods}?${query}`);
    expect(body.code).toBe(400);
    expect(body.message).toContain(text);
  });

  test('Events are found by what they are about, in both forms', async () => {
    const { send } = await withPods('a', 'b');
    const core = await send(
      'GET',
      '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da,reason%3DStarted',
    );
    expect(core.body.items).toHaveLength(1);
    const grouped = await send(
      'GET',
      '/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name%3Da,reason%3DStarted',
    );
    expect(grouped.body.items[0]).toMatchObject({
      regarding: { name: 'a', fieldPath: 'spec.containers{a}' },
      note: 'Container started',
      deprecatedCount: 1,
      reportingController: 'kubelet',
    });
    expect(grouped.body.items[0].metadata.uid).toBe(core.body.items[0].metadata.uid);
  });
});

test.each([
  ['/api/v1/namespaces/default/none', 404],
  ['/api/v1/pods/%E0%A4%A', 404],
  ['/apis/policy/v9', 404],
])('%s is not there', async (path, code) => {
  const { send } = await withPods();
  expect((await send('GET', path)).body).toMatchObject({
    code,
    message: 'the server could not find the requested resource',
  });
});
