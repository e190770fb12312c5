// `podwright run` serves what it does while it does it, tells what can be debugged, and keeps secrets out of it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/podwright.js', import.meta.url));

test('--inspect and --debug: page, events, state, metrics, log lines and what to attach to', async () => {
  const file = pipeline(`
version: "1"
steps:
  - name: unit tests
    image: alpine:3
    secrets: [api_key]
    commands:
      - echo "the key is $API_KEY"
      - sleep 1
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

  run.child.kill('SIGINT');
  const [code] = await run.ended;
  expect(code).toBe(0);
  expect(run.output()).not.toContain('Canceling');
});

test('spans go to the SDK that the process was started with, and nowhere without one', async () => {
  const set = join(mkdtempSync(join(tmpdir(), 'podwright-otel-')), 'otel.mjs');
  const sdk = import.meta.resolve('@opentelemetry/sdk-trace-base');
  const api = import.meta.resolve('@opentelemetry/api');
  writeFileSync(
    set,
    `import { trace } from ${JSON.stringify(api)};
     import { BasicTracerProvider, SimpleSpanProcessor } from ${JSON.stringify(sdk)};
     const exporter = {
       export: (spans, done) => { for (const span of spans) process.stderr.write('SPAN ' + span.name + '\\n'); done({ code: 0 }); },
       shutdown: async () => {},
     };
     trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));`,
  );
  const file = pipeline('version: "1"\nsteps:\n  - name: hello\n    image: alpine:3\n    commands: [echo]\n');
  const traced = start(['run', file], ['--import', set]);
  expect((await traced.ended)[0]).toBe(0);
  for (const name of ['step hello', 'run', 'build ']) expect(traced.output()).toContain(`SPAN ${name}`);
});

test.each([
  ['a step that is not there', ['--debug', 'nosuch=go'], /there is no step "nosuch" to debug.*hello/s],
  ['a runtime that is not known', ['--debug', 'hello=cobol'], /there is no runtime called cobol/],
  ['another address without a token', ['--events-port', '0', '--events-host', '0.0.0.0'], /without a token/],
  ['no port', ['--events-port', 'eighty'], /"eighty" is no port/],
])('%s is a mistake of the user: exit 2, with the remedy', async (_name, flags, message) => {
  const run = start([
    'run',
    pipeline('version: "1"\nsteps:\n  - name: hello\n    image: alpine:3\n    commands: [echo]\n'),
    ...flags,
  ]);
  const [code] = await run.ended;
  expect(run.output()).toMatch(message);
  expect(code).toBe(2);
});

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;
  output(): string;
  /** Waits for a line; gives the first group, or the whole match. */
  line(pattern: RegExp): Promise<string>;
}

function start(args: readonly string[], nodeArgs: readonly string[] = []): Run {
  const child = spawn(process.execPath, [...nodeArgs, bin, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  const looks = new Set<() => void>();
  const take = (chunk: Buffer): void => {
    output += chunk.toString();
    for (const look of [...looks]) look();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const ended = once(child, 'close');
  const line = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output);
        if (match === null) return;
        looks.delete(look);
        resolve(match[1] ?? match[0]);
      };
      looks.add(look);
      look();
      void ended.then(() => reject(new Error(`it ended without ${pattern}:\n${output}`)));
    });
  return { child, ended, output: () => output, line };
}

function pipeline(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'podwright-seeing-')), 'pipeline.yml');
  writeFileSync(file, text);
  return file;
}

async function json(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(url)).json()) as Record<string, unknown>;
}
