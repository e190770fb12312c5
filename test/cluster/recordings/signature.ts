/** What of a frame is compared: its kind and states; no times, ids, digests or addresses. */
import type { Frame } from './recording.ts';

interface StateJson {
  waiting?: { reason?: string };
  running?: object;
  terminated?: { reason?: string; exitCode: number };
}

interface StatusJson {
  name: string;
  state: StateJson;
  lastState: StateJson;
  restartCount: number;
  ready: boolean;
  image: string;
  containerID?: string;
}

export function signature(frame: Frame): string {
  return frame.resource === 'pods' ? podSignature(frame) : eventSignature(frame);
}

function podSignature({ type, object }: Frame): string {
  const { metadata, status, spec } = object;
  const statuses: StatusJson[] = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const parts = [
    type,
    metadata.name,
    status.phase,
    status.reason ?? '',
    metadata.deletionTimestamp === undefined ? '' : 'deleting',
    spec.nodeName === undefined ? 'unbound' : '',
    `images=${spec.containers.map(({ image }: { image: string }) => image).join(',')}`,
    ...statuses.map(
      (one) =>
        `${one.name}=${stateText(one.state)} last=${stateText(one.lastState)} restarts=${one.restartCount} ` +
        `image=${one.image} ${one.ready ? 'ready' : ''} ${one.containerID ? 'id' : ''}`,
    ),
  ];
  return parts.filter((part) => part !== '').join(' | ');
}

function stateText({ waiting, running, terminated }: StateJson): string {
  if (waiting !== undefined) return `waiting(${waiting.reason ?? ''})`;
  if (running !== undefined) return 'running';
  return terminated === undefined ? '-' : `terminated(${terminated.reason}/${terminated.exitCode})`;
}

function eventSignature({ type, object }: Frame): string {
  const { reason, involvedObject, count, message } = object;
  const place = `${involvedObject.name}:${involvedObject.fieldPath ?? ''}`;
  return `${type} | ${reason} | ${place} | x${count ?? '-'} | ${object.type} | ${normalized(message)}`;
}

/** Durations, sizes and uids differ each time. */
function normalized(message: string): string {
  return message
    .replace(/\d+(\.\d+)?m?s\b/g, 'TIME')
    .replace(/Image size: \d+/, 'Image size: N')
    .replace(/\(?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\)?/g, 'UID');
}

/** Without frames that say the same as the one before about the same pod. */
export function changes(frames: readonly Frame[]): readonly string[] {
  const last = new Map<string, string>();
  return frames.flatMap((frame) => {
    const text = signature(frame);
    if (frame.resource === 'events') return [text];
    const { uid } = frame.object.metadata;
    if (last.get(uid) === text) return [];
    last.set(uid, text);
    return [text];
  });
}
