/** The first lines of a build, as CI users know them: what is prepared, with which images, where. */
import type { BuildPrepared } from '../../executor/events.ts';
import { type PlannedStep, stepsOf } from '../../executor/plan.ts';
import type { Terminal } from '../terminal.ts';
import type { SetupFacts } from './reporter.ts';
import { stepName } from './summary.ts';

export function initLines(
  setup: SetupFacts,
  event: BuildPrepared,
  { style }: Pick<Terminal, 'style'>,
): readonly string[] {
  const { plan } = event;
  const code = setup.placeholder.restartOn;
  const lines = [
    `${style('bold', `podwright ${setup.version}`)} runs ${setup.file}`,
    row('cluster', `${setup.cluster}, Kubernetes ${setup.kubernetes}`),
    row('pod', `${event.namespace}/${event.pod}`),
    row('placeholder', `${setup.placeholder.image}${code === 0 ? '' : ` (ends with ${code})`}`),
  ];
  for (const service of plan.services) lines.push(row('service', `${service.name} from ${service.image}`));
  for (const step of stepsOf(plan)) lines.push(stepLine(step, plan.plugins.includes(step)));
  for (const note of [...plan.notes, ...(setup.isEmbedded ? [] : event.limits)]) lines.push(row('note', note));
  for (const warning of setup.warnings) lines.push(row(style('yellow', 'warning'), warning, 'warning'));
  return lines;
}

function stepLine(step: PlannedStep, isPlugin: boolean): string {
  const name = stepName({ kind: isPlugin ? 'plugin' : 'step', name: step.name, stage: step.stage });
  if (step.when.runs === 'never') return row('skip', `${name}: ${step.when.reason}`);
  const when = step.when.runs === 'success' ? '' : step.when.runs === 'failure' ? ', after a failure' : ', in any case';
  return row('step', `${name} from ${step.image}${when}${step.detach ? ', detached' : ''}`);
}

function row(label: string, text: string, plainLabel = label): string {
  return `  ${label}${' '.repeat(Math.max(1, 12 - plainLabel.length))}${text}`;
}
