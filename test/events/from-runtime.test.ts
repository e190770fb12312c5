// What a runtime on a cluster lives through is what the hub tells, and the state is that of its builds.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import { publishRuntime } from '../../src/events/from-runtime.ts';
import { EventHub } from '../../src/events/hub.ts';
import { emptyState, reduce } from '../../src/events/state.ts';
import type { PodwrightEvent } from '../../src/events/types.ts';
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { Folder } from '../cli/podwright.ts';

const folder = new Folder();
let cluster: EmbeddedCluster;
let runtime: Runtime;
const hub = new EventHub({ clock: systemClock, version: 'test' });
let unpublish: () => void;

beforeAll(async () => {
  cluster = await startCluster({});
  runtime = await createRuntime({ kubeConfig: cluster.kubeConfig, namespace: 'default' });
  unpublish = publishRuntime(hub, runtime);
});
afterAll(async () => {
  unpublish();
  await runtime.close();
  await cluster.stop();
  folder.end();
});

test('a build of two steps: its events in order, each verdict with its evidence, one debuggable instance', async () => {
  const annotations = { [debugAnnotation]: JSON.stringify({ test: { runtime: 'go', ports: { dlv: 56_268 } } }) };
  const step = { image: 'alpine:3', role: 'step' as const };
  const build = await runtime.setupBuild({
    id: 'one',
    annotations,
    containers: [
      { ...step, name: 'compile', script: 'exit 0' },
      { ...step, name: 'test', script: `${folder.untilMade('seen')}; exit 3` },
    ],
  });
  await runtime.assembleBuild(build);
  await runtime.runContainer(build, 'compile');
  await runtime.waitContainer(build, 'compile');
  await runtime.runContainer(build, 'test');
  // An instance that ran and ended between two looks is not told as one that can be debugged.
  await expect.poll(() => hub.state.debugging.length).toBe(1);
  folder.file('seen', '');
  await runtime.waitContainer(build, 'test');
  runtime.concludeBuild(build, 'failed');
  await runtime.removeBuild(build);

  const events = eventsOf(hub);
  const told = events.filter((event) => 'build' in event && event.build === 'one').map(say);
  expect(told.filter((line) => !line.startsWith('kube.event'))).toEqual([
    'build.planned',
    'build.changed setup → assembling',
    'pod.changed creating → pending',
    'build.changed assembling → running',
    'pod.changed pending → running',
    'container.requested compile',
    ...changesOf(told, 'compile'),
    'container.requested test',
    ...changesOf(told, 'test').filter((line) => !line.endsWith('→ terminated')),
    'debug.started',
    'debug.terminated',
    'container.changed test running → terminated',
    'build.changed running → failed',
    'pod.changed running → ending',
    'pod.changed ending → gone',
    'build.changed failed → removed',
  ]);
  const verdict = events.findLast((event) => event.type === 'container.changed' && event.container === 'test');
  expect(verdict).toMatchObject({
    outcome: { outcome: 'terminated', exitCode: 3, cause: 'error' },
    evidence: { kind: 'podStatus', object: { container: { name: 'test', state: { terminated: { exitCode: 3 } } } } },
  });
  const gone = events.findLast((event) => event.type === 'pod.changed');
  expect(gone).toMatchObject({ to: 'gone', cause: null });
  expect(events.reduce(reduce, emptyState)).toEqual(hub.state);
  expect(hub.state.debugging).toEqual([]);
});

test('ending the publication while a debuggable step runs pairs its start', async () => {
  const second = new EventHub({ clock: systemClock, version: 'test' });
  const end = publishRuntime(second, runtime);
  const annotations = { [debugAnnotation]: JSON.stringify({ long: { runtime: 'go' } }) };
  const build = await runtime.setupBuild({
    id: 'two',
    annotations,
    containers: [{ name: 'long', image: 'alpine:3', role: 'step', script: 'sleep 60' }],
  });
  await runtime.assembleBuild(build);
  await runtime.runContainer(build, 'long');
  expect(second.state.debugging.map(({ container }) => container)).toEqual(['long']);
  end();
  end();
  expect(second.state.debugging).toEqual([]);
  expect(eventsOf(second).at(-1)).toMatchObject({ type: 'debug.terminated', cause: 'closed', exitCode: null });
  await runtime.removeBuild(build, { gracePeriodSeconds: 0 });
});

test('the health of the watches is told when it changes', () => {
  const told = eventsOf(hub).flatMap((event) =>
    event.type === 'watch.changed' ? [`${event.resource} ${event.state}`] : [],
  );
  expect(told).toContain('pods live');
  expect(told).toEqual([...new Set(told)]);
  expect(hub.state.watches['pods']).toEqual({ state: 'live', staleSince: null });
});

function eventsOf(from: EventHub): readonly PodwrightEvent[] {
  const reading = from.events.read(0, 10_000);
  if (reading.kind !== 'entries') throw new Error('all events are kept');
  return reading.entries.map(({ value }) => value.event);
}

function say(event: PodwrightEvent): string {
  const parts: string[] = [event.type];
  if (event.type === 'container.requested' || event.type === 'container.changed') parts.push(event.container);
  if ('to' in event) parts.push(`${event.from} → ${event.to}`);
  return parts.join(' ');
}

/** Which states a fast container is seen in is the watch's to say; the last is its verdict. */
function changesOf(told: readonly string[], container: string): readonly string[] {
  const changes = told.filter((line) => line.startsWith(`container.changed ${container} `));
  expect(changes.at(-1)).toMatch(/→ terminated$/);
  return changes;
}
