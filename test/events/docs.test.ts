// docs/events.md and docs/inspector.md say what the code does.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { causes } from '../../machines/outcome.ts';
import { debugRuntimes } from '../../src/debug/annotation.ts';
import { openApi } from '../../src/events/http/openapi.ts';
import { skaffoldRoutes } from '../../src/events/http/skaffold-routes.ts';
import { v3Routes } from '../../src/events/http/v3-routes.ts';
import { Metrics } from '../../src/events/metrics.ts';
import { causeCodes } from '../../src/events/skaffold/words.ts';
import { aHub } from './helpers.ts';

const events = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8');
const inspector = readFileSync(new URL('../../docs/inspector.md', import.meta.url), 'utf8');

test('every event of the OpenAPI document is in the table', () => {
  const { components } = openApi as {
    components: { schemas: { Event: { oneOf: { properties: { type: { const: string } } }[] } } };
  };
  for (const { properties } of components.schemas.Event.oneOf) expect(events).toContain(`\`${properties.type.const}\``);
});

test('every path that answers is named', () => {
  const { hub } = aHub();
  const paths = [...skaffoldRoutes(hub), ...v3Routes(hub)]
    .filter(({ method }) => method === 'GET')
    .map(({ path }) => path);
  for (const path of paths) expect(events).toContain(path.replace(':build', 'BUILD').replace(':container', 'NAME'));
});

test('every cause of a failure has its code in the table', () => {
  for (const cause of causes.filter((one) => one !== 'completed')) {
    const row = events.split('\n').find((line) => line.startsWith('| terminated:') && line.includes(cause));
    expect(row, cause).toContain(causeCodes[cause]);
  }
});

test('every metric is in the table, and nothing else is', () => {
  const { hub } = aHub();
  const counters = {
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
  const metrics = new Metrics({ hub, watchCounters: () => ({ pods: counters, events: counters }) });
  const names = metrics.registry.getMetricsAsArray().map(({ name }) => name.replace('podwright_', ''));
  metrics.close();
  const section = events.slice(events.indexOf('## Metrics'), events.indexOf('## Traces'));
  const told = [...section.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name).filter((name) => name !== 'podwright_');
  expect(new Set(told)).toEqual(new Set(names));
});

test('every runtime that can be debugged is named with its port', () => {
  for (const [name, usual] of Object.entries(debugRuntimes)) {
    expect(events).toContain(
      usual === null ? `\`${name}\` (no port)` : `\`${name}\` (${usual.protocol} ${usual.port})`,
    );
  }
});

test('every picture that is shown is there', () => {
  for (const [, image] of inspector.matchAll(/\]\((images\/[^)]+)\)/g)) {
    expect(
      readFileSync(new URL(`../../docs/${image}`, import.meta.url))
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
  }
});
