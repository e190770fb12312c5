/**
 * Recordings: what the watches of a cluster brought, and what was asked of it, one JSON object a line.
 *
 * The form is described in test/traces/README.md. Reading is strict about the form and lenient about what it does not
 * know: an unknown kind of line is kept and ignored, so that recordings of later versions still play.
 */
import { PodwrightError } from '../errors.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';

export interface Recording {
  /** Where it came from, for messages. */
  readonly name: string;
  readonly meta: RecordingMeta;
  readonly lines: readonly RecordingLine[];
}

export interface RecordingMeta {
  readonly scenario?: string;
  readonly description?: string;
  readonly kubernetes?: string;
  readonly namespace?: string;
  /** Images that are placeholders, with the code with which they end when stopped for their step. */
  readonly placeholders?: readonly PlaceholderImage[];
}

export interface PlaceholderImage {
  readonly image: string;
  readonly sigtermCode: number;
}

export type FrameType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** `t` is in seconds since the recording began. */
export type RecordingLine =
  | {
      readonly t: number;
      readonly kind: 'list';
      readonly resource: 'pods';
      readonly resourceVersion?: string;
      readonly items: readonly Pod[];
    }
  | {
      readonly t: number;
      readonly kind: 'list';
      readonly resource: 'events';
      readonly resourceVersion?: string;
      readonly items: readonly KubeEvent[];
    }
  | {
      readonly t: number;
      readonly kind: 'watch';
      readonly resource: 'pods';
      readonly type: FrameType;
      readonly object: Pod;
    }
  | {
      readonly t: number;
      readonly kind: 'watch';
      readonly resource: 'events';
      readonly type: FrameType;
      readonly object: KubeEvent;
    }
  | { readonly t: number; readonly kind: 'action'; readonly action: RecordedAction }
  | { readonly t: number; readonly kind: 'note'; readonly text: string }
  | { readonly t: number; readonly kind: 'other' };

export interface RecordedAction {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number | null;
}

/**
 * Reads the text of a recording.
 * Throws `ERR_PODWRIGHT_RECORDING_INVALID` with the line and the remedy.
 */
export function parseRecording(text: string, name: string): Recording {
  const lines: RecordingLine[] = [];
  let meta: RecordingMeta = {};
  let number = 0;
  for (const raw of text.split('\n')) {
    number++;
    if (raw.trim() === '') continue;
    const { t, kind, data } = readLine(raw, name, number);
    if (kind === 'meta') meta = readMeta(data, name, number);
    else lines.push(readData(t, kind, data, name, number));
  }
  if (lines.length === 0) throw invalid(name, number, 'it holds no line', 'Record anew with podwright record.');
  return { name, meta, lines };
}

function readLine(
  raw: string,
  name: string,
  number: number,
): { t: number; kind: string; data: Record<string, unknown> } {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (cause) {
    const remedy =
      'A recording has one JSON object a line; a half line at its end comes from a recorder that was killed: remove it.';
    throw invalid(name, number, 'this is not JSON', remedy, cause);
  }
  if (!isRecord(value) || typeof value['t'] !== 'number' || typeof value['kind'] !== 'string') {
    throw invalid(name, number, 'a line needs "t" (seconds) and "kind"', 'See test/traces/README.md for the form.');
  }
  const data = value['data'];
  return { t: value['t'], kind: value['kind'], data: isRecord(data) ? data : {} };
}

function readMeta(data: Record<string, unknown>, name: string, number: number): RecordingMeta {
  const listed = data['placeholders'] ?? [];
  if (!Array.isArray(listed)) throw invalid(name, number, '"placeholders" is no list', placeholderForm);
  const placeholders = listed.map((entry: unknown): PlaceholderImage => {
    if (typeof entry === 'string') return { image: entry, sigtermCode: 0 };
    if (!isRecord(entry) || typeof entry['image'] !== 'string')
      throw invalid(name, number, 'a placeholder without its image', placeholderForm);
    const code = entry['sigtermCode'] ?? 0;
    if (typeof code !== 'number') throw invalid(name, number, '"sigtermCode" is no number', placeholderForm);
    return { image: entry['image'], sigtermCode: code };
  });
  const text = (key: string): object => (typeof data[key] === 'string' ? { [key]: data[key] } : {});
  return { ...text('scenario'), ...text('description'), ...text('kubernetes'), ...text('namespace'), placeholders };
}

const placeholderForm = 'Each placeholder is an image, or {"image": …, "sigtermCode": …}.';

function readData(t: number, kind: string, data: Record<string, unknown>, name: string, number: number): RecordingLine {
  switch (kind) {
    case 'list':
      return readList(t, data, name, number);
    case 'watch':
      return readFrame(t, data, name, number);
    case 'action':
      return {
        t,
        kind,
        action: {
          what: String(data['what'] ?? ''),
          method: String(data['method'] ?? ''),
          path: String(data['path'] ?? ''),
          body: data['body'] ?? null,
          status: typeof data['status'] === 'number' ? data['status'] : null,
        },
      };
    case 'note':
      return { t, kind, text: String(data['text'] ?? data['note'] ?? '') };
    default:
      return { t, kind: 'other' };
  }
}

function readList(t: number, data: Record<string, unknown>, name: string, number: number): RecordingLine {
  const { resource, resourceVersion, items } = data;
  if (resource !== 'pods' && resource !== 'events') return { t, kind: 'other' };
  if (!Array.isArray(items))
    throw invalid(name, number, 'a list without "items"', 'A list line holds the listed objects.');
  for (const item of items) checkObject(item, name, number);
  const version = typeof resourceVersion === 'string' ? { resourceVersion } : {};
  return { t, kind: 'list', resource, ...version, items } as RecordingLine;
}

const frameTypes: readonly FrameType[] = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'];

function readFrame(t: number, data: Record<string, unknown>, name: string, number: number): RecordingLine {
  const { resource, object } = data;
  if (resource !== 'pods' && resource !== 'events') return { t, kind: 'other' };
  const type = frameTypes.find((known) => known === data['type']);
  if (type === undefined)
    throw invalid(
      name,
      number,
      `a frame of type ${JSON.stringify(data['type'])}`,
      `Types are ${frameTypes.join(', ')}.`,
    );
  if (type !== 'BOOKMARK' && type !== 'ERROR') checkObject(object, name, number);
  return { t, kind: 'watch', resource, type, object } as RecordingLine;
}

/** The least that the projection rests on; the rest of an object is input, not a promise. */
function checkObject(object: unknown, name: string, number: number): void {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  const hasIdentity =
    isRecord(metadata) && ['name', 'uid', 'resourceVersion'].every((key) => typeof metadata[key] === 'string');
  if (!hasIdentity) {
    throw invalid(
      name,
      number,
      'an object without name, uid or resourceVersion',
      'Leave metadata in when you edit a recording.',
    );
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(name: string, line: number, what: string, remedy: string, cause?: unknown): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_RECORDING_INVALID', `${name}:${line}: ${what}`, {
    remedy,
    details: { file: name, line },
    ...(cause === undefined ? {} : { cause }),
  });
}
