/** A mistake in a pipeline file: where it is, what is wrong, what to do. All mistakes of a file are told at once. */
import { PodwrightError } from '../errors.ts';

export interface Problem {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in characters. */
  readonly column: number;
  readonly message: string;
  /** What the user can do, one sentence. */
  readonly remedy: string;
}

/** `FILE:LINE:COLUMN: what is wrong`, then the remedy on a line of its own. */
export function formatProblem(problem: Problem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${problem.message}\n    ${problem.remedy}`;
}

/** Sorted by place, without those that say the same of the same place. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  const seen = new Set<string>();
  const sorted = problems.toSorted((left, right) => left.line - right.line || left.column - right.column);
  return sorted.filter((problem) => {
    const key = `${problem.line}:${problem.column}:${problem.message}`;
    return seen.size !== seen.add(key).size;
  });
}

/** `ERR_PODWRIGHT_PIPELINE_INVALID`; `details.problems` holds the problems. */
export function pipelineInvalid(problems: readonly Problem[]): PodwrightError {
  const sorted = sortProblems(problems);
  const count = sorted.length === 1 ? 'a mistake' : `${sorted.length} mistakes`;
  const message = [`The pipeline has ${count}:`, ...sorted.map(formatProblem)].join('\n');
  return new PodwrightError('ERR_PODWRIGHT_PIPELINE_INVALID', message, { details: { problems: sorted } });
}

/** The problems of an error made by `pipelineInvalid`. */
export function problemsOf(error: PodwrightError): readonly Problem[] {
  const problems = error.details['problems'];
  return Array.isArray(problems) ? (problems as readonly Problem[]) : [];
}

/** The candidate that was most likely meant, if one is near enough to a typing mistake. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours; gives `limit` when it is that or more. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) >= limit) return limit;
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      const cost = (rows[i - 1]?.[j - 1] ?? 0) + (same ? 0 : 1);
      let best = Math.min(cost, (rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (swapped) best = Math.min(best, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return Math.min(limit, rows[left.length]?.[right.length] ?? limit);
}
