/** Creates, updates, patches: defaults, what is refused and in which words. */
import { afterEach, describe, expect, test } from 'vitest';
import { type Anything, aPod, jsonPatch, merge, strategic } from '../memory-client.ts';
import { allRun, containerOf, pods, startStand, stopStands } from '../stand.ts';

afterEach(stopStands);

describe('create', () => {
  test('fills in what the API server decides', async () => {
    const { send } = await startStand();
    const { status, body } = await send('POST', pods, {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'a', image: 'x:1' }] },
    });
    expect(status).toBe(201);
    expect(body.spec).toMatchObject({
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      serviceAccountName: 'default',
      schedulerName: 'default-scheduler',
      tolerations: [{ tolerationSeconds: 300 }, { tolerationSeconds: 300 }],
    });
    expect(body.spec.containers[0]).toMatchObject({ imagePullPolicy: 'IfNotPresent', resources: {} });
    expect(body.spec.containers[0].volumeMounts[0].mountPath).toBe('/var/run/secrets/kubernetes.io/serviceaccount');
    expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(body.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  test('the default pull policy comes from the tag', async () => {
    const { send } = await startStand();
    const images = ['x', 'x:latest', 'x:1', `x@sha256:${'0'.repeat(64)}`, 'host:5000/x'];
    const containers = images.map((image, at) => ({ name: `c${at}`, image }));
    const { body } = await send('POST', pods, aPod('p', { containers }));
    expect(body.spec.containers.map((one: { imagePullPolicy: string }) => one.imagePullPolicy)).toEqual([
      'Always',
      'Always',
      'IfNotPresent',
      'IfNotPresent',
      'Always',
    ]);
  });

  test('a generated name has five letters more, and no vowels', async () => {
    const { send } = await startStand();
    const { body } = await send('POST', pods, {
      metadata: { generateName: 'p-' },
      spec: { containers: [{ name: 'a', image: 'x:1' }] },
    });
    expect(body.metadata.name).toMatch(/^p-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  const rules = {
    restartPolicy: 'Never',
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [213] } }],
  };

  test.each([
    ['1.31', false],
    ['1.34', false],
    ['1.35', true],
    ['1.36', true],
    ['1.37', true],
  ] as const)('on %s restart rules are kept: %s', async (profile, kept) => {
    const { send } = await startStand({ profile });
    const { status, body } = await send(
      'POST',
      pods,
      aPod('p', { containers: [{ name: 'a', image: 'x:1', ...rules }] }),
    );
    expect(status).toBe(201);
    expect('restartPolicyRules' in body.spec.containers[0]).toBe(kept);
    expect('restartPolicy' in body.spec.containers[0]).toBe(kept);
  });

  test('a second of the name is refused, as a missing namespace is', async () => {
    const { send } = await startStand();
    await send('POST', pods, aPod('p'));
    expect((await send('POST', pods, aPod('p'))).body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'pods "p" already exists',
      reason: 'AlreadyExists',
      details: { name: 'p', kind: 'pods' },
      code: 409,
    });
    const { body } = await send('POST', '/api/v1/namespaces/none/pods', aPod('p'));
    expect(body).toMatchObject({ code: 404, message: 'namespaces "none" not found' });
  });

  test('unknown fields are dropped with a warning, or refused when asked for', async () => {
    const { send } = await startStand();
    const pod = aPod('p', { spec: { colour: 'blue' } });
    const { headers, body } = await send('POST', pods, pod);
    expect(headers['warning']).toBe('299 - "unknown field \\"spec.colour\\""');
    expect(body.spec).not.toHaveProperty('colour');
    const strict = await send('POST', `${pods}?fieldValidation=Strict`, pod);
    expect(strict.body.message).toContain('strict decoding error: unknown field "spec.colour"');
  });

  test('a dry run changes nothing', async () => {
    const { send } = await startStand();
    expect((await send('POST', `${pods}?dryRun=All`, aPod('p'))).status).toBe(201);
    expect((await send('GET', `${pods}/p`)).status).toBe(404);
  });
});

describe('YAML', () => {
  const yaml = { contentType: 'application/yaml' };

  test('is read as JSON is, up to the end of its first document', async () => {
    const { send } = await startStand();
    const text = 'metadata: {name: p}\nspec:\n  containers: [{name: a, image: "x:1"}]\n---\nnot: looked at\n';
    expect((await send('POST', pods, text, yaml)).body).toMatchObject({ kind: 'Pod', metadata: { name: 'p' } });
  });

  test.each([
    ['a: [', 'error converting YAML to JSON: yaml: '],
    ['a: *nothing', 'error converting YAML to JSON: yaml: '],
    [
      [
        'a: &a [x, x]',
        ...'bcdef'.split('').map((one, at) => `${one}: &${one} [${Array(9).fill(`*${'abcde'[at]}`)}]`),
      ].join('\n'),
      'error converting YAML to JSON: yaml: document contains excessive aliasing',
    ],
  ])('that is wrong, or explodes, is refused', async (text, message) => {
    const { send } = await startStand();
    const { body } = await send('POST', pods, text, yaml);
    expect(body).toMatchObject({ code: 400, reason: 'BadRequest', message: expect.stringContaining(message) });
  });
});

describe('patch', () => {
  test('of the image: strategic merge by the name of the container', async () => {
    const { send, podWhen } = await startStand();
    await send(
      'POST',
      pods,
      aPod('p', {
        containers: [
          { name: 'a', image: 'lab.local/placeholder:1' },
          { name: 'b', image: 'lab.local/placeholder:1' },
        ],
      }),
    );
    await podWhen('p', allRun);
    const { status, body } = await send(
      'PATCH',
      `${pods}/p`,
      { spec: { containers: [{ name: 'b', image: 'lab.local/step:1' }] } },
      strategic,
    );
    expect(status).toBe(200);
    expect(body.spec.containers.map(({ image }: { image: string }) => image)).toEqual([
      'lab.local/placeholder:1',
      'lab.local/step:1',
    ]);
    expect(body.metadata.generation).toBe(2);
  });

  test('that changes nothing writes nothing, and nobody is told', async () => {
    const { send, podWhen, watch, pass } = await startStand();
    await send('POST', pods, aPod('p'));
    const pod = await podWhen('p', allRun);
    await pass(5_000);
    const { frames } = watch(`${pods}?resourceVersion=${(await send('GET', pods)).body.metadata.resourceVersion}`);
    const { body } = await send(
      'PATCH',
      `${pods}/p`,
      { spec: { containers: [{ name: 'a', image: 'lab.local/placeholder:1' }] } },
      strategic,
    );
    await pass(5_000);
    expect(body.metadata.resourceVersion).toBe(pod.metadata.resourceVersion);
    expect(frames).toEqual([]);
  });

  test.each([
    ['merge: null removes, a map is merged', merge, { metadata: { labels: { a: null, c: 'd' } } }, { c: 'd' }],
    ['JSON patch', jsonPatch, [{ op: 'add', path: '/metadata/labels/e', value: 'f' }], { a: 'b', e: 'f' }],
    ['strategic: $patch replace', strategic, { metadata: { labels: { $patch: 'replace', g: 'h' } } }, { g: 'h' }],
  ])('%s', async (_what, options, body, labels) => {
    const { send } = await startStand();
    await send('POST', pods, aPod('p', { labels: { a: 'b' } }));
    const answer = await send('PATCH', `${pods}/p`, body, options);
    expect(answer.body.metadata.labels).toEqual(labels);
    expect(answer.body.metadata.generation, 'labels are no change of the spec').toBe(1);
  });

  test.each([
    [
      'a JSON patch whose test fails',
      jsonPatch,
      [{ op: 'test', path: '/metadata/name', value: 'x' }],
      422,
      'the server rejected our request due to an error in our request',
    ],
    [
      'a path that is not there',
      jsonPatch,
      [{ op: 'remove', path: '/metadata/none' }],
      422,
      'the server rejected our request',
    ],
    ['a media type that is not known', { contentType: 'text/plain' }, {}, 415, '415: Unsupported Media Type'],
    [
      'server-side apply',
      { contentType: 'application/apply-patch+yaml' },
      {},
      415,
      'accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json',
    ],
    [
      'an old version',
      merge,
      { metadata: { resourceVersion: '1', labels: { x: 'y' } } },
      409,
      'the object has been modified',
    ],
    [
      'a list element without its key',
      strategic,
      { spec: { containers: [{ image: 'x' }] } },
      500,
      'map: map[image:x] does not contain declared merge key: name',
    ],
    ['no JSON', merge, '{', 400, 'error decoding patch: unexpected end of JSON input'],
  ])('%s is refused', async (_what, options, body, code, text) => {
    const { send } = await startStand();
    await send('POST', pods, aPod('p'));
    const answer = await send('PATCH', `${pods}/p`, body as object, options);
    expect(answer.body).toMatchObject({ code, status: 'Failure' });
    expect(answer.body.message).toContain(text);
  });

  test('the server keeps what is its own', async () => {
    const { send } = await startStand();
    const { body: made } = await send('POST', pods, aPod('p'));
    const patch = {
      metadata: { creationTimestamp: '2020-01-01T00:00:00Z', generation: 77 },
      status: { phase: 'Failed' },
    };
    const { body } = await send('PATCH', `${pods}/p`, patch, merge);
    expect(body.metadata).toMatchObject({ creationTimestamp: made.metadata.creationTimestamp, generation: 1 });
    expect(body.status.phase).toBe('Pending');
  });

  test('of the status leaves the spec alone', async () => {
    const { send } = await startStand();
    await send('POST', pods, aPod('p', { spec: { nodeSelector: { no: 'such' } } }));
    const patch = { metadata: { labels: { x: 'y' } }, spec: { nodeName: 'n' }, status: { message: 'hello' } };
    const { body } = await send('PATCH', `${pods}/p/status`, patch, merge);
    expect(body.status.message).toBe('hello');
    expect(body.spec.nodeName).toBeUndefined();
    expect(body.metadata.labels).toBeUndefined();
  });

  test('of the status takes no end back that is final, and changes no class', async () => {
    const { send, podWhen } = await startStand();
    const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [0] } };
    const containers = [
      { name: 'a', image: 'lab.local/quiet:1' },
      { name: 'b', image: 'lab.local/quiet:1', restartPolicy: 'Never', restartPolicyRules: [rule] },
      { name: 'c', image: 'lab.local/forever:1' },
    ];
    await send('POST', pods, aPod('p', { containers }));
    const { status } = await podWhen('p', (pod) => containerOf(pod, 'a')?.state.terminated !== undefined);
    const rewritten = (name: string): object => ({
      status: {
        containerStatuses: status.containerStatuses.map((one: Anything) =>
          one.name === name ? { ...one, state: { running: { startedAt: '2026-01-01T00:00:00Z' } } } : one,
        ),
      },
    });
    const text = 'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state';
    expect((await send('PATCH', `${pods}/p/status`, rewritten('a'), merge)).body).toMatchObject({
      code: 422,
      message: `Pod "p" is invalid: ${text}`,
      details: { causes: [{ reason: 'FieldValueForbidden', field: 'status.containerStatuses[0].state' }] },
    });
    expect((await send('PATCH', `${pods}/p/status`, rewritten('b'), merge)).status).toBe(200);
    const { body } = await send('PATCH', `${pods}/p/status`, { status: { qosClass: 'Guaranteed' } }, merge);
    expect(body.message).toBe('Pod "p" is invalid: status.qosClass: Invalid value: "Guaranteed": field is immutable');
    const kept = await send('PATCH', `${pods}/p/status`, { status: { qosClass: null } }, merge);
    expect(kept.body.status.qosClass).toBe('BestEffort');
  });
});

test('secrets take plain text and give it back encoded', async () => {
  const { send } = await startStand();
  const path = '/api/v1/namespaces/default/secrets';
  const { body } = await send('POST', path, {
    metadata: { name: 's' },
    stringData: { user: 'me' },
    data: { pass: 'eA==' },
  });
  expect(body.data).toEqual({ user: 'bWU=', pass: 'eA==' });
  expect(body).not.toHaveProperty('stringData');
});
