// A build is a trace: build → pod → step → pull, start, run, with the times of the events.
import {
  type Context,
  context,
  type Span,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { traceHub } from '../../src/events/spans.ts';
import { aHub, exitedOutcome, playBuild, provenance } from './helpers.ts';

test('the spans of a build form a tree', () => {
  const { hub, clock } = aHub();
  const { tracer, spans } = aTracer();
  const end = traceHub({ hub, tracer });
  hub.listen(() => clock.advance(10));
  playBuild(hub, 'one', { failing: true });
  hub.publish({ type: 'build.changed', build: 'one', from: 'failed', to: 'removed', message: null });
  end();
  expect(spans.map(({ name, parent }) => `${parent?.name ?? ''} > ${name}`)).toEqual([
    ' > build Build one',
    'build Build one > pod pw-one',
    'pod pw-one > step compile',
    'step compile > start',
    'step compile > pull',
    'step compile > run',
    'pod pw-one > step test',
    'step test > start',
    'step test > pull',
  ]);
  for (const span of spans) expect(span.endedAt, span.name).toBeGreaterThanOrEqual(span.startedAt);
  expect(spans.find(({ name }) => name === 'step compile')).toMatchObject({
    status: SpanStatusCode.OK,
    attributes: { 'process.exit.code': 0, 'podwright.cause': 'completed', 'container.image.name': 'compiler:1' },
  });
  expect(spans.find(({ name }) => name === 'step test')).toMatchObject({
    status: SpanStatusCode.ERROR,
    attributes: { 'podwright.outcome': 'pullFailed', 'podwright.pull_failure': 'notFound' },
    events: ['k8s.event Failed'],
  });
});

test('a step that had ended before it was seen running has its run too, from the second the cluster tells', () => {
  const { hub, clock } = aHub();
  clock.advanceTo(Date.parse('2026-01-01T00:00:00.500Z'));
  const { tracer, spans } = aTracer();
  const end = traceHub({ hub, tracer });
  const pod = { namespace: 'builds', name: 'pw-one', uid: 'uid-one' };
  const containers = [{ name: 'compile', image: 'compiler:1', role: 'step' as const }];
  hub.publish({ type: 'build.planned', build: 'one', name: 'one', containers });
  hub.publish({ type: 'container.requested', build: 'one', container: 'compile' });
  clock.advance(3_000);
  const change = { build: 'one', container: 'compile', pod, image: 'compiler:1', provenance } as const;
  const evidence = { kind: 'podStatus' as const, object: {} };
  const outcome = exitedOutcome(0);
  hub.publish({ type: 'container.changed', ...change, from: 'pending', to: 'terminated', outcome, evidence });
  end();
  const startedAt = Date.parse('2026-01-01T00:00:01Z');
  expect(spans.filter(({ parent }) => parent?.name === 'step compile')).toMatchObject([
    { name: 'start', endedAt: startedAt },
    { name: 'run', startedAt, endedAt: Date.parse('2026-01-01T00:00:03.500Z') },
  ]);
});

test('what is open when it ends is ended', () => {
  const { hub } = aHub();
  const { tracer, spans } = aTracer();
  const end = traceHub({ hub, tracer });
  playBuild(hub, 'one');
  end();
  playBuild(hub, 'two');
  expect(spans.filter(({ endedAt }) => endedAt === -1)).toEqual([]);
  expect(spans.some(({ name }) => name.includes('two'))).toBe(false);
});

test('a real SDK exports the trace of a build, whole', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { hub, clock } = aHub();
  hub.listen(() => clock.advance(10));
  const end = traceHub({ hub, tracer: provider.getTracer('podwright') });
  playBuild(hub, 'one', { failing: true });
  end();
  await provider.forceFlush();
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name).sort()).toEqual(
    ['build Build one', 'pod pw-one', 'pull', 'pull', 'run', 'start', 'start', 'step compile', 'step test'].sort(),
  );
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const roots = spans.filter(({ parentSpanContext }) => parentSpanContext === undefined);
  expect(roots.map(({ name }) => name)).toEqual(['build Build one']);
  for (const { parentSpanContext } of spans) if (parentSpanContext) expect(ids).toContain(parentSpanContext.spanId);
  const run = spans.find(({ name }) => name === 'run');
  expect(run?.duration).toEqual([0, 20_000_000]);
});

test('without an SDK nothing is recorded and nothing fails', () => {
  const { hub } = aHub();
  const end = traceHub({ hub });
  playBuild(hub, 'one');
  end();
  expect(trace.getTracer('podwright').startSpan('x').isRecording()).toBe(false);
});

interface Recorded {
  readonly name: string;
  readonly parent: Recorded | undefined;
  readonly startedAt: number;
  endedAt: number;
  status: SpanStatusCode;
  readonly attributes: Record<string, unknown>;
  readonly events: string[];
}

/** The least tracer that shows what was asked of it. */
function aTracer(): { tracer: Tracer; spans: Recorded[] } {
  const spans: Recorded[] = [];
  const bySpan = new Map<Span, Recorded>();
  const startSpan = (name: string, options: SpanOptions = {}, parent: Context = context.active()): Span => {
    const parentSpan = options.root === true ? undefined : trace.getSpan(parent);
    const recorded: Recorded = {
      name,
      parent: parentSpan === undefined ? undefined : bySpan.get(parentSpan),
      startedAt: Number(options.startTime),
      endedAt: -1,
      status: SpanStatusCode.UNSET,
      attributes: { ...options.attributes },
      events: [],
    };
    spans.push(recorded);
    const span = {
      setAttribute: (key: string, value: unknown) => {
        recorded.attributes[key] = value;
      },
      setStatus: ({ code }: { code: SpanStatusCode }) => {
        recorded.status = code;
      },
      addEvent: (event: string) => void recorded.events.push(event),
      end: (at: number) => {
        if (recorded.endedAt !== -1) throw new Error(`${name} ended twice`);
        recorded.endedAt = at;
      },
      isRecording: () => recorded.endedAt === -1,
    } as unknown as Span;
    bySpan.set(span, recorded);
    return span;
  };
  return { tracer: { startSpan } as unknown as Tracer, spans };
}
