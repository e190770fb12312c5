// `podwright run` serves what it does while it does it, tells what can be debugged, and keeps secrets out of it.
import { afterAll, expect, test } from 'vitest';
import { Folder, podwright, start } from './podwright.ts';

const folder = new Folder();
afterAll(() => folder.end());

test('--inspect and --debug: page, events, state, metrics, log lines and what to attach to', async () => {
  const file = pipeline(`
version: "1"
steps:
  - name: unit tests
    image: alpine:3
    secrets: [api_key]
    commands:
      - echo "the key is $API_KEY"
      - ${folder.untilMade('seen')}
`);
  const args = [
    'run',
    file,
    '--inspect',
    '--linger',
    '60',
    '--debug',
    'unit tests=nodejs:9230',
    '--secret',
    'api_key=hunter2hunter2',
  ];
  const run = start(args);
  const url = await run.line(/inspector: (http:\S+)/);
  await run.line(/debug: a nodejs debugger can attach to pod\/\S+:\S+ \(default\): devtools 9230/);
  const state = await json(`${url}/v1/state`);
  expect(state['debuggingContainers']).toMatchObject([
    { status: 'Started', runtime: 'nodejs', debugPorts: { devtools: 9230 } },
  ]);
  folder.file('seen', '');
  await run.line(/the inspector stays at/);

  const page = await fetch(url);
  expect(await page.text()).toContain('<div id="app">');
  const events = (await (await fetch(`${url}/v3/events?format=ndjson`)).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const types = events.map(({ type }) => type);
  expect(types).toContain('debug.started');
  expect(types.filter((type) => type === 'debug.terminated').length).toBe(1);
  expect(events.find(({ type }) => type === 'run.ended')).toMatchObject({ outcome: 'succeeded' });
  const planned = events.find(({ type }) => type === 'build.planned');
  const log = `${url}/v3/builds/${encodeURIComponent(planned.build)}/containers/${encodeURIComponent('unit tests')}/log?format=text`;
  const lines = await (await fetch(log)).text();
  expect(lines).toContain('the key is');
  expect(lines).not.toContain('hunter2');
  expect(JSON.stringify(events)).not.toContain('hunter2');
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('podwright_builds_total{outcome="succeeded"} 1');

  run.signal('SIGINT');
  const { code, out, err } = await run.ended;
  expect(code).toBe(0);
  expect(out + err).not.toContain('Canceling');
});

test('spans go to the SDK that the process was started with, and nowhere without one', async () => {
  const sdk = import.meta.resolve('@opentelemetry/sdk-trace-base');
  const api = import.meta.resolve('@opentelemetry/api');
  const set = folder.file(
    'otel.mjs',
    `import { trace } from ${JSON.stringify(api)};
     import { BasicTracerProvider, SimpleSpanProcessor } from ${JSON.stringify(sdk)};
     const exporter = {
       export: (spans, done) => { for (const span of spans) process.stderr.write('SPAN ' + span.name + '\\n'); done({ code: 0 }); },
       shutdown: async () => {},
     };
     trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));`,
  );
  const file = pipeline(
    `version: "1"\nsteps:\n  - name: hello\n    image: alpine:3\n    commands: ["${folder.untilMade('running')}"]\n`,
  );
  const run = start(['run', file], { nodeArgs: ['--import', set] });
  await run.line(/\[hello\] running/);
  folder.file('running', '');
  const { code, err } = await run.ended;
  expect(code).toBe(0);
  for (const name of ['step hello', 'run', 'build ']) expect(err).toContain(`SPAN ${name}`);
});

test.each([
  ['a step that is not there', ['--debug', 'nosuch=go'], /there is no step "nosuch" to debug.*hello/s],
  ['a runtime that is not known', ['--debug', 'hello=cobol'], /there is no runtime called cobol/],
  ['another address without a token', ['--events-port', '0', '--events-host', '0.0.0.0'], /without a token/],
  ['no port', ['--events-port', 'eighty'], /"eighty" is no port/],
])('%s is a mistake of the user: exit 2, with the remedy', async (_name, flags, message) => {
  const file = pipeline('version: "1"\nsteps:\n  - name: hello\n    image: alpine:3\n    commands: [echo]\n');
  const { code, out, err } = await podwright(['run', file, ...flags]);
  expect(out + err).toMatch(message);
  expect(code).toBe(2);
});

function pipeline(text: string): string {
  return folder.file('pipeline.yml', text);
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>;
}
