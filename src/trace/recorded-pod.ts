/** The pods of a recording: which create each came from, and in which versions it was seen. */
import type { Pod } from '../pod/types.ts';
import type { RecordedAction, RecordingLine } from './recording.ts';

/** A pod of the recording, and the line before which it is known. */
export interface RecordedPod {
  readonly uid: string;
  readonly name: string;
  readonly index: number;
  /** As it was created; where nobody recorded the create, as it was first seen. */
  readonly object: Pod;
  /** Nobody recorded the create, and something had run in it when it was first seen. */
  readonly wasSeenLate: boolean;
  /** Its versions in the order of the lines, without those that come again later. */
  readonly sightings: readonly Sighting[];
}

export interface Sighting {
  readonly index: number;
  readonly pod: Pod;
  readonly isGone: boolean;
}

/** In order of first appearance: of the create, or of the first frame when the watch was faster. */
export function recordedPods(lines: readonly RecordingLine[]): readonly RecordedPod[] {
  const sightings = sightingsOf(lines);
  const creates = lines.flatMap((line, index) => {
    const isCreate =
      line.kind === 'action' &&
      line.action.method === 'POST' &&
      /\/pods$/.test(line.action.path) &&
      isDone(line.action);
    return isCreate ? [{ index, object: line.action.body as Pod }] : [];
  });
  /** Created, and gone before any frame or list had it. */
  const unseen = new Set(creates.filter(({ object }) => typeof object?.metadata?.name === 'string'));
  const pods = [...sightings].map(([uid, seen]): RecordedPod => {
    const [first] = seen as [Sighting, ...Sighting[]];
    const { name } = first.pod.metadata;
    const sameName = [...sightings.values()].filter(([other]) => other?.pod.metadata.name === name);
    const candidates = [...unseen].filter(({ object }) => object.metadata.name === name);
    const isEachSeen = sameName.slice(sameName.indexOf(seen)).length === candidates.length;
    const create = isEachSeen ? candidates[0] : createBefore(lines, candidates, first.index, name);
    if (create === undefined) {
      return { uid, name, index: first.index, object: first.pod, wasSeenLate: hasRun(first.pod), sightings: seen };
    }
    unseen.delete(create);
    const index = Math.min(first.index, create.index);
    return { uid, name, index, object: asCreated(create.object, first.pod), wasSeenLate: false, sightings: seen };
  });
  for (const { index, object } of unseen) {
    const { name, namespace } = object.metadata;
    const identity = { name, namespace, uid: `never-seen-${index}`, resourceVersion: '0' };
    pods.push({
      uid: identity.uid,
      name,
      index,
      object: { ...object, metadata: identity },
      wasSeenLate: false,
      sightings: [],
    });
  }
  return pods.sort((left, right) => left.index - right.index);
}

interface Create {
  readonly index: number;
  readonly object: Pod;
}

/** The last create, unless its pod was deleted before: then the frame was faster than the next create's answer. */
function createBefore(
  lines: readonly RecordingLine[],
  creates: readonly Create[],
  index: number,
  name: string,
): Create | undefined {
  const latest = creates.findLast((create) => create.index <= index);
  const next = creates.find((create) => create.index > index);
  const isDeleted = lines
    .slice(latest?.index ?? 0, index)
    .some(
      (line) => line.kind === 'action' && line.action.method === 'DELETE' && line.action.path.endsWith(`/pods/${name}`),
    );
  return latest === undefined || isDeleted ? (next ?? latest) : latest;
}

function sightingsOf(lines: readonly RecordingLine[]): ReadonlyMap<string, readonly Sighting[]> {
  const sightings = new Map<string, Sighting[]>();
  lines.forEach((line, index) => {
    for (const pod of podsIn(line)) {
      const { uid, resourceVersion } = pod.metadata;
      const seen = sightings.get(uid) ?? [];
      const last = seen.at(-1)?.pod.metadata.resourceVersion;
      if (last !== undefined && Number(resourceVersion) <= Number(last)) continue;
      const isGone = line.kind === 'watch' && line.type === 'DELETED';
      sightings.set(uid, [...seen, { index, pod, isGone }]);
    }
    if (line.kind !== 'list' || line.resource !== 'pods') return;
    const present = new Set(line.items.map(({ metadata }) => metadata.uid));
    for (const [uid, seen] of sightings) {
      const last = seen.at(-1);
      if (last !== undefined && !last.isGone && !present.has(uid)) {
        sightings.set(uid, [...seen, { ...last, index, isGone: true }]);
      }
    }
  });
  return sightings;
}

function podsIn(line: RecordingLine): readonly Pod[] {
  if (line.kind === 'list' && line.resource === 'pods') return line.items;
  const isPod = line.kind === 'watch' && line.resource === 'pods' && line.type !== 'BOOKMARK' && line.type !== 'ERROR';
  return isPod ? [line.object] : [];
}

/** What the create's answer would have told: the spec as it was sent, an identity, and nothing of a status. */
function asCreated(sent: Pod, seen: Pod): Pod {
  const { name, namespace, uid, creationTimestamp } = seen.metadata;
  const created = creationTimestamp === undefined ? {} : { creationTimestamp };
  return { ...sent, metadata: { ...sent.metadata, name, namespace, uid, resourceVersion: '0', ...created } };
}

function hasRun(pod: Pod): boolean {
  return pod.status?.containerStatuses?.some(({ containerID }) => Boolean(containerID)) === true;
}

export function isDone({ status }: RecordedAction): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Whether it was done, only its effect can tell. */
export function isAnswerLost({ status }: RecordedAction): boolean {
  return status === null;
}
