/**
 * Holds what callers were told against what really happened: the lives that the cluster played, by its own record.
 *
 * Always: a success is a container that ended by itself with 0; an exit code is that of the container; a step runs at
 * most once; lines are those that were written, each once, in order, and what is missing is told. Where nothing harmed
 * the build and nobody gave it up, each step has just the verdict that its script says.
 */
import { isSuccess, type SettledOutcome } from '../../machines/outcome.ts';
import type { Played } from '../../src/cluster/index.ts';
import type { BuildReport, StepReport } from './caller.ts';
import type { Expected, Plan, PlannedStep } from './plan.ts';

/** One run of one container. */
export interface Run {
  readonly pod: string;
  readonly container: string;
  readonly image: string;
  readonly startedAt: number;
  wrote: string;
  end: Extract<Played, { what: 'ended' }> | undefined;
}

export function note(runs: Map<number, Run>, played: Played): void {
  const { run: number, pod, container, image, at } = played;
  const run = runs.get(number) ?? { pod, container, image, startedAt: at, wrote: '', end: undefined };
  runs.set(number, run);
  if (played.what === 'wrote') run.wrote += played.text;
  if (played.what === 'ended') run.end = played;
}

/** What is wrong, in words; empty when all is right. */
export function judge(plan: Plan, report: BuildReport, runs: readonly Run[]): readonly string[] {
  const wrong = report.surprises.map((words) => `${report.plan.id}: surprise: ${words}`);
  if (!report.removed) wrong.push(`${report.plan.id}: not removed (${report.doing})`);
  const { assemblyError } = report;
  if (assemblyError !== undefined && isCalm(plan, report) && !mayFail.has(assemblyError)) {
    wrong.push(`${report.plan.id}: assembly failed with ${assemblyError}`);
  }
  for (const step of report.plan.steps) {
    const seen = report.steps.get(step.name);
    if (seen === undefined) continue;
    const inPod = runs.filter(({ pod }) => pod === report.podName);
    const own = inPod.filter(({ image }) => image === step.image);
    const complaints = [
      ...judgeRuns(report, seen, own),
      ...judgeVerdict(plan, report, step, seen, own, inPod),
      ...judgeLines(plan, report, seen, own),
    ];
    wrong.push(...complaints.map((words) => `${report.plan.id} ${step.name}: ${words}; ${describe(step, seen, own)}`));
  }
  return wrong;
}

/** The server refused for longer than anybody tries. */
const mayFail: ReadonlySet<string> = new Set([
  'ERR_PODWRIGHT_CLUSTER_UNREACHABLE',
  'ERR_PODWRIGHT_API',
  'ERR_PODWRIGHT_UNAUTHORIZED',
]);

/** Nothing ends its containers but their own lives and its removal at the end. */
function isCalm(plan: Plan, report: BuildReport): boolean {
  return !plan.harms && report.acted === undefined && !report.lost;
}

function judgeRuns(report: BuildReport, seen: StepReport, own: readonly Run[]): string[] {
  if (own.length > 1) return [`ran ${own.length} times`];
  if (own.length === 1 && (!seen.asked || report.assemblyError !== undefined)) return ['ran and was not asked for'];
  return [];
}

function judgeVerdict(
  plan: Plan,
  report: BuildReport,
  step: PlannedStep,
  seen: StepReport,
  own: readonly Run[],
  inPod: readonly Run[],
): string[] {
  const { verdict } = seen;
  if (report.assemblyError !== undefined || report.lost) return [];
  // Its pod ended while nobody looked, and before it was asked for.
  if (!isCalm(plan, report) && seen.error === 'ERR_PODWRIGHT_POD_LOST' && own.length === 0) return [];
  if (verdict === undefined) return [`no verdict (${seen.error ?? 'and no error'})`];
  const wrong = [...judgeProof(plan, report, step, verdict, own, inPod)];
  const isVague = mayBeTakenForPull(plan, verdict, own) || (verdict.outcome === 'canceled' && isSilent(plan));
  const mustFit = isCalm(plan, report) && !isVague;
  if (mustFit && !fits(verdict, expectedOf(plan, step))) wrong.push('not what its script says');
  return wrong;
}

/** What must stand behind a verdict, whatever happened. */
function judgeProof(
  plan: Plan,
  report: BuildReport,
  step: PlannedStep,
  verdict: SettledOutcome,
  own: readonly Run[],
  inPod: readonly Run[],
): string[] {
  const { harms } = plan;
  const end = own.at(-1)?.end;
  switch (verdict.outcome) {
    case 'terminated': {
      const { exitCode, cause } = verdict;
      if (isSuccess(verdict) && !isProven(end) && !mayBeStoppedUnseen(plan, report, end, inPod))
        return ['a false success'];
      if (cause === 'completed' && !isSuccess(verdict)) return ['completed without success'];
      if (cause === 'startError') return step.life.startError === undefined ? ['a false start error'] : [];
      const ownCode = step.life.startError === undefined ? end?.exitCode : 128;
      if (exitCode !== null && ownCode !== exitCode) return ['an exit code that is not its own'];
      return exitCode === null && !harms && report.acted === undefined ? ['no exit code'] : [];
    }
    case 'pullFailed': {
      const isRefused = step.pulls.some(({ fails }) => fails !== undefined) || mayBeTakenForPull(plan, verdict, own);
      const startedBefore = own.some(({ startedAt }) => startedAt < verdict.provenance.decidedAt);
      return [...(isRefused ? [] : ['no pull failed']), ...(startedBefore ? ['its image was there'] : [])];
    }
    case 'canceled': {
      if (verdict.reason === 'timeout') {
        // A kubelet that pulls for long for another container writes meanwhile neither this one's end nor the pod's.
        const mayBeUnwritten = report.acted === 'deletePod';
        return step.expected.outcome === 'canceled' || harms || isSilent(plan) || mayBeUnwritten
          ? []
          : ['a time limit that did not run out'];
      }
      return report.acted === undefined || report.acted === 'deletePod' ? ['nobody canceled it'] : [];
    }
  }
}

/**
 * A kubelet that fails between the end of the placeholder and the start of the step never starts it where nobody tries
 * again, and tells nothing: that looks as a failed pull whose Events were lost.
 */
function mayBeTakenForPull(plan: Plan, verdict: SettledOutcome, own: readonly Run[]): boolean {
  const isVague = verdict.outcome === 'pullFailed' && verdict.class === 'unknown' && !verdict.retried;
  return isVague && own.length === 0 && (plan.harms || disturbsKubelet(plan));
}

function disturbsKubelet({ faults }: Plan): boolean {
  return faults.some(({ fault, match }) => kubeletFaults.has(fault.kind) || match?.own === true);
}

const kubeletFaults: ReadonlySet<string> = new Set(['restartKubelet', 'silenceNode', 'restartApiServer']);

/** What the kubelet does not tell, nobody knows: a run may have ended before its limit. */
function isSilent({ faults }: Plan): boolean {
  return faults.some(({ fault }) => fault.kind === 'restartKubelet' || fault.kind === 'silenceNode');
}

/**
 * A sandbox that somebody kills takes its containers along politely, and one that then ends with 0 within the second
 * shows as the last of a pod that ended by itself. Another one that still waited for its step tells them apart, where
 * the clock of the node goes on evenly.
 */
function mayBeStoppedUnseen({ faults }: Plan, { plan }: BuildReport, end: Run['end'], inPod: readonly Run[]): boolean {
  const has = (kind: string): boolean => faults.some(({ fault }) => fault.kind === kind);
  if (end?.by !== 'request' || !has('killSandboxes')) return false;
  const stepImages = plan.steps.map(({ image }) => image);
  const isWaiting = (run: Run): boolean =>
    run.container !== end.container && !stepImages.includes(run.image) && (run.end?.at ?? end.at) >= end.at;
  return plan.atOnce || has('skewNodeClock') || !inPod.some(isWaiting);
}

function isProven(end: Run['end']): boolean {
  return end?.by === 'itself' && end.exitCode === 0;
}

/** A pull that fails once is over where nobody tries again. */
function expectedOf({ placeholderCode, profile }: Plan, step: PlannedStep): Expected {
  const isRetried = placeholderCode !== 0 && Number(profile.slice(2)) >= 35;
  const failsFirst = step.pulls[0]?.fails !== undefined;
  return failsFirst && !isRetried && step.expected.outcome === 'terminated'
    ? { outcome: 'pullFailed', class: 'registryError' }
    : step.expected;
}

function fits(verdict: SettledOutcome, expected: Expected): boolean {
  switch (expected.outcome) {
    case 'terminated':
      return (
        verdict.outcome === 'terminated' && verdict.exitCode === expected.exitCode && verdict.cause === expected.cause
      );
    case 'pullFailed':
      // Its class may be told by Events alone, which may be lost.
      return verdict.outcome === 'pullFailed' && [expected.class, 'unknown'].includes(verdict.class);
    case 'canceled':
      return verdict.outcome === 'canceled' && verdict.reason === expected.reason;
  }
}

function judgeLines(plan: Plan, report: BuildReport, seen: StepReport, own: readonly Run[]): string[] {
  const decidedAt = seen.verdict?.provenance.decidedAt ?? Number.POSITIVE_INFINITY;
  // What began after a verdict of despair is of no interest any more.
  const written = (own.find(({ startedAt }) => startedAt <= decidedAt)?.wrote ?? '').split('\n');
  if (written.at(-1) === '') written.pop();
  let at = -1;
  let holes = 0;
  for (const line of seen.lines) {
    const found = written.indexOf(line, at + 1);
    if (found < 0) return [`the line "${line}" was not written, or was read twice, or out of order`];
    if (found !== at + 1) holes++;
    at = found;
  }
  if (holes > 0 && seen.gaps.length === 0) return ['lines are missing in the middle and no gap is told'];
  if (report.lost || !seen.isRead || seen.verdict === undefined) return [];
  const isGivenUp = seen.verdict.outcome === 'canceled';
  if (at !== written.length - 1 && seen.gaps.length === 0 && !isGivenUp)
    return ['lines are missing at the end and no gap is told'];
  return seen.gaps.length > 0 && isCalm(plan, report) && !isGivenUp ? ['a gap without a cause'] : [];
}

function describe(step: PlannedStep, seen: StepReport, own: readonly Run[]): string {
  const { verdict, lines, gaps, error } = seen;
  return JSON.stringify({ expected: step.expected, verdict, error, lines: lines.length, gaps, own });
}
