// A client written for Skaffold gets what it expects: paths, lines, fields, words, replay then live, state after each event.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { EventHub } from '../../../src/events/hub.ts';
import { v1State, v2State } from '../../../src/events/skaffold/state.ts';
import { v1Lines } from '../../../src/events/skaffold/v1.ts';
import { aTarget, playBuild } from '../helpers.ts';
import { jsonLines, rawRequest } from '../raw-http.ts';
import {
  codes,
  faultsOf,
  v1Events,
  v1StateForm,
  v1Statuses,
  v2Events,
  v2StateForm,
  v2Statuses,
} from '../skaffold/forms.ts';
import { aServer } from './helpers.ts';

type Message = Readonly<Record<string, unknown>>;
type Line = { result: { timestamp: string; entry?: string; event?: Record<string, Message> } & Message };

test('the debugging event is, byte for byte, the documented line of v1', async () => {
  const { hub, clock, server } = await aServer();
  clock.advanceTo(Date.parse('2020-02-05T03:27:30.114Z'));
  const pod = { namespace: 'default', name: 'web-x', uid: 'u' };
  const target = { ...aTarget(pod, 'web'), artifact: 'skaffold-jib' };
  hub.publish({ type: 'debug.started', build: null, target });
  const response = await rawRequest(server.url, '/v1/events');
  const body = await response.until((text) => text.endsWith('(default)"}}\n'));
  expect(body.split('\n')[1]).toBe(
    '{"result":{"timestamp":"2020-02-05T03:27:30.114Z","event":{"debuggingContainerEvent":{"status":"Started",' +
      '"podName":"web-x","containerName":"web","namespace":"default","artifact":"skaffold-jib","runtime":"jvm",' +
      '"workingDir":"","debugPorts":{"jdwp":5005}}},"entry":"Debuggable container started pod/web-x:web (default)"}}',
  );
  response.close();
});

test('v1: past and live events are one stream of whole lines, without a gap or a repeat', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one', { failing: true });
  const early = await rawRequest(server.url, '/v1/events');
  playBuild(hub, 'two');
  const late = await rawRequest(server.url, '/v1/event_log');
  playBuild(hub, 'three');
  hub.end('failed', 'two steps failed');
  expect(early.headers).toMatchObject({ 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  expect(await early.ended()).toBe(await late.ended());
  expect(early.body().endsWith('\n')).toBe(true);
  const lines = jsonLines(early.body()) as Line[];
  expect(lines.map(({ result }) => Object.keys(result))).toEqual(lines.map(() => ['timestamp', 'event', 'entry']));
  const builds = lines.map(({ result }) => result.event?.['buildEvent']).filter((event) => event !== undefined);
  expect(builds.map(({ artifact, status }) => `${artifact} ${status}`)).toEqual([
    'one In Progress',
    'one Failed',
    'two In Progress',
    'two Complete',
    'three In Progress',
    'three Complete',
  ]);
  expect(lines.at(-1)?.result.event?.['terminationEvent']).toMatchObject({ status: 'Failed' });
});

test.each([
  ['v1', v1Events, v1Statuses, (line: Line) => Object.entries(line.result.event ?? {})],
  ['v2', v2Events, v2Statuses, (line: Line) => Object.entries(line.result).filter(([name]) => name !== 'timestamp')],
] as const)(
  '%s: every message has exactly the fields of its .proto, and only words of its enums',
  async (api, forms, statuses, membersOf) => {
    const { hub, server } = await aServer();
    playEverything(hub);
    const response = await rawRequest(server.url, `/${api}/events`);
    const lines = jsonLines(await response.ended()) as Line[];
    const kinds = new Set<string>();
    for (const line of lines) {
      expect(line.result.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
      const members = membersOf(line);
      expect(members.length).toBe(1);
      for (const [name, message] of members) {
        kinds.add(name);
        const form = forms[name];
        expect(form, `${name} is no event of ${api}`).toBeDefined();
        expect(faultsOf(message, form ?? {}, name)).toEqual([]);
        const { status, errCode, statusCode } = message as Record<string, unknown>;
        if (status !== undefined) expect(statuses).toContain(status);
        for (const code of [errCode, statusCode]) if (code !== undefined) expect(codes).toContain(code);
      }
    }
    expect([...kinds].sort()).toEqual(
      Object.keys(forms)
        .filter((name) => name !== 'applicationLogEvent')
        .sort(),
    );
  },
);

test.each([
  ['v1', v1StateForm],
  ['v2', v2StateForm],
] as const)('%s: state is a bare object with every field, also before the first build', async (api, form) => {
  const { hub, server } = await aServer();
  const before = await rawRequest(server.url, `/${api}/state`);
  const empty = await before.ended();
  expect(faultsOf(JSON.parse(empty), form)).toEqual([]);
  expect(empty.endsWith('}')).toBe(true);
  playEverything(hub);
  const after = await rawRequest(server.url, `/${api}/state`);
  expect(faultsOf(JSON.parse(await after.ended()), form)).toEqual([]);
});

test('v1: after each event the state is what a client folds from the stream', async () => {
  const { hub, server } = await aServer();
  const states: unknown[] = [];
  hub.listen(() => states.push(v1State(hub.state)));
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  const folded = aFoldedState(false);
  // Several lines can come of one event: the state is compared when all of its lines are in.
  for (const [index, lines] of (await linesByEvent(hub, server.url)).entries()) {
    for (const line of lines) folded.take(line);
    if (index > 0) expect(states[index - 1], `after event ${index + 1}`).toMatchObject(folded.state());
  }
  expect(folded.state()).toMatchObject({
    buildState: { artifacts: { one: 'Failed', two: 'Complete' } },
    statusCheckState: { resources: { 'pod/pw-one:test': 'Failed', 'pod/pw-two:test': 'Succeeded' } },
  });
});

test('v2: after each event the state is what a client folds from the stream', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  const folded = aFoldedState(true);
  const response = await rawRequest(server.url, '/v2/events');
  const body = await response.until(
    (text) => (text.match(/"artifact":"two"/g) ?? []).length === 2 && text.endsWith('\n'),
  );
  for (const line of jsonLines(body) as Line[]) folded.take(line);
  expect(v2State(hub.state, hub.epoch)).toMatchObject(folded.state());
  response.close();
});

test('v2: the lines of all containers are application logs', async () => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  hub.appendLine('one', 'compile', { time: '2026-01-01T00:00:01.000000001Z', text: 'hello', gap: null });
  const response = await rawRequest(server.url, '/v2/applicationLogs');
  const [line] = jsonLines(await response.until((text) => text.endsWith('\n'))) as Line[];
  expect(line?.result).toEqual({
    timestamp: '2026-01-01T00:00:01Z',
    applicationLogEvent: {
      containerName: 'compile',
      podName: 'pw-one',
      prefix: '[compile]',
      message: 'hello\n',
      richFormattedMessage: '[compile] hello\n',
    },
  });
  response.close();
});

test.each(['/v1/events', '/v2/events'])(
  '%s: a reader that is too slow gets an error frame as its last line',
  async (path) => {
    const { hub, server } = await aServer({ hub: { events: { maxEntries: 5, maxBytes: 1_000_000 } } });
    const response = await rawRequest(server.url, path);
    await response.until((text) => text.endsWith('\n'));
    // In one go, so that it cannot be read in between.
    for (const id of ['one', 'two']) playBuild(hub, id);
    const last = jsonLines(await response.ended()).at(-1);
    expect(last).toEqual({ error: { code: 8, message: expect.stringMatching(/too slow: \d+ events/), details: [] } });
  },
);

test.each([
  ['POST', '/v1/execute', 501],
  ['PUT', '/v1/build/auto_execute', 501],
  ['PUT', '/v2/deploy/auto_execute', 501],
  ['POST', '/v2/events/handle', 501],
  ['DELETE', '/v1/state', 405],
  ['GET', '/v1/nothing', 404],
])('%s %s is refused in the form of the gateway (%i)', async (method, path, status) => {
  const { server } = await aServer();
  const response = await rawRequest(server.url, path, { method });
  expect(response.status).toBe(status);
  expect(faultsOf(JSON.parse(await response.ended()), { code: 'number', message: 'string', details: 'list' })).toEqual(
    [],
  );
});

test('curl reads it', async (context) => {
  const { hub, server } = await aServer();
  playBuild(hub, 'one');
  hub.end('succeeded');
  const curl = spawn('curl', ['-q', '-sS', '-N', '--noproxy', '*', `${server.url}/v1/events`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const missing = once(curl, 'error').then(() => true);
  let body = '';
  curl.stdout.on('data', (chunk: Buffer) => (body += chunk.toString()));
  if (await Promise.race([missing, once(curl, 'close').then(() => false)])) context.skip('curl is not installed');
  expect((jsonLines(body) as Line[]).at(-1)?.result.entry).toBe('Podwright completed');
});

/** Every kind of event there is. */
function playEverything(hub: EventHub): void {
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  const pod = { namespace: 'builds', name: 'pw-one', uid: 'uid-one' };
  const forward = { namespace: 'builds', pod: 'pw-one', podUid: 'uid-one', container: 'compile', address: '127.0.0.1' };
  const ports = { portName: 'jdwp', remotePort: 5005, localPort: 40_000 };
  hub.publish({ type: 'debug.forwarded', build: 'one', ...forward, ...ports, open: true });
  const evicted = { node: null, cause: 'evicted', message: 'the node was low on memory' };
  hub.publish({ type: 'pod.changed', build: 'one', pod, from: 'running', to: 'ending', ...evicted });
  hub.publish({ type: 'build.changed', build: 'two', from: 'running', to: 'canceled', message: null });
  hub.end('errored');
}

/** What the stream sent, cut where one event's lines end and the next one's begin. */
async function linesByEvent(hub: EventHub, url: string): Promise<readonly (readonly Line[])[]> {
  const reading = hub.events.read(0, 10_000);
  if (reading.kind !== 'entries') throw new Error('all events are kept');
  const expected = reading.entries.map(({ value }) => v1Lines(value.event));
  const response = await rawRequest(url, '/v1/events');
  const body = await response.until((text) => text.length >= expected.join('').length);
  expect(body).toBe(expected.join(''));
  response.close();
  return expected.map((lines) => jsonLines(lines) as Line[]);
}

/** What an IDE keeps from the stream alone. */
function aFoldedState(isV2: boolean): { take(line: Line): void; state(): Record<string, unknown> } {
  const artifacts: Record<string, unknown> = {};
  const resources: Record<string, unknown> = {};
  let debugging: Record<string, unknown>[] = [];
  let deploy: unknown = isV2 ? 'NotStarted' : 'Not Started';
  return {
    take({ result }) {
      const members = (isV2 ? result : result.event) as Record<string, Message>;
      const build = members['buildEvent'] ?? members['buildSubtaskEvent'];
      if (build !== undefined) artifacts[String(build['artifact'])] = build['status'];
      const check = members['resourceStatusCheckEvent'] ?? members['statusCheckSubtaskEvent'];
      if (check !== undefined) resources[String(check['resource'])] = check['status'];
      const deployed = members['deployEvent'] ?? members['deploySubtaskEvent'];
      if (deployed !== undefined) deploy = deployed['status'];
      const debug = members['debuggingContainerEvent'];
      if (debug?.['status'] === 'Started') debugging.push(debug);
      if (debug?.['status'] === 'Terminated') {
        const same = (one: Record<string, unknown>): boolean =>
          ['namespace', 'podName', 'containerName'].every((field) => one[field] === debug[field]);
        debugging = debugging.filter((one) => !same(one));
      }
    },
    state: () => ({
      buildState: { artifacts: { ...artifacts } },
      deployState: { status: deploy },
      statusCheckState: { resources: { ...resources } },
      debuggingContainers: [...debugging],
    }),
  };
}
