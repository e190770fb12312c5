/**
 * From a recording to what a runtime would have lived through: its own deeds, the frames of both watches, in order.
 *
 * An action takes effect when it is sent, not when its answer was written down: the frame that first shows its effect
 * comes after it. One whose answer was lost was done where a frame shows its effect. Without any action in the recording, the first frame with another image in a container's spec is the
 * moment at which its step was asked for.
 */
import { isSameImage } from '../image/reference.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import { isAnswerLost, isDone, type RecordedPod, recordedPods, type Sighting } from './recorded-pod.ts';
import type { FrameType, PlaceholderImage, RecordedAction, Recording, RecordingLine } from './recording.ts';

/** One thing that happens to the runtime. `at` in milliseconds since the recording began. */
export type Step =
  | {
      readonly at: number;
      readonly kind: 'created';
      readonly pod: Pod;
      readonly placeholders: readonly PlaceholderImage[];
      /** Something had run in it before anybody looked: its images do not tell what stands in its containers. */
      readonly wasSeenLate: boolean;
    }
  | {
      readonly at: number;
      readonly kind: 'request';
      readonly uid: string;
      readonly container: string;
      readonly image: string;
    }
  | { readonly at: number; readonly kind: 'cancel'; readonly uid: string }
  | { readonly at: number; readonly kind: 'podList'; readonly items: readonly Pod[] }
  | { readonly at: number; readonly kind: 'podFrame'; readonly type: ObjectFrameType; readonly pod: Pod }
  | { readonly at: number; readonly kind: 'event'; readonly event: KubeEvent };

export type ObjectFrameType = Exclude<FrameType, 'BOOKMARK' | 'ERROR'>;

export interface Play {
  readonly steps: readonly Step[];
  /** When the recording ends: nothing that would come later has happened. */
  readonly endsAt: number;
}

/** Placeholders of the recordings in test/traces, whose meta lines do not name them. */
const knownPlaceholders: readonly PlaceholderImage[] = [
  { image: 'lab.local/placeholder:1', sigtermCode: 0 },
  { image: 'lab.local/placeholder213:1', sigtermCode: 213 },
];

export function playOf(recording: Recording): Play {
  const { meta } = recording;
  const lines = withoutStaleLists(recording.lines);
  const pods = recordedPods(lines);
  const placeholders = [...(meta.placeholders ?? []), ...knownPlaceholders];
  const before = new Map<number, Step[]>();
  const add = (index: number, step: Step): void => void before.set(index, [...(before.get(index) ?? []), step]);
  for (const pod of pods) {
    const known = meta.placeholders?.length ? placeholders : withReservedCodes(placeholders, pod.object);
    add(pod.index, {
      at: timeAt(lines, pod.index),
      kind: 'created',
      pod: pod.object,
      placeholders: known,
      wasSeenLate: pod.wasSeenLate,
    });
  }
  for (const { index, ...deed } of deedsOf(lines, pods)) add(index, { at: timeAt(lines, index), ...deed });
  const steps = lines.flatMap((line, index) => [
    ...(before.get(index) ?? []),
    ...observationsOf(line, timeAt(lines, index)),
  ]);
  return { steps, endsAt: timeAt(lines, lines.length - 1) };
}

/** A list from an API server that lags behind, or one that came again: what it lacks is not gone. */
function withoutStaleLists(lines: readonly RecordingLine[]): readonly RecordingLine[] {
  let newest = 0;
  return lines.filter((line) => {
    if ((line.kind !== 'list' && line.kind !== 'watch') || line.resource !== 'pods') return true;
    if (line.kind === 'list' && Number(line.resourceVersion) < newest) return false;
    const objects = line.kind === 'list' ? line.items : line.type === 'ERROR' ? [] : [line.object];
    const versions = objects.map(({ metadata }) => Number(metadata.resourceVersion));
    if (line.kind === 'list') versions.push(Number(line.resourceVersion));
    newest = Math.max(newest, ...versions.filter((version) => !Number.isNaN(version)));
    return true;
  });
}

function timeAt(lines: readonly RecordingLine[], index: number): number {
  return Math.round((lines[index]?.t ?? 0) * 1000);
}

function observationsOf(line: RecordingLine, at: number): readonly Step[] {
  if (line.kind === 'list') {
    return line.resource === 'pods'
      ? [{ at, kind: 'podList', items: line.items }]
      : line.items.map((event) => ({ at, kind: 'event', event }));
  }
  if (line.kind !== 'watch' || line.type === 'BOOKMARK' || line.type === 'ERROR') return [];
  if (line.resource === 'pods') return [{ at, kind: 'podFrame', type: line.type, pod: line.object }];
  return line.type === 'DELETED' ? [] : [{ at, kind: 'event', event: line.object }];
}

/** Rules that a server dropped still tell, in the spec as it was sent, which code its author reserved. */
function withReservedCodes(placeholders: readonly PlaceholderImage[], pod: Pod): readonly PlaceholderImage[] {
  const reserved = new Map<string, number>();
  for (const { image, restartPolicyRules } of pod.spec?.containers ?? []) {
    const code = restartPolicyRules?.find(({ action }) => action === 'Restart')?.exitCodes?.values[0];
    if (image !== undefined && code !== undefined) reserved.set(image, code);
  }
  return placeholders.map((known) => ({ ...known, sigtermCode: reserved.get(known.image) ?? known.sigtermCode }));
}

type Deed = { readonly index: number } & (
  | { readonly kind: 'request'; readonly uid: string; readonly container: string; readonly image: string }
  | { readonly kind: 'cancel'; readonly uid: string }
);

/** What was asked of the cluster, with the line before which it took effect. */
function deedsOf(lines: readonly RecordingLine[], pods: readonly RecordedPod[]): readonly Deed[] {
  if (!lines.some(({ kind }) => kind === 'action')) return pods.flatMap(seenChanges);
  const images = new Map<string, string | undefined>();
  return lines.flatMap((line, index): readonly Deed[] => {
    if (line.kind !== 'action' || !(isDone(line.action) || isAnswerLost(line.action))) return [];
    const name = podNameOf(line.action.path);
    const pod = pods.findLast((candidate) => candidate.name === name && candidate.index <= index);
    if (pod === undefined) return [];
    if (line.action.method === 'DELETE') {
      if (isAnswerLost(line.action) && !pod.sightings.some(showsDeletion)) return [];
      return [{ index: deletionIndex(lines, pod, index), kind: 'cancel', uid: pod.uid }];
    }
    return line.action.method === 'PATCH' ? requestsOf(line.action, pod, index, images) : [];
  });
}

/** Without actions: another image in the spec is a request. So is one that was there when the pod was seen late. */
function seenChanges(pod: RecordedPod): readonly Deed[] {
  const images = new Map((pod.object.spec?.containers ?? []).map(({ name, image }) => [name, image]));
  const late = pod.wasSeenLate ? [...images] : [];
  const deeds: Deed[] = late.flatMap(([container, image]) =>
    image === undefined ? [] : [{ index: pod.index, kind: 'request', uid: pod.uid, container, image }],
  );
  for (const { index, pod: seen } of pod.sightings) {
    for (const { name, image } of seen.spec?.containers ?? []) {
      if (image === undefined || image === images.get(name)) continue;
      images.set(name, image);
      deeds.push({ index, kind: 'request', uid: pod.uid, container: name, image });
    }
  }
  return deeds;
}

function requestsOf(
  action: RecordedAction,
  pod: RecordedPod,
  index: number,
  images: Map<string, string | undefined>,
): readonly Deed[] {
  return patchedImages(action, pod.object).flatMap(({ container, image }): readonly Deed[] => {
    const key = `${pod.uid}/${container}`;
    const before = images.has(key) ? images.get(key) : imageOf(pod.object, container);
    const shown = pod.sightings.find((sighting) => imageOf(sighting.pod, container) === image);
    if (before === image || (isAnswerLost(action) && shown === undefined)) return [];
    images.set(key, image);
    return [{ index: Math.min(index, shown?.index ?? index), kind: 'request', uid: pod.uid, container, image }];
  });
}

/** A watch may bring the deletion before its answer is written, by no more than a slow API server takes. */
const answerDelaySeconds = 2;

/** Where the deletion shows first, unless another deed on the pod explains that. */
function deletionIndex(lines: readonly RecordingLine[], pod: RecordedPod, index: number): number {
  const sentAt = lines[index]?.t ?? 0;
  const shown = pod.sightings.find(showsDeletion);
  if (shown === undefined || shown.index > index || (lines[shown.index]?.t ?? 0) < sentAt - answerDelaySeconds)
    return index;
  const isExplained = lines
    .slice(shown.index, index)
    .some(
      (line) =>
        line.kind === 'action' &&
        isDone(line.action) &&
        line.action.method !== 'PATCH' &&
        line.action.path.includes(`/pods/${pod.name}`),
    );
  return isExplained ? index : shown.index;
}

function showsDeletion({ isGone, pod }: Sighting): boolean {
  return isGone || pod.metadata.deletionTimestamp !== undefined;
}

function patchedImages(
  { body }: RecordedAction,
  pod: Pod,
): readonly { readonly container: string; readonly image: string }[] {
  if (!Array.isArray(body)) return imagesIn(body as Pod | null);
  return (body as readonly { readonly path?: unknown; readonly value?: unknown }[]).flatMap(({ path, value }) => {
    const place = /^\/spec\/containers\/(\d+)\/image$/.exec(String(path))?.[1];
    const container = place === undefined ? undefined : pod.spec?.containers?.[Number(place)]?.name;
    return container !== undefined && typeof value === 'string' ? [{ container, image: value }] : [];
  });
}

function imagesIn(pod: Pod | null): readonly { readonly container: string; readonly image: string }[] {
  const containers = pod?.spec?.containers ?? [];
  return containers.flatMap(({ name, image }) => (image === undefined ? [] : [{ container: name, image }]));
}

function imageOf(pod: Pod, container: string): string | undefined {
  return pod.spec?.containers?.find(({ name }) => name === container)?.image;
}

/** The pod that a path is about as a whole; null for its sub-resources and for collections. */
function podNameOf(path: string): string | null {
  return /\/pods\/([^/?]+)(?:\?.*)?$/.exec(path)?.[1] ?? null;
}

/** Containers that have their step's image from the start. */
export function startedAtOnce(pod: Pod, placeholders: readonly PlaceholderImage[]): readonly string[] {
  return (pod.spec?.containers ?? [])
    .filter(({ image }) => !placeholders.some((known) => image !== undefined && isSameImage(known.image, image)))
    .map(({ name }) => name);
}
