/** How states, times and outcomes are said and coloured. */
import { isSuccess, type Outcome } from '../../../../machines/outcome.ts';
import type { BuildState, ContainerState } from '../../../events/state.ts';

/** One of the colours of the style sheet. */
export type Tone = 'idle' | 'wait' | 'pull' | 'run' | 'good' | 'bad' | 'canceled';

export function toneOfContainer({ state, requestedAt, outcome }: ContainerState): Tone {
  switch (state) {
    case 'pending':
      return requestedAt === null ? 'idle' : 'wait';
    case 'pulling':
      return 'pull';
    case 'running':
      return 'run';
    case 'pullFailed':
      return 'bad';
    case 'canceled':
      return 'canceled';
    case 'terminated':
      return isGood(outcome) ? 'good' : 'bad';
  }
}

/** How it ended, where somebody judged it before it was removed. */
export function endOfBuild({ state, history }: BuildState): string {
  if (state !== 'removed') return state;
  return history.find((step) => judgements.has(step.state))?.state ?? 'removed';
}

const judgements: ReadonlySet<string> = new Set(['succeeded', 'failed', 'canceled', 'errored']);

export function toneOfBuild(build: BuildState): Tone {
  switch (endOfBuild(build)) {
    case 'succeeded':
      return 'good';
    case 'failed':
    case 'errored':
      return 'bad';
    case 'canceled':
      return 'canceled';
    case 'running':
      return 'run';
    case 'assembling':
      return 'pull';
    default:
      return 'idle';
  }
}

function isGood(outcome: Outcome | null): boolean {
  return outcome !== null && isSuccess(outcome);
}

/** One short phrase. */
export function sayOutcome(outcome: Outcome | null): string {
  if (outcome === null) return 'no verdict yet';
  switch (outcome.outcome) {
    case 'running':
      return 'running';
    case 'pullFailed':
      return `image cannot be had: ${outcome.class}`;
    case 'canceled':
      return `canceled (${outcome.reason}, ${outcome.phase})`;
    case 'terminated':
      return isGood(outcome) ? 'completed, exit 0' : `${outcome.cause}, exit ${outcome.exitCode ?? 'unknown'}`;
  }
}

export function sayDuration(ms: number): string {
  if (ms < 0) return '';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time of day; for a recording, which has none, the time since it began. */
export function sayTime(at: number): string {
  if (at < 10 * 365 * 86_400_000) return `+${(at / 1000).toFixed(3)} s`;
  const date = new Date(at);
  const two = (n: number): string => String(n).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

export function startOf(build: BuildState): number {
  return build.history[0]?.at ?? 0;
}

/** When the last thing of the build was decided; null while it goes on. */
export function endAt(build: BuildState): number | null {
  const end = build.history.find(({ state }) =>
    ['succeeded', 'failed', 'canceled', 'errored', 'removed'].includes(state),
  );
  return end?.at ?? null;
}
