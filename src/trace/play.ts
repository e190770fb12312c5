/**
 * From a recording to what a runtime would have lived through: its own deeds, the frames of both watches, in order.
 *
 * An action takes effect when it is sent, not when its answer was written down: the frame that first shows its effect
 * comes after it. Without any action in the recording, the first frame with another image in a container's spec is the
 * moment at which its step was asked for.
 */
import { isSameImage } from '../image/reference.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import type { FrameType, PlaceholderImage, RecordedAction, Recording, RecordingLine } from './recording.ts';

/** One thing that happens to the runtime. `at` in milliseconds since the recording began. */
export type Step =
  | {
      readonly at: number;
      readonly kind: 'created';
      readonly pod: Pod;
      readonly placeholders: readonly PlaceholderImage[];
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
  const placeholders = [...(recording.meta.placeholders ?? []), ...knownPlaceholders];
  const deeds = deedsOf(recording.lines);
  const steps: Step[] = [];
  const known = new Set<string>();
  recording.lines.forEach((line, index) => {
    const at = Math.round(line.t * 1000);
    for (const pod of podsOf(line)) {
      if (known.has(pod.metadata.uid)) continue;
      known.add(pod.metadata.uid);
      steps.push({ at, kind: 'created', pod, placeholders: placeholdersOf(pod, recording, placeholders) });
    }
    for (const deed of deeds.get(index) ?? []) steps.push({ at, ...deed });
    steps.push(...observationsOf(line, at));
  });
  return { steps, endsAt: Math.round((recording.lines.at(-1)?.t ?? 0) * 1000) };
}

type Deed =
  | { readonly kind: 'request'; readonly uid: string; readonly container: string; readonly image: string }
  | { readonly kind: 'cancel'; readonly uid: string };

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

function podsOf(line: RecordingLine): readonly Pod[] {
  if (line.kind === 'list' && line.resource === 'pods') return line.items;
  const isPod = line.kind === 'watch' && line.resource === 'pods' && line.type !== 'BOOKMARK' && line.type !== 'ERROR';
  return isPod ? [line.object] : [];
}

/** Rules that a server dropped still tell, in the create's body, which code its author reserved. */
function placeholdersOf(
  pod: Pod,
  recording: Recording,
  placeholders: readonly PlaceholderImage[],
): readonly PlaceholderImage[] {
  if (recording.meta.placeholders?.length) return placeholders;
  const create = recording.lines.find(
    (line) => line.kind === 'action' && line.action.method === 'POST' && nameInBody(line.action) === pod.metadata.name,
  );
  const body = create?.kind === 'action' ? (create.action.body as Pod) : pod;
  const reserved = new Map<string, number>();
  for (const { image, restartPolicyRules } of body.spec?.containers ?? []) {
    const code = restartPolicyRules?.find(({ action }) => action === 'Restart')?.exitCodes?.values[0];
    if (image !== undefined && code !== undefined) reserved.set(image, code);
  }
  return placeholders.map((known) => ({ ...known, sigtermCode: reserved.get(known.image) ?? known.sigtermCode }));
}

/** What the recorder did, by the index of the line before which it took effect. */
function deedsOf(lines: readonly RecordingLine[]): ReadonlyMap<number, readonly Deed[]> {
  const deeds = new Map<number, Deed[]>();
  const add = (index: number, deed: Deed): void => void deeds.set(index, [...(deeds.get(index) ?? []), deed]);
  const hasActions = lines.some(({ kind }) => kind === 'action');
  if (!hasActions) {
    for (const { index, ...deed } of imageChanges(lines)) add(index, { kind: 'request', ...deed });
    return deeds;
  }
  lines.forEach((line, index) => {
    if (line.kind !== 'action' || line.action.status === null || line.action.status >= 300) return;
    const { action } = line;
    const name = podNameOf(action.path);
    if (name === null) return;
    if (action.method === 'PATCH') {
      for (const { container, image } of patchedImages(action, podAt(lines, index, name))) {
        const change = imageChanges(lines.slice(0, index), name).findLast(
          (found) => found.container === container && found.image === image,
        );
        const pod = podAt(lines, index, name);
        if (change !== undefined) add(change.index, { kind: 'request', uid: change.uid, container, image });
        else if (pod !== undefined && imageOf(pod, container) !== image)
          add(index, { kind: 'request', uid: pod.metadata.uid, container, image });
      }
    }
    if (action.method === 'DELETE') {
      const effect = deletionEffect(lines, index, name);
      if (effect !== null) add(effect.index, { kind: 'cancel', uid: effect.uid });
    }
  });
  return deeds;
}

interface ImageChange {
  readonly index: number;
  readonly uid: string;
  readonly container: string;
  readonly image: string;
}

/** Every frame or list in which a container of a known pod has another image than before. */
function imageChanges(lines: readonly RecordingLine[], podName?: string): readonly ImageChange[] {
  const images = new Map<string, string>();
  const changes: ImageChange[] = [];
  lines.forEach((line, index) => {
    for (const pod of podsOf(line)) {
      if (podName !== undefined && pod.metadata.name !== podName) continue;
      for (const { name, image } of pod.spec?.containers ?? []) {
        const key = `${pod.metadata.uid}/${name}`;
        const before = images.get(key);
        if (image === undefined || image === before) continue;
        images.set(key, image);
        if (before !== undefined) changes.push({ index, uid: pod.metadata.uid, container: name, image });
      }
    }
  });
  return changes;
}

/** A watch may bring the deletion before the answer; no longer ago than a slow API server takes. */
const answerDelaySeconds = 2;

function deletionEffect(
  lines: readonly RecordingLine[],
  index: number,
  name: string,
): { index: number; uid: string } | null {
  const action = lines[index];
  const known = podAt(lines, index, name) ?? lastPod(lines, index, name);
  if (action === undefined || known === undefined) return null;
  const { uid } = known.metadata;
  let effect = index;
  for (let before = index - 1; before >= 0; before--) {
    const line = lines[before];
    if (line === undefined || line.t < action.t - answerDelaySeconds) break;
    if (line.kind === 'action' && line.action.path.includes(`/pods/${name}`)) break;
    for (const pod of podsOf(line)) {
      if (pod.metadata.uid !== uid) continue;
      if (pod.metadata.deletionTimestamp === undefined) return { index: effect, uid };
      effect = before;
    }
  }
  return { index: effect, uid };
}

function podAt(lines: readonly RecordingLine[], index: number, name: string): Pod | undefined {
  const line = lines
    .slice(0, index)
    .findLast((candidate) => podsOf(candidate).some((pod) => pod.metadata.name === name));
  if (line === undefined || (line.kind === 'watch' && line.type === 'DELETED')) return undefined;
  return podsOf(line).find((pod) => pod.metadata.name === name);
}

function lastPod(lines: readonly RecordingLine[], index: number, name: string): Pod | undefined {
  return lines
    .slice(0, index)
    .flatMap(podsOf)
    .findLast((pod) => pod.metadata.name === name);
}

function patchedImages(action: RecordedAction, pod: Pod | undefined): readonly { container: string; image: string }[] {
  const images: { container: string; image: string }[] = [];
  const { body } = action;
  if (Array.isArray(body)) {
    for (const operation of body as readonly { path?: unknown; value?: unknown }[]) {
      const place = /^\/spec\/containers\/(\d+)\/image$/.exec(String(operation.path))?.[1];
      const container = pod?.spec?.containers?.[Number(place)]?.name;
      if (container !== undefined && typeof operation.value === 'string')
        images.push({ container, image: operation.value });
    }
    return images;
  }
  for (const { name, image } of (body as Pod | null)?.spec?.containers ?? []) {
    if (image !== undefined) images.push({ container: name, image });
  }
  return images;
}

function imageOf(pod: Pod, container: string): string | undefined {
  return pod.spec?.containers?.find(({ name }) => name === container)?.image;
}

/** The pod that a path is about as a whole; null for its sub-resources and for collections. */
function podNameOf(path: string): string | null {
  return /\/pods\/([^/?]+)(?:\?.*)?$/.exec(path)?.[1] ?? null;
}

function nameInBody({ body }: RecordedAction): string | undefined {
  return (body as Pod | null)?.metadata?.name;
}

/** Containers of a new pod that have their step's image from the start. */
export function startedAtOnce(pod: Pod, placeholders: readonly PlaceholderImage[]): readonly string[] {
  return (pod.spec?.containers ?? [])
    .filter(({ image }) => !placeholders.some((known) => image !== undefined && isSameImage(known.image, image)))
    .map(({ name }) => name);
}
