/** The OpenAPI 3.1 document of `/v3`. A test holds answers against its schemas. */
import { causes, phases, pullFailureClasses } from '../../../machines/outcome.ts';

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const nullable = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });
const string: Json = { type: 'string' };
const integer: Json = { type: 'integer' };
const text = nullable(string);

type Json = { readonly [key: string]: unknown };

const containerStates = ['pending', 'pulling', 'pullFailed', 'running', 'terminated', 'canceled'];
const podStates = ['creating', 'pending', 'running', 'ending', 'gone'];
const buildStates = ['setup', 'assembling', 'running', 'succeeded', 'failed', 'canceled', 'errored', 'removed'];

function object(properties: Readonly<Record<string, Json>>, optional: readonly string[] = []): Json {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required };
}

function history(states: readonly string[]): Json {
  return { type: 'array', items: object({ state: { enum: states }, at: integer, seq: integer }) };
}

/** One kind of event: its own fields beside those that every event has. */
function event(type: string, properties: Readonly<Record<string, Json>>): Json {
  return object({ type: { const: type }, seq: integer, at: integer, ...properties });
}

const schemas: Readonly<Record<string, Json>> = {
  Provenance: object(
    {
      decidedAt: integer,
      source: { enum: ['podStatus', 'kubeEvent', 'time', 'caller'] },
      resourceVersion: string,
      containerID: string,
      eventUid: string,
    },
    ['resourceVersion', 'containerID', 'eventUid'],
  ),
  Outcome: {
    oneOf: [
      object({ outcome: { const: 'running' }, startedAt: text, provenance: ref('Provenance') }),
      object({
        outcome: { const: 'terminated' },
        exitCode: nullable(integer),
        cause: { enum: causes },
        message: text,
        startedAt: text,
        finishedAt: text,
        provenance: ref('Provenance'),
      }),
      object({
        outcome: { const: 'pullFailed' },
        class: { enum: pullFailureClasses },
        permanent: { type: 'boolean' },
        retried: { type: 'boolean' },
        message: text,
        attempts: integer,
        provenance: ref('Provenance'),
      }),
      object({
        outcome: { const: 'canceled' },
        reason: { enum: ['caller', 'timeout'] },
        phase: { enum: phases },
        provenance: ref('Provenance'),
      }),
    ],
  },
  PodRef: object({ namespace: string, name: string, uid: string }),
  Evidence: object({ kind: { enum: ['podStatus', 'kubeEvent'] }, object: {} }),
  DebugTarget: object({
    namespace: string,
    pod: string,
    podUid: string,
    container: string,
    containerID: text,
    restartCount: integer,
    node: text,
    artifact: string,
    image: string,
    imageID: string,
    runtime: string,
    workingDir: string,
    debugPorts: { type: 'object', additionalProperties: integer },
    startedAt: text,
  }),
  Event: {
    oneOf: [
      event('run.started', { version: string, server: text }),
      event('run.ended', { outcome: { enum: ['succeeded', 'failed', 'canceled', 'errored'] }, message: text }),
      event('build.planned', {
        build: string,
        name: string,
        containers: {
          type: 'array',
          items: object({ name: string, image: string, role: { enum: ['step', 'service'] } }),
        },
      }),
      event('build.changed', {
        build: string,
        from: nullable({ enum: buildStates }),
        to: { enum: buildStates },
        message: text,
      }),
      event('build.forgotten', { build: string }),
      event('pod.changed', {
        build: string,
        pod: ref('PodRef'),
        from: nullable({ enum: podStates }),
        to: { enum: podStates },
        node: text,
        cause: text,
        message: text,
      }),
      event('container.requested', { build: string, container: string }),
      event('container.changed', {
        build: string,
        container: string,
        pod: nullable(ref('PodRef')),
        from: nullable({ enum: containerStates }),
        to: { enum: containerStates },
        image: string,
        outcome: nullable(ref('Outcome')),
        provenance: nullable(ref('Provenance')),
        evidence: nullable(ref('Evidence')),
      }),
      event('kube.event', {
        build: string,
        pod: ref('PodRef'),
        container: text,
        level: { enum: ['Normal', 'Warning'] },
        reason: string,
        message: string,
        count: integer,
        component: string,
        uid: string,
      }),
      event('watch.changed', { resource: { enum: ['pods', 'events'] }, state: string, staleSince: text }),
      event('debug.started', { build: text, target: ref('DebugTarget') }),
      event('debug.terminated', {
        build: text,
        target: ref('DebugTarget'),
        cause: { enum: ['exited', 'restarted', 'deleted', 'closed'] },
        exitCode: nullable(integer),
        reason: text,
        finishedAt: text,
      }),
      event('debug.refused', {
        build: text,
        namespace: string,
        pod: string,
        podUid: string,
        container: text,
        message: string,
      }),
      event('debug.forwarded', {
        build: text,
        namespace: string,
        pod: string,
        podUid: string,
        container: string,
        portName: string,
        remotePort: integer,
        address: string,
        localPort: integer,
        open: { type: 'boolean' },
      }),
    ],
  },
  Container: object({
    name: string,
    image: string,
    role: { enum: ['step', 'service'] },
    requestedAt: nullable(integer),
    state: { enum: containerStates },
    history: history(containerStates),
    outcome: nullable(ref('Outcome')),
    provenance: nullable(ref('Provenance')),
    evidence: nullable(ref('Evidence')),
  }),
  Pod: object({
    ref: ref('PodRef'),
    state: { enum: podStates },
    history: history(podStates),
    node: text,
    cause: text,
    message: text,
  }),
  Build: object({
    id: string,
    name: string,
    state: { enum: buildStates },
    history: history(buildStates),
    message: text,
    pod: nullable(ref('Pod')),
    containers: { type: 'array', items: ref('Container') },
    kubeEvents: { type: 'array', items: ref('Event') },
  }),
  State: object({
    run: object({
      version: text,
      server: text,
      startedAt: nullable(integer),
      ended: nullable(object({ outcome: string, message: text, at: integer })),
    }),
    builds: { type: 'object', additionalProperties: ref('Build') },
    watches: { type: 'object', additionalProperties: object({ state: string, staleSince: text }) },
    debugging: { type: 'array', items: ref('DebugTarget') },
    forwards: { type: 'array', items: { type: 'object' } },
  }),
  Snapshot: object({ epoch: string, seq: integer, state: ref('State') }),
  Error: object({ code: integer, message: string, details: { type: 'array' } }),
  LogLine: object({ seq: integer, time: string, text: string, gap: text }),
};

const query = (name: string, description: string, schema: Json): Json => ({ name, in: 'query', description, schema });
const follow = query('follow', 'false: end when everything that is there now was sent', {
  type: 'boolean',
  default: true,
});
const stream = (schema: Json): Json => ({ 'text/event-stream': { schema } });

export const openApi: Json = {
  openapi: '3.1.0',
  info: {
    title: 'podwright events',
    version: '3',
    description:
      'Builds, pods and containers as they change. Times are milliseconds since 1970 on the clock of podwright, or RFC 3339 on that of the node.',
  },
  security: [{}, { token: [] }],
  paths: {
    '/v3/state': {
      get: {
        summary: 'The state, the number of the newest event in it, and the oldest event that is kept',
        responses: answers({
          'application/json': { schema: { allOf: [ref('Snapshot'), object({ first: integer })] } },
        }),
      },
    },
    '/v3/events': {
      get: {
        summary: 'A snapshot, then every event after it; with Last-Event-ID, every event after that one',
        parameters: [
          { name: 'Last-Event-ID', in: 'header', description: 'EPOCH:SEQ', schema: string },
          query('after', 'The same as Last-Event-ID', string),
          query('from', 'now: begin with the state as it is, without the past', { enum: ['start', 'now'] }),
          query('build', 'Only events of this build, and those of none', string),
          query('format', 'ndjson: one JSON object a line', { enum: ['sse', 'ndjson'] }),
          follow,
        ],
        responses: answers({ ...stream(ref('Event')), 'application/x-ndjson': { schema: ref('Event') } }),
      },
    },
    '/v3/builds/{build}/containers/{container}/log': {
      get: {
        summary: 'The kept lines of a container, then those that come',
        parameters: [
          { name: 'build', in: 'path', required: true, schema: string },
          { name: 'container', in: 'path', required: true, schema: string },
          query('format', 'text: the lines alone', { enum: ['sse', 'text'] }),
          follow,
        ],
        responses: answers({ ...stream(ref('LogLine')), 'text/plain': { schema: string } }),
      },
    },
  },
  components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
};

function answers(content: Json): Json {
  return {
    200: { description: 'As asked', content },
    default: { description: 'Why not', content: { 'application/json': { schema: ref('Error') } } },
  };
}
