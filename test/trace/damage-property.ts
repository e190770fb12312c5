/**
 * No damage to a history changes a verdict: of the recordings in test/traces, and of made-up histories.
 *
 * With Events lost or late a failed pull may lose its class and words; and after a patch under a plain `Never`, where
 * nothing but Events tells why nothing was started, any such failure may look like a failed pull.
 */
import fc from 'fast-check';
import { playOf } from '../../src/trace/play.ts';
import type { Recording, RecordingLine } from '../../src/trace/recording.ts';
import { type ReplayResult, type ReplayVerdict, replay } from '../../src/trace/replay.ts';
import { type Damage, damaged, damages, proofsOf } from '../helpers/damage.ts';
import { historyOf } from '../helpers/history.ts';
import { watchInvariants } from '../helpers/invariants.ts';
import { stories } from '../helpers/story.ts';
import { allTraces } from '../helpers/traces.ts';

interface Case {
  readonly name: string;
  readonly recording: Recording;
  readonly proofs: ReadonlySet<RecordingLine>;
  readonly truth: ReplayResult;
  readonly [fc.toStringMethod]: () => string;
}

/** Half of the runs take a recording, half a made-up history. */
export function damageProperty(): fc.IProperty<[Case, Damage]> {
  const recorded = allTraces().map((trace) => caseOf(`${trace.set}/${trace.scenario}`, trace.load()));
  const recordings = fc.nat(recorded.length - 1).map((index) => recorded[index] ?? fail('no such recording'));
  const histories = stories.map((story) => caseOf(JSON.stringify(story), historyOf(story).recording));
  return fc.property(fc.oneof(recordings, histories), damages, ({ recording, proofs, truth }, damage) => {
    const invariants = watchInvariants();
    const result = replay(playOf(damaged(recording, proofs, damage)), { inspect: invariants.inspect });
    if (invariants.breaches.length > 0 || invariants.checked === 0) fail(invariants.breaches.join('; '));
    for (const [index, pod] of truth.pods.entries()) {
      for (const verdict of pod.containers) {
        const got = result.pods[index]?.containers.find(({ name }) => name === verdict.name);
        if (got === undefined || !isAllowed(verdict, got))
          fail(`${pod.name}/${verdict.name}: ${said(verdict)} became ${said(got)}`);
      }
    }
  });
}

function caseOf(name: string, recording: Recording): Case {
  const truth = replay(playOf(recording));
  // A failure is reported with the case's name instead of all its frames.
  return { name, recording, proofs: proofsOf(recording), truth, [fc.toStringMethod]: () => name };
}

export function isAllowed(truth: ReplayVerdict, got: ReplayVerdict): boolean {
  const isUnknownPull = got.outcome === 'pullFailed' && got.class === 'unknown';
  if (truth.outcome === 'pullFailed')
    return isUnknownPull || (got.outcome === 'pullFailed' && got.class === truth.class);
  const isOnlyInEvents = truth.outcome === 'terminated' && truth.exitCode === null;
  if (isUnknownPull) return isOnlyInEvents && (truth.cause === 'configError' || truth.cause === 'startError');
  if (['pending', 'pulling'].includes(truth.outcome)) return ['pending', 'pulling'].includes(got.outcome);
  return truth.outcome === got.outcome && truth.exitCode === got.exitCode && truth.cause === got.cause;
}

function said(verdict: ReplayVerdict | undefined): string {
  return JSON.stringify(verdict);
}

function fail(message: string): never {
  throw new Error(message);
}
