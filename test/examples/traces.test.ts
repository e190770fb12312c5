/** The example of traces runs as it stands, with an exporter that keeps what it gets. */
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTraced } from '../../examples/traces.ts';
import { type Stand, startStand } from '../runtime/embedded.ts';

let stand: Stand;
beforeAll(async () => {
  stand = await startStand();
});
afterAll(() => stand?.end());

it('exports one trace of the build, its pod and its steps', async () => {
  const exporter = new InMemorySpanExporter();
  expect(await runTraced(await stand.open(), exporter)).toBe(false);
  const spans = exporter.getFinishedSpans();
  const names = spans.map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('step '))).toEqual(['step compile', 'step test']);
  expect(names.some((name) => name.startsWith('build traced-'))).toBe(true);
  expect(names.filter((name) => name === 'run').length).toBe(2);
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(spans.find(({ name }) => name === 'step test')?.attributes).toMatchObject({
    'podwright.cause': 'error',
    'process.exit.code': 3,
  });
});
