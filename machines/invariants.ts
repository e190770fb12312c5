/**
 * What must hold between any two snapshots of one actor, whatever it was told: predicates for asserts and for tests.
 *
 * Each function returns the broken rules in words; an empty list means that all hold.
 */
import type { SnapshotFrom } from 'xstate';
import type { buildMachine } from './build.ts';
import type { containerMachine } from './container.ts';
import type { Outcome } from './outcome.ts';
import type { podMachine } from './pod.ts';

type ContainerSnapshot = SnapshotFrom<typeof containerMachine>;
type PodSnapshot = SnapshotFrom<typeof podMachine>;
type BuildSnapshot = SnapshotFrom<typeof buildMachine>;

const settledStates: readonly string[] = ['pullFailed', 'terminated', 'canceled'];
const podOrder: readonly string[] = ['creating', 'pending', 'running', 'ending', 'gone'];

export function brokenContainerRules(previous: ContainerSnapshot, next: ContainerSnapshot): readonly string[] {
  const { outcome, requestedAt } = next.context;
  const isSettled = settledStates.includes(next.value);
  return broken([
    [settledStates.includes(previous.value) && previous.value !== next.value, 'a verdict never changes its state'],
    [settledStates.includes(previous.value) && !same(previous.context, next.context), 'a verdict never changes'],
    [previous.hasTag('launched') && !next.hasTag('launched'), 'launched never switches off'],
    [previous.hasTag('settled') && !next.hasTag('settled'), 'settled never switches off'],
    [next.hasTag('settled') && !next.hasTag('launched'), 'settled implies launched'],
    [isSettled !== next.hasTag('settled'), 'settled is on in the states of a verdict only'],
    [next.hasTag('launched') && outcome?.outcome !== next.value, 'the outcome has the name of the state'],
    [!next.hasTag('launched') && outcome !== null, 'no outcome before launched'],
    [previous.context.requestedAt !== null && previous.context.requestedAt !== requestedAt, 'asked for once'],
    [
      requestedAt === null && !['pending', 'canceled'].includes(next.value),
      'nothing happens to a step nobody asked for',
    ],
    [isSettled && next.context.deadlineAt !== null, 'a verdict waits for nothing'],
    [outcome !== null && !isWellFormed(outcome), 'the outcome is well formed'],
  ]);
}

export function brokenPodRules(previous: PodSnapshot, next: PodSnapshot): readonly string[] {
  return broken([
    [podOrder.indexOf(next.value) < podOrder.indexOf(previous.value), 'a pod only goes forward'],
    [previous.context.uid !== null && previous.context.uid !== next.context.uid, 'a pod actor is one incarnation'],
    [previous.context.cause !== null && previous.context.cause !== next.context.cause, 'the first cause stands'],
    [!previous.context.settled.every((name) => next.context.settled.includes(name)), 'settled containers stay settled'],
  ]);
}

export function brokenBuildRules(previous: BuildSnapshot, next: BuildSnapshot): readonly string[] {
  const { value } = previous;
  return broken([
    [previous.hasTag('over') && !next.hasTag('over'), 'a build that is over stays over'],
    [
      previous.hasTag('over') && next.value !== value && next.value !== 'removed',
      'a judgement changes to removed only',
    ],
    [next.value === 'setup' && value !== 'setup', 'nothing leads back to setup'],
  ]);
}

/** Success has proof, a failure has a cause, and what is not known is null. */
export function isWellFormed(outcome: Outcome): boolean {
  switch (outcome.outcome) {
    case 'running':
    case 'canceled':
      return true;
    case 'pullFailed':
      return outcome.attempts >= 1 && (outcome.class !== 'unknown' || !outcome.permanent);
    case 'terminated': {
      const { exitCode, cause } = outcome;
      if (cause === 'completed') return exitCode === 0 && outcome.provenance.containerID !== undefined;
      if (cause === 'error') return exitCode !== null && exitCode !== 0;
      return !(['configError', 'initFailed', 'placeholderLost', 'rejected'].includes(cause) && exitCode !== null);
    }
  }
}

function broken(rules: readonly (readonly [boolean, string])[]): readonly string[] {
  return rules.filter(([isBroken]) => isBroken).map(([, rule]) => rule);
}

function same(left: unknown, right: unknown): boolean {
  return JSON.stringify(left) === JSON.stringify(right);
}
