/** Compares what was recorded with what was played. The order between pods and Events is free. */
import type { Frame } from './recording.ts';
import { changes } from './signature.ts';
import { wholeChanges } from './whole.ts';

export interface Difference {
  readonly stream: 'pods' | 'events';
  /** Counted from 0, in the stream's changes. */
  readonly at: number;
  readonly recorded: string;
  readonly played: string;
}

/** The first difference; undefined when the streams are equal. */
export function firstDifference(recorded: readonly Frame[], played: readonly Frame[]): Difference | undefined {
  return (
    inStream('pods', ofResource(recorded, 'pods'), ofResource(played, 'pods')) ??
    inStream('events', ordered(ofResource(recorded, 'events')), ordered(ofResource(played, 'events')))
  );
}

/** As `firstDifference`, of every field that a client can read. */
export function firstWholeDifference(recorded: readonly Frame[], played: readonly Frame[]): Difference | undefined {
  const events = (frames: readonly Frame[]): readonly string[] => [...wholeChanges(frames, 'events')].sort();
  return (
    inStream('pods', wholeChanges(recorded, 'pods'), wholeChanges(played, 'pods')) ??
    inStream('events', events(recorded), events(played))
  );
}

function ofResource(frames: readonly Frame[], resource: Frame['resource']): readonly string[] {
  return changes(frames.filter((frame) => frame.resource === resource));
}

function inStream(
  stream: Difference['stream'],
  recorded: readonly string[],
  played: readonly string[],
): Difference | undefined {
  const length = Math.max(recorded.length, played.length);
  for (let at = 0; at < length; at += 1) {
    if (recorded[at] === played[at]) continue;
    return { stream, at, recorded: recorded[at] ?? '(end)', played: played[at] ?? '(end)' };
  }
  return undefined;
}

/** Free are the place of the scheduler's Events (another writer) and the order of stops that go on at the same time. */
function ordered(events: readonly string[]): readonly string[] {
  const fromScheduler = (text: string): boolean => /^ADDED \| (Scheduled|FailedScheduling) \|/.test(text);
  const others = events.filter((text) => !fromScheduler(text));
  const result: string[] = [...events.filter(fromScheduler)];
  let kills: string[] = [];
  for (const text of others) {
    if (text.includes('| Killing |')) {
      kills.push(text);
      continue;
    }
    result.push(...kills.sort(), text);
    kills = [];
  }
  return [...result, ...kills.sort()];
}
