/** The end of a build for a person: each step's ending, then what failed, why, and what to do. */
import type { BuildResult, StepResult } from '../../executor/result.ts';
import type { Style, Terminal } from '../terminal.ts';
import { errorText } from './errors.ts';
import { durationText, explainOutcome, statusText } from './words.ts';

export function summaryText(result: BuildResult, terminal: Pick<Terminal, 'style'>): string {
  const { style } = terminal;
  const lines = ['', style('bold', 'Summary')];
  for (const step of result.steps) lines.push(stepLine(step, terminal));
  for (const step of result.steps) lines.push(...failureLines(step, terminal));
  if (result.error !== null) lines.push('', errorText(result.error, terminal));
  const left = result.removal?.remaining ?? [];
  if (left.length > 0) lines.push('', style('yellow', 'Still on the cluster:'), ...left.map((what) => `  ${what}`));
  lines.push('', style(outcomeStyles[result.outcome], verdictText(result)));
  return `${lines.join('\n')}\n`;
}

/** The build's ending in one line. */
export function verdictText(result: BuildResult): string {
  const time = durationText(result.endedAt - result.startedAt);
  const steps = result.steps.filter((step) => step.kind !== 'service');
  const count = (status: StepResult['status']): number => steps.filter((step) => step.status === status).length;
  switch (result.outcome) {
    case 'succeeded': {
      const skipped = count('skipped') === 0 ? '' : `, ${count('skipped')} skipped`;
      return `Build succeeded in ${time}: ${count('succeeded')} of ${steps.length} steps succeeded${skipped}.`;
    }
    case 'failed':
      return result.timedOut ? `Build failed after ${time}: its time was over.` : `Build failed after ${time}.`;
    case 'canceled':
      return `Build canceled after ${time}.`;
    case 'error':
      return `Build ended by an error that is not its own, after ${time}.`;
  }
}

const outcomeStyles = { succeeded: 'green', failed: 'red', canceled: 'yellow', error: 'red' } as const;

const marks: Readonly<Record<StepResult['status'], { readonly mark: string; readonly style: Style }>> = {
  succeeded: { mark: '✓', style: 'green' },
  failed: { mark: '✗', style: 'red' },
  error: { mark: '✗', style: 'red' },
  canceled: { mark: '■', style: 'yellow' },
  skipped: { mark: '–', style: 'dim' },
  detached: { mark: '✓', style: 'dim' },
};

export function stepName(step: { readonly kind: string; readonly name: string; readonly stage: string }): string {
  if (step.kind === 'service') return `${step.name} (service)`;
  if (step.kind === 'plugin') return `${step.name} (secret plugin)`;
  return step.stage === '' ? step.name : `${step.stage}/${step.name}`;
}

function stepLine(step: StepResult, { style }: Pick<Terminal, 'style'>): string {
  const { mark, style: markStyle } = marks[step.status];
  const time =
    step.startedAt === null || step.endedAt === null ? '' : ` ${durationText(step.endedAt - step.startedAt)}`;
  return `  ${style(markStyle, mark)} ${stepName(step)} ${style('dim', `${statusText(step)}${time}`)}`;
}

function failureLines(step: StepResult, { style }: Pick<Terminal, 'style'>): readonly string[] {
  if ((step.status !== 'failed' && step.status !== 'error') || step.outcome === null) return [];
  const { what, said, remedy } = explainOutcome(step.outcome);
  const lines = ['', `${style('red', stepName(step))} ${what}`, `  image: ${step.image}`];
  if (said !== null && said !== '') lines.push(`  the cluster says: ${said}`);
  if (remedy !== null) lines.push(`  ${remedy}`);
  return lines;
}
