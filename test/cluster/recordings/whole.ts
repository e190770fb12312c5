/** Whole objects, but for what differs each time: times, ids, digests, addresses. */
import type { Frame } from './recording.ts';

/** One text a frame; of frames of a pod that say the same one after the other, the first. */
export function wholeChanges(frames: readonly Frame[], resource: Frame['resource']): readonly string[] {
  const last = new Map<string, string>();
  return frames
    .filter((frame) => frame.resource === resource)
    .flatMap((frame) => {
      const { uid } = frame.object.metadata;
      const text = JSON.stringify(leveled({ type: frame.type, object: frame.object }, ''));
      if (resource === 'pods' && last.get(uid) === text) return [];
      last.set(uid, text);
      return [text];
    });
}

const fixed: Readonly<Record<string, string>> = {
  uid: 'UID',
  resourceVersion: 'VERSION',
  containerID: 'ID',
  podIP: 'ADDRESS',
  hostIP: 'ADDRESS',
  ip: 'ADDRESS',
};

function leveled(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return value.map((entry) => leveled(entry, ''));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([name, entry]) => [name, leveled(entry, name)]));
  }
  if (typeof value !== 'string') return value;
  if (key in fixed) return fixed[key];
  if (key === 'imageID') return value.replace(/[0-9a-f]{64}/, 'DIGEST');
  if (key === 'reportingInstance' && value.startsWith('default-scheduler-')) return 'SCHEDULER';
  if (key === 'name' && /\.[0-9a-f]{14,}$/.test(value)) return 'EVENT';
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return value.length > '2026-01-01T00:00:00Z'.length ? 'MICROTIME' : 'TIME';
  return value
    .replace(/\d+(\.\d+)?m?s\b/g, 'DURATION')
    .replace(/Image size: \d+/, 'Image size: N')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UID');
}
