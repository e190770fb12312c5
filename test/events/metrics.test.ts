// The metrics count what happened, their labels have no name of anything in them, and a Prometheus parser reads them.
import { readFileSync } from 'node:fs';
import parsePrometheusTextFormat from 'parse-prometheus-text-format';
import { expect, onTestFinished, test } from 'vitest';
import { startEventServer } from '../../src/events/http/server.ts';
import { Metrics } from '../../src/events/metrics.ts';
import { aHub, playBuild } from './helpers.ts';
import { rawRequest } from './raw-http.ts';

test('builds, steps and pull failures are counted by outcome, cause and class', async () => {
  const { hub, clock, metrics } = aMetrics();
  hub.listen(() => clock.advance(100));
  playBuild(hub, 'one', { failing: true });
  playBuild(hub, 'two');
  const samples = parse(await metrics.registry.metrics());
  expect(samples.get('podwright_builds_total{outcome="succeeded"}')).toBe(1);
  expect(samples.get('podwright_builds_total{outcome="failed"}')).toBe(1);
  expect(samples.get('podwright_steps_total{cause="completed",outcome="terminated"}')).toBe(3);
  expect(samples.get('podwright_steps_total{cause="",outcome="pullFailed"}')).toBe(1);
  expect(samples.get('podwright_pull_failures_total{class="notFound",permanent="true"}')).toBe(1);
  expect(samples.get('podwright_kubernetes_events_total{type="Warning"}')).toBe(1);
  expect(samples.get('podwright_debug_containers_total{status="started"}')).toBe(2);
  expect(samples.get('podwright_containers{state="terminated"}')).toBe(3);
  expect(samples.get('podwright_actors{kind="container"}')).toBe(4);
  expect(samples.get('podwright_phase_seconds_count{phase="pull"}')).toBe(4);
  expect(samples.get('podwright_phase_seconds_sum{phase="run"}')).toBeGreaterThan(0);
  expect(samples.get('podwright_phase_seconds_count{phase="run"}')).toBe(3);
});

test('a parser that knows nothing of podwright reads the same', async () => {
  const { hub, metrics } = aMetrics();
  playBuild(hub, 'one', { failing: true });
  const text = await metrics.registry.metrics();
  const ours = parse(text);
  const families = parsePrometheusTextFormat(text);
  expect(families.find(({ name }) => name === 'podwright_phase_seconds')?.type).toBe('HISTOGRAM');
  const simple = families.filter(({ type }) => type === 'COUNTER' || type === 'GAUGE');
  expect(simple.length).toBeGreaterThan(12);
  for (const { name, metrics: samples } of simple) {
    for (const { labels, value } of samples) {
      const sorted = Object.entries(labels ?? {})
        .map(([key, text]) => `${key}="${text}"`)
        .sort();
      expect(ours.get(sorted.length === 0 ? name : `${name}{${sorted.join(',')}}`), name).toBe(Number(value));
    }
  }
});

test('the dashboard asks for nothing that there is not', async () => {
  const { metrics } = aMetrics({ watchCounters: () => ({ pods: noCounts, events: noCounts }) });
  const names = new Set(
    [...parse(await metrics.registry.metrics()).keys()].map((series) => series.replace(/\{.*/, '')),
  );
  const families = new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name));
  const dashboard = readFileSync(new URL('../../deploy/grafana-dashboard.json', import.meta.url), 'utf8');
  const asked = new Set([...dashboard.matchAll(/podwright_\w+/g)].map(([name]) => name));
  expect(asked.size).toBeGreaterThan(10);
  for (const name of asked) {
    const family = name.replace(/_(bucket|sum|count)$/, '');
    expect(names.has(name) || families.has(name) || families.has(family), `${name} is no metric`).toBe(true);
  }
});

test('no name, image or message is in a label, however many builds there are', async () => {
  const { hub, metrics } = aMetrics();
  playBuild(hub, 'first', { failing: true });
  playBuild(hub, 'second');
  const before = [...parse(await metrics.registry.metrics()).keys()];
  for (let i = 0; i < 50; i++) playBuild(hub, `build-${i}`, { failing: i % 2 === 0 });
  const after = [...parse(await metrics.registry.metrics()).keys()];
  expect(after).toEqual(before);
  expect(after.length).toBeLessThan(300);
  for (const word of ['build-1', 'compile', 'tester', 'pw-', 'not found']) expect(after.join('\n')).not.toContain(word);
});

test('verdict latency is the time from the node’s end to the verdict, and never negative', async () => {
  const { hub, metrics } = aMetrics();
  playBuild(hub, 'one');
  const samples = parse(await metrics.registry.metrics());
  expect(samples.get('podwright_verdict_latency_seconds_count')).toBe(2);
  expect(samples.get('podwright_verdict_latency_seconds_sum')).toBe(0);
});

test('what the watches count is scraped as it is', async () => {
  const counters = { lists: 2, watches: 5, frames: 90, bytes: 1000, failures: 3, stalls: 1, expirations: 1 };
  const both = { ...counters, malformedFrames: 0, handlerErrors: 0 };
  const { metrics } = aMetrics({ watchCounters: () => ({ pods: both, events: { ...both, lists: 1 } }) });
  for (let i = 0; i < 2; i++) {
    const samples = parse(await metrics.registry.metrics());
    expect(samples.get('podwright_watch_lists_total{resource="pods"}')).toBe(2);
    expect(samples.get('podwright_watch_lists_total{resource="events"}')).toBe(1);
    expect(samples.get('podwright_watch_connections_total{resource="pods"}')).toBe(5);
  }
});

test('log bytes, subscribers and the event log are seen over HTTP', async () => {
  const { hub, metrics } = aMetrics();
  playBuild(hub, 'one');
  hub.appendLine('one', 'compile', { time: 't', text: 'grün', gap: null });
  const left = metrics.onSubscriber('v3');
  metrics.onSubscriber('v3')('dropped');
  const server = await startEventServer({ routes: [metrics.route()] });
  onTestFinished(() => server.close());
  const response = await rawRequest(server.url, '/metrics');
  expect(response.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = parse(await response.ended());
  expect(samples.get('podwright_log_bytes_total')).toBe(6);
  expect(samples.get('podwright_subscribers{api="v3"}')).toBe(1);
  expect(samples.get('podwright_subscriptions_ended_total{api="v3",end="dropped"}')).toBe(1);
  expect(samples.get('podwright_event_log_events')).toBe(hub.events.last);
  expect(samples.has('podwright_event_loop_delay_seconds{quantile="0.99"}')).toBe(true);
  left('closed');
});

const noCounts = {
  lists: 0,
  watches: 0,
  frames: 0,
  bytes: 0,
  failures: 0,
  stalls: 0,
  expirations: 0,
  malformedFrames: 0,
  handlerErrors: 0,
};

function aMetrics(options: Partial<ConstructorParameters<typeof Metrics>[0]> = {}) {
  const { hub, clock } = aHub();
  const metrics = new Metrics({ hub, ...options });
  onTestFinished(() => metrics.close());
  return { hub, clock, metrics };
}

/** A strict reader of the Prometheus text format: name{labels, sorted} → value. Throws on anything that is not of it. */
function parse(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  const types = new Map<string, string>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line);
    if (type !== null) {
      if (types.has(type[1] ?? '')) throw new Error(`two TYPE lines: ${line}`);
      types.set(type[1] ?? '', type[2] ?? '');
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const [, name = '', labels = '', value = ''] = sample;
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
    if (!types.has(family)) throw new Error(`no TYPE line before: ${line}`);
    const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)/g)];
    if (pairs.map(([all]) => all).join('') !== labels) throw new Error(`labels of the wrong form: ${line}`);
    const sorted = pairs.map(([, key, text]) => `${key}="${text}"`).sort();
    const series = sorted.length === 0 ? name : `${name}{${sorted.join(',')}}`;
    if (samples.has(series)) throw new Error(`a series twice: ${line}`);
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
    if (Number.isNaN(number)) throw new Error(`not a number: ${line}`);
    samples.set(series, number);
  }
  return samples;
}
