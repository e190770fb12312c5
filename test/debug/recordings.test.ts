// On every recording of a real cluster, whole or damaged: each container instance that was seen running is told as
// started once and as terminated once, and a placeholder never.
import { globSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { debugAnnotation } from '../../src/debug/annotation.ts';
import { DebugTracker } from '../../src/debug/tracker.ts';
import type { DebugChange } from '../../src/debug/types.ts';
import { eventsOfRecording } from '../../src/inspect/recording-events.ts';
import { Store } from '../../src/kube/store.ts';
import type { Pod } from '../../src/pod/types.ts';
import { parseRecording, type Recording, type RecordingLine } from '../../src/trace/recording.ts';

const files = globSync('test/traces/*/*.jsonl.gz').sort();
const recordings = new Map(
  files.map((file) => [file, annotated(parseRecording(gunzipSync(readFileSync(file)).toString(), file))]),
);

test('there are recordings', () => {
  expect(files.length).toBeGreaterThan(150);
});

describe('pods by selector', () => {
  test.each(files)('%s', (file) => {
    const lines = linesOf(file);
    const { changes, seen } = track(lines);
    expect(new Set(seen.keys())).toEqual(new Set(lines.flatMap(podsOf).flatMap(runningIn)));
    expectExactlyOnce(changes, seen);
  });

  test('with frames lost, repeated, and any watch replaced by a new list', () => {
    const restarting = files.filter((file) => instancesOf(file) > 2);
    expect(restarting.length).toBeGreaterThan(20);
    const damage = fc.array(fc.constantFrom('keep', 'keep', 'drop', 'repeat', 'relist'), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.constantFrom(...restarting), damage, (file, fates) => {
        const { changes, seen } = track(damaged(linesOf(file), fates));
        expectExactlyOnce(changes, seen);
      }),
      { numRuns: 300 },
    );
  });
});

describe('builds', () => {
  test.each(files)('%s', (file) => {
    const events = eventsOfRecording(recordings.get(file) ?? fail(file));
    const ran = events.flatMap((event) =>
      event.type === 'container.changed' && event.to === 'running' ? [`${event.build}/${event.container}`] : [],
    );
    const started = events.flatMap((event) => (event.type === 'debug.started' ? [event] : []));
    const ended = events.flatMap((event) => (event.type === 'debug.terminated' ? [event] : []));
    expect(started.map(({ build, target }) => `${build}/${target.container}`)).toEqual(ran);
    for (const { target } of started) expect(target.image).not.toMatch(/lab\.local\/placeholder/);
    const ids = started.map(({ target }) => target.containerID);
    expect(new Set(ids).size).toBe(ids.length);
    const endedIds = ended.map(({ target }) => target.containerID);
    expect(new Set(endedIds).size).toBe(endedIds.length);
    for (const id of endedIds) expect(ids).toContain(id);
  });
});

/** What a tracker tells, and which instances were shown to it as running. */
function track(lines: readonly RecordingLine[]): { changes: readonly DebugChange[]; seen: ReadonlyMap<string, Pod> } {
  const changes: DebugChange[] = [];
  const seen = new Map<string, Pod>();
  const store = new Store<Pod>();
  const tracker = new DebugTracker({ onChange: (change) => changes.push(change) });
  for (const line of lines) {
    for (const { kind, object } of deltasOf(store, line)) {
      if (kind === 'deleted') tracker.gone(object);
      else {
        for (const id of runningIn(object)) seen.set(id, object);
        tracker.observe(object);
      }
    }
  }
  tracker.close();
  return { changes, seen };
}

function deltasOf(store: Store<Pod>, line: RecordingLine): ReturnType<Store<Pod>['replace']> {
  if (line.kind === 'list' && line.resource === 'pods') return store.replace(line.items);
  if (line.kind !== 'watch' || line.resource !== 'pods' || line.type === 'BOOKMARK' || line.type === 'ERROR') return [];
  return store.apply({ type: line.type, object: line.object });
}

function expectExactlyOnce(changes: readonly DebugChange[], seen: ReadonlyMap<string, Pod>): void {
  const told = new Map<string, string[]>();
  for (const change of changes) {
    if (change.kind === 'refused') throw new Error(change.message);
    const { podUid, container, containerID } = change.target;
    const id = `${podUid}/${container}/${containerID}`;
    told.set(id, [...(told.get(id) ?? []), change.kind]);
  }
  expect(new Set(told.keys())).toEqual(new Set(seen.keys()));
  for (const [id, kinds] of told) expect(kinds, id).toEqual(['started', 'terminated']);
}

function runningIn({ metadata, status }: Pod): readonly string[] {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return all
    .filter(({ state }) => state?.running !== undefined)
    .map(({ name, containerID }) => `${metadata.uid}/${name}/${containerID}`);
}

function podsOf(line: RecordingLine): readonly Pod[] {
  if (line.kind === 'list' && line.resource === 'pods') return line.items;
  const isPod = line.kind === 'watch' && line.resource === 'pods' && line.type !== 'BOOKMARK' && line.type !== 'ERROR';
  // What is in a DELETED frame has ended, whatever its status says.
  return isPod && line.type !== 'DELETED' ? [line.object] : [];
}

function instancesOf(file: string): number {
  return new Set(linesOf(file).flatMap(podsOf).flatMap(runningIn)).size;
}

function linesOf(file: string): readonly RecordingLine[] {
  return (recordings.get(file) ?? fail(file)).lines;
}

/** The fates are dealt to the pod frames in turn; a relist brings what the server has at that moment. */
function damaged(lines: readonly RecordingLine[], fates: readonly string[]): readonly RecordingLine[] {
  const server = new Map<string, Pod>();
  let turn = 0;
  return lines.flatMap((line): readonly RecordingLine[] => {
    if (line.kind === 'list' && line.resource === 'pods') {
      server.clear();
      for (const pod of line.items) server.set(pod.metadata.name, pod);
      return [line];
    }
    if (line.kind !== 'watch' || line.resource !== 'pods' || line.type === 'BOOKMARK' || line.type === 'ERROR')
      return [];
    if (line.type === 'DELETED') server.delete(line.object.metadata.name);
    else server.set(line.object.metadata.name, line.object);
    const fate = fates[turn++ % fates.length];
    if (fate === 'drop') return [];
    if (fate === 'repeat') return [line, line];
    return fate === 'relist' ? [{ t: line.t, kind: 'list', resource: 'pods', items: [...server.values()] }] : [line];
  });
}

/** The recording as if every container of it could be debugged. */
function annotated(recording: Recording): Recording {
  const add = (pod: Pod): Pod => {
    const names = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].map(({ name }) => name);
    const value = JSON.stringify(
      Object.fromEntries(names.map((name) => [name, { runtime: 'go', ports: { dlv: 56_268 } }])),
    );
    return {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [debugAnnotation]: value } },
    };
  };
  const lines = recording.lines.map((line): RecordingLine => {
    if (line.kind === 'list' && line.resource === 'pods') return { ...line, items: line.items.map(add) };
    const isPod =
      line.kind === 'watch' && line.resource === 'pods' && line.type !== 'BOOKMARK' && line.type !== 'ERROR';
    return isPod ? { ...line, object: add(line.object) } : line;
  });
  return { ...recording, lines };
}

function fail(file: string): never {
  throw new Error(`no recording ${file}`);
}
