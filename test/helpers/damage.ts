/**
 * What a network, an API server and two independent watches can do to a history: drop, repeat, delay, reorder between
 * the watches, cut and relist, lose Events. What it never does here: lose the last version of an object, or the frame
 * that first proves a verdict, or bring that one later.
 */
import fc from 'fast-check';
import type { Pod } from '../../src/pod/types.ts';
import { playOf } from '../../src/trace/play.ts';
import type { Recording, RecordingLine } from '../../src/trace/recording.ts';
import { Replay } from '../../src/trace/replay.ts';

export interface Damage {
  /** One byte a pod frame; from 128 on the frame is dropped, if it may be. */
  readonly drops: readonly number[];
  readonly eventDrops: readonly number[];
  readonly loseAllEvents: boolean;
  readonly delays: readonly Delay[];
  readonly repeats: readonly Repeat[];
  readonly cuts: readonly Cut[];
  readonly staleLists: readonly StaleList[];
}

/** `place` is taken modulo the number of frames of the watch. */
interface Delay {
  readonly watch: 'pods' | 'events';
  readonly place: number;
  readonly ms: number;
}
interface Repeat {
  readonly watch: 'pods' | 'events';
  readonly place: number;
  readonly after: number;
}
/** The pod watch ends before frame `place`; after `length` frames it is listed, `times` times, and goes on. */
interface Cut {
  readonly place: number;
  readonly length: number;
  readonly times: number;
}

/** Where a step stands among those of the same time. */
type Order = Map<Line, number>;

/** The list that was right before frame `place` comes once more, `after` frames later. */
interface StaleList {
  readonly place: number;
  readonly after: number;
}

const place = fc.nat(400);
const watch = fc.constantFrom<'pods' | 'events'>('pods', 'events');

export const damages: fc.Arbitrary<Damage> = fc.record({
  drops: fc.array(fc.nat(255), { maxLength: 80, size: 'max' }),
  eventDrops: fc.array(fc.nat(255), { maxLength: 120, size: 'max' }),
  loseAllEvents: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  delays: fc.array(fc.record({ watch, place, ms: fc.oneof(fc.nat(1500), fc.nat(30_000)) }), { maxLength: 6 }),
  repeats: fc.array(fc.record({ watch, place, after: fc.nat(20) }), { maxLength: 6 }),
  cuts: fc.array(fc.record({ place, length: fc.nat(25), times: fc.integer({ min: 1, max: 3 }) }), { maxLength: 3 }),
  staleLists: fc.array(fc.record({ place, after: fc.nat(20) }), { maxLength: 2 }),
});

export function doesNoHarmToEvents(damage: Damage): boolean {
  return !damage.loseAllEvents && damage.eventDrops.every((byte) => byte < 128) && damage.delays.length === 0;
}

type Line = RecordingLine;

/** `proofs` are the lines that must stay where they are. Actions and notes stay too: nobody else wrote them. */
export function damaged(recording: Recording, proofs: ReadonlySet<Line>, damage: Damage): Recording {
  const order: Order = new Map(recording.lines.map((line, index) => [line, index]));
  const pods = recording.lines.filter((line) => isOf(line, 'pods'));
  const events = recording.lines.filter((line) => isOf(line, 'events'));
  const kept = new Set<Line>([...proofs, ...lastVersions(pods)]);
  const broken = withCuts(thinned(pods, damage.drops, kept), pods, damage.cuts, proofs, order);
  const repeated = withStaleLists(withRepeats(broken, damage, 'pods'), pods, damage.staleLists);
  const podLane = delayed(repeated, damage, 'pods', proofs);
  const thinnedEvents = damage.loseAllEvents ? [] : thinned(events, damage.eventDrops, new Set());
  const eventLane = delayed(withRepeats(thinnedEvents, damage, 'events'), damage, 'events', new Set());
  const deeds = recording.lines
    .filter((line) => !isOf(line, 'pods') && !isOf(line, 'events'))
    .map((line) => ({ line, t: line.t, rank: order.get(line) ?? 0 }));
  const placed = [...deeds, ...ranked(podLane, order), ...ranked(eventLane, order)];
  placed.sort((left, right) => left.t - right.t || left.rank - right.rank);
  return { ...recording, lines: placed.map(({ line, t }) => ({ ...line, t })) };
}

function isOf(line: Line, resource: 'pods' | 'events'): boolean {
  return (line.kind === 'watch' || line.kind === 'list') && line.resource === resource;
}

/** The lines without which a verdict would not be proven: where it was decided, or where its grace began. */
export function proofsOf(recording: Recording): ReadonlySet<Line> {
  const withoutEvents = { ...recording, lines: recording.lines.filter((line) => !isOf(line, 'events')) };
  return new Set([...decidingLines(recording), ...decidingLines(withoutEvents)]);
}

function decidingLines(recording: Recording): readonly Line[] {
  const found: (Line | undefined)[] = [];
  const run = new Replay();
  const play = playOf(recording);
  for (const step of play.steps) run.take(step);
  run.end(play.endsAt);
  for (const { uid, containers, actors } of run.pods) {
    for (const name of containers) {
      const { outcome, requestedAt } = actors.container(name);
      if (outcome === null || outcome.outcome === 'running' || requestedAt === null) continue;
      const { source, resourceVersion } = outcome.provenance;
      if (source === 'podStatus') found.push(recording.lines.find((line) => versionIn(line, uid) === resourceVersion));
      else if (source !== 'caller') found.push(firstSign(recording.lines, uid, name, requestedAt / 1000));
    }
  }
  return found.filter((line) => line !== undefined);
}

/** The first frame after the request in which the container waits for a reason of trouble, or its placeholder is dead. */
function firstSign(lines: readonly Line[], uid: string, name: string, requestedAt: number): Line | undefined {
  const neutral = ['', 'ContainerCreating', 'PodInitializing'];
  return lines.find((line) => {
    if (line.kind !== 'watch' || line.resource !== 'pods' || line.object.metadata.uid !== uid) return false;
    const state = line.object.status?.containerStatuses?.find((status) => status.name === name)?.state;
    const isTrouble = state?.terminated !== undefined || !neutral.includes(state?.waiting?.reason ?? '');
    return isTrouble && line.t >= requestedAt;
  });
}

function versionIn(line: Line, uid: string): string | undefined {
  return podsIn(line).find(({ metadata }) => metadata.uid === uid)?.metadata.resourceVersion;
}

function podsIn(line: Line): readonly Pod[] {
  if (line.kind === 'list' && line.resource === 'pods') return line.items;
  const isPod = line.kind === 'watch' && line.resource === 'pods' && line.type !== 'BOOKMARK' && line.type !== 'ERROR';
  return isPod ? [line.object] : [];
}

function isDeletion(line: Line): boolean {
  return line.kind === 'watch' && line.type === 'DELETED';
}

function lastVersions(lines: readonly Line[]): readonly Line[] {
  const last = new Map<string, Line>();
  for (const line of lines) for (const { metadata } of podsIn(line)) last.set(metadata.uid, line);
  return [...last.values(), ...lines.filter(isDeletion)];
}

function thinned(lines: readonly Line[], bytes: readonly number[], kept: ReadonlySet<Line>): readonly Line[] {
  return lines.filter((line, index) => kept.has(line) || line.kind === 'list' || (bytes[index] ?? 0) < 128);
}

function withCuts(
  steps: readonly Line[],
  truth: readonly Line[],
  cuts: readonly Cut[],
  proofs: ReadonlySet<Line>,
  order: Order,
): readonly Line[] {
  let result = steps;
  for (const cut of cuts) result = withCut(result, truth, cut, proofs, order);
  return result;
}

/** Frames in the gap are lost, and the list has what the cluster had then. The gap ends before a proof. */
function withCut(
  steps: readonly Line[],
  truth: readonly Line[],
  cut: Cut,
  proofs: ReadonlySet<Line>,
  order: Order,
): readonly Line[] {
  const from = steps.length === 0 ? 0 : cut.place % steps.length;
  let to = from;
  for (let line = steps[to]; line !== undefined && to < from + cut.length && !proofs.has(line); line = steps[to]) to++;
  const last = steps[to - 1];
  if (last === undefined || !truth.includes(last)) return steps;
  const list = listAfter(truth, truth.indexOf(last), last.t);
  const lists = Array.from({ length: cut.times }, (): Line => ({ ...list }));
  for (const list of lists) order.set(list, order.get(last) ?? 0);
  return [...steps.slice(0, from), ...lists, ...steps.slice(to)];
}

function withStaleLists(lines: readonly Line[], truth: readonly Line[], stale: readonly StaleList[]): readonly Line[] {
  const result = [...lines];
  for (const { place: from, after } of stale) {
    const line = result.length === 0 ? undefined : result[from % result.length];
    const known = line === undefined ? -1 : truth.indexOf(line);
    const target = Math.min(result.length, (from % Math.max(1, result.length)) + 1 + after);
    const before = result[target - 1];
    if (known >= 0 && before !== undefined) result.splice(target, 0, listAfter(truth, known, before.t));
  }
  return result;
}

/** What a list right after this line of the truth would have had. */
function listAfter(truth: readonly Line[], index: number, t: number): Line {
  const past = truth.slice(0, index + 1);
  const versions = past.flatMap(podsIn).map(({ metadata }) => Number(metadata.resourceVersion));
  const resourceVersion = String(Math.max(0, ...versions));
  return { t, kind: 'list', resource: 'pods', resourceVersion, items: [...stateAfter(past).values()] };
}

function stateAfter(lines: readonly Line[]): ReadonlyMap<string, Pod> {
  let state = new Map<string, Pod>();
  for (const line of lines) {
    if (line.kind === 'list' && line.resource === 'pods') state = new Map();
    for (const pod of podsIn(line)) state.set(pod.metadata.uid, pod);
    if (isDeletion(line)) for (const { metadata } of podsIn(line)) state.delete(metadata.uid);
  }
  return state;
}

/** A frame comes again, some frames later: an old version, which must not be believed. Lists are repeated in `withCut`. */
function withRepeats(lines: readonly Line[], damage: Damage, lane: 'pods' | 'events'): readonly Line[] {
  const result = [...lines];
  for (const repeat of damage.repeats) {
    if (repeat.watch !== lane || result.length === 0) continue;
    const index = repeat.place % result.length;
    const line = result[index];
    const target = Math.min(result.length, index + 1 + repeat.after);
    const before = result[target - 1];
    if (line === undefined || before === undefined || hidesDeletion(result.slice(index, target))) continue;
    result.splice(target, 0, { ...line, t: Math.max(line.t, before.t) });
  }
  return result;
}

/** A watch never brings a pod again that it has brought as deleted, or that a list did not have. */
function hidesDeletion(lines: readonly Line[]): boolean {
  return lines.some((line) => line.kind === 'list' || isDeletion(line));
}

interface Placed {
  readonly line: Line;
  readonly t: number;
}

/** A late frame makes what follows it on its watch late too; a proof is never late. */
function delayed(
  lines: readonly Line[],
  damage: Damage,
  lane: 'pods' | 'events',
  proofs: ReadonlySet<Line>,
): readonly Placed[] {
  const extra = new Map<number, number>();
  for (const delay of damage.delays) {
    if (delay.watch === lane && lines.length > 0) extra.set(delay.place % lines.length, delay.ms / 1000);
  }
  const limits: number[] = [];
  let limit = Number.POSITIVE_INFINITY;
  for (const [index, line] of [...lines.entries()].reverse()) {
    if (proofs.has(line)) limit = Math.min(limit, line.t);
    limits[index] = limit;
  }
  let latest = 0;
  return lines.map((line, index) => {
    latest = Math.max(latest, Math.min(line.t + (extra.get(index) ?? 0), limits[index] ?? Number.POSITIVE_INFINITY));
    return { line, t: latest };
  });
}

function ranked(lane: readonly Placed[], order: Order): readonly (Placed & { readonly rank: number })[] {
  let rank = 0;
  return lane.map((placed) => {
    rank = Math.max(rank, order.get(placed.line) ?? rank);
    return { ...placed, rank };
  });
}
