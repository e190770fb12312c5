// The own API: a snapshot and the events after it add up to the state, a reader resumes where it was, a slow one is told.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { openApi } from '../../../src/events/http/openapi.ts';
import type { Snapshot } from '../../../src/events/hub.ts';
import { reduce, type State } from '../../../src/events/state.ts';
import type { PodwrightEvent } from '../../../src/events/types.ts';
import { playBuild } from '../helpers.ts';
import { jsonLines, rawRequest } from '../raw-http.ts';
import { aServer } from './helpers.ts';

test('a stream is a snapshot, the past and then what comes; folded, it is the state', async () => {
  const { hub, server } = await aServer({ hub: { events: { maxEntries: 25 } } });
  playBuild(hub, 'zero');
  playBuild(hub, 'one', { failing: true });
  const response = await rawRequest(server.url, '/v3/events');
  playBuild(hub, 'two');
  hub.end('failed');
  const frames = framesOf(await response.ended());
  expect(frames[0]).toMatchObject({
    event: 'snapshot',
    data: { epoch: hub.epoch, seq: expect.any(Number), reason: 'start' },
  });
  expect(frames.at(-1)?.event).toBe('ended');
  expect(fold(frames)).toEqual(hub.state);
});

test('a reader who comes back with the last id gets what follows it, and nothing twice', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  const first = await rawRequest(server.url, '/v3/events');
  const seen = framesOf(await first.until((text) => text.includes(`:${hub.events.last}\n`) && text.endsWith('\n\n')));
  first.close();
  playBuild(hub, 'two');
  hub.end('succeeded');
  const lastId = seen.at(-1)?.id ?? '';
  const second = await rawRequest(server.url, '/v3/events', { headers: { 'Last-Event-ID': lastId } });
  const frames = [...seen, ...framesOf(await second.ended())];
  const seqs = frames.filter(({ event }) => event === 'event').map(({ data }) => data['seq']);
  expect(seqs).toEqual(Array.from({ length: hub.events.last }, (_, index) => index + 1));
});

test.each([
  ['another epoch', 'other:3', 'epoch'],
  ['a number of the future', (epoch: string) => `${epoch}:99999`, 'epoch'],
  ['a number whose successor was dropped', (epoch: string) => `${epoch}:1`, 'dropped'],
])('a reader who comes back with %s begins anew with a snapshot that says why', async (_name, id, reason) => {
  const { hub, server } = await aServer({ hub: { events: { maxEntries: 5 } } });
  playBuild(hub, 'one');
  const headers = { 'Last-Event-ID': typeof id === 'string' ? id : id(hub.epoch) };
  hub.end('succeeded');
  const frames = framesOf(await (await rawRequest(server.url, '/v3/events', { headers })).ended());
  expect(frames[0]).toMatchObject({ event: 'snapshot', data: { reason } });
  expect(fold(frames)).toEqual(hub.state);
});

test('an id of the wrong form is a bad request', async () => {
  const { server } = await aServer();
  const response = await rawRequest(server.url, '/v3/events?after=nonsense');
  expect(response.status).toBe(400);
  expect(await response.ended()).toContain('EPOCH:SEQ');
});

test('from=now leaves the past out, and the state is whole', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  const seq = hub.events.last;
  hub.end('succeeded');
  const frames = framesOf(await (await rawRequest(server.url, '/v3/events?from=now&follow=false')).ended());
  expect(frames[0]?.data).toMatchObject({ seq: seq + 1 });
  expect(fold(frames)).toEqual(hub.state);
});

test('build= gives the events of one build and those of none', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  playBuild(hub, 'two');
  hub.end('succeeded');
  const frames = framesOf(await (await rawRequest(server.url, '/v3/events?build=two')).ended());
  const builds = new Set(frames.flatMap(({ data }) => (data['build'] === undefined ? [] : [data['build']])));
  expect([...builds]).toEqual(['two']);
  expect(frames.map(({ data }) => data['type'])).toContain('run.started');
});

test('as newline-delimited JSON it is a file that can be kept', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  const response = await rawRequest(server.url, '/v3/events?format=ndjson&follow=false');
  const [snapshot, ...events] = jsonLines(await response.ended()) as [Snapshot & { type: string }, ...PodwrightEvent[]];
  expect(snapshot.type).toBe('snapshot');
  expect(events.reduce(reduce, snapshot.state)).toEqual(hub.state);
});

test('the lines of a container come whole and in order, also when they were there before', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'a build/with odd?name');
  const line = (text: string): void =>
    hub.appendLine('a build/with odd?name', 'test', { time: '2026-01-01T00:00:01.5Z', text, gap: null });
  line('one');
  const path = `/v3/builds/${encodeURIComponent('a build/with odd?name')}/containers/test/log`;
  const response = await rawRequest(server.url, path);
  line('two');
  hub.endLines('a build/with odd?name', 'test');
  const frames = framesOf(await response.ended());
  expect(frames.map(({ event, data }) => `${event} ${data['text']}`)).toEqual([
    'line one',
    'line two',
    'ended undefined',
  ]);
  const resumed = await rawRequest(server.url, path, { headers: { 'Last-Event-ID': frames[0]?.id ?? '' } });
  expect(framesOf(await resumed.ended()).map(({ data }) => data['text'])).toEqual(['two', undefined]);
  const foreign = await rawRequest(server.url, path, { headers: { 'Last-Event-ID': 'another-epoch:1' } });
  expect(framesOf(await foreign.ended()).map(({ data }) => data['text'])).toEqual(['one', 'two', undefined]);
  const text = await rawRequest(server.url, `${path}?format=text`);
  expect(await text.ended()).toBe('one\ntwo\n');
});

test('a container that is not known has no log', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  for (const path of ['/v3/builds/none/containers/test/log', '/v3/builds/one/containers/none/log']) {
    expect((await rawRequest(server.url, path)).status).toBe(404);
  }
});

test('what is sent is what the OpenAPI document says', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  hub.end('failed');
  const published = JSON.parse(await (await rawRequest(server.url, '/v3/openapi.json')).ended());
  expect(published).toEqual(openApi);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(published, 'api');
  const check = (schema: string, value: unknown): void => {
    const validate = ajv.compile({ $ref: `api#/components/schemas/${schema}`, unevaluatedProperties: false });
    expect(validate(value), `${schema}: ${ajv.errorsText(validate.errors)}`).toBe(true);
  };
  const state = JSON.parse(await (await rawRequest(server.url, '/v3/state')).ended()) as { first: number };
  const { first, ...snapshot } = state;
  expect(first).toBe(1);
  check('Snapshot', snapshot);
  const frames = framesOf(await (await rawRequest(server.url, '/v3/events')).ended());
  for (const { event, data } of frames) if (event === 'event') check('Event', data);
  expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(['snapshot', 'event', 'ended']));
});

interface Frame {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

function framesOf(body: string): readonly Frame[] {
  return body
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith('retry') && !frame.startsWith(':'))
    .map((frame) => {
      const fields = new Map(
        frame.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      return { id: fields.get('id'), event: fields.get('event') ?? '', data: JSON.parse(fields.get('data') ?? 'null') };
    });
}

function fold(frames: readonly Frame[]): State | undefined {
  let state: State | undefined;
  let next = 0;
  for (const { event, data } of frames) {
    if (event === 'snapshot') {
      const snapshot = data as unknown as Snapshot;
      state = snapshot.state;
      next = snapshot.seq + 1;
    } else if (event === 'event' && state !== undefined) {
      const one = data as unknown as PodwrightEvent;
      expect(one.seq).toBe(next++);
      state = reduce(state, one);
    }
  }
  return state;
}
