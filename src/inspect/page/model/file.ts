/** Opens a file: a recording of a cluster's watches, or events that were saved from `/v3/events?format=ndjson`. */
import { emptyState, type State } from '../../../events/state.ts';
import type { PodwrightEvent } from '../../../events/types.ts';
import { parseRecording } from '../../../trace/recording.ts';
import { eventsOfRecording } from '../../recording-events.ts';

export interface OpenedFile {
  readonly name: string;
  readonly state: State;
  readonly events: readonly PodwrightEvent[];
}

/** Throws an error that a person can read. */
export function openFile(name: string, text: string): OpenedFile {
  const first = text.slice(0, text.indexOf('\n') === -1 ? undefined : text.indexOf('\n'));
  const head = parse(first);
  if (isRecord(head) && head['type'] === 'snapshot') return openEvents(name, text);
  if (isRecord(head) && typeof head['kind'] === 'string') {
    return { name, state: emptyState, events: eventsOfRecording(parseRecording(text, name)) };
  }
  throw new Error(`${name} is neither a recording nor saved events: its first line has no "kind" and is no snapshot`);
}

function openEvents(name: string, text: string): OpenedFile {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map((line, index) => {
    const value = parse(line);
    if (!isRecord(value)) throw new Error(`${name}, line ${index + 1}: not a JSON object`);
    return value;
  });
  const [snapshot, ...rest] = values;
  const state = (snapshot?.['state'] ?? emptyState) as State;
  const events = rest.filter((value) => typeof value['seq'] === 'number') as unknown as readonly PodwrightEvent[];
  return { name, state, events };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
