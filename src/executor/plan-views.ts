/** A plan to look at: as text, as JSON, and as a Mermaid diagram. */
import { type BuildFacts, eventText } from './facts.ts';
import { type Plan, type PlannedStage, type PlannedStep, stageLevels } from './plan.ts';

export function planText(plan: Plan, facts: BuildFacts): string {
  const lines = [
    `event ${eventText(facts)}, branch ${facts.branch}${facts.tag === '' ? '' : `, tag ${facts.tag}`}`,
    `repository ${facts.repo.org}/${facts.repo.name}${facts.commit === '' ? '' : ` at ${facts.commit.slice(0, 12)}`}`,
    '',
  ];
  if (plan.plugins.length > 0) lines.push('secret plugins', ...plan.plugins.map(stepLine));
  if (plan.services.length > 0) {
    lines.push('services', ...plan.services.map(({ name, image, ports }) => `  ${name}  ${image}${portText(ports)}`));
  }
  const hasStages = plan.stages.some((stage) => stage.name !== '');
  if (!hasStages) lines.push('steps', ...plan.stages.flatMap((stage) => stage.steps.map(stepLine)));
  else {
    for (const [index, level] of stageLevels(plan).entries()) {
      lines.push(`stages ${index + 1}${level.length > 1 ? ' (at the same time)' : ''}`);
      for (const stage of level) lines.push(stageLine(stage), ...stage.steps.map((step) => `  ${stepLine(step)}`));
    }
  }
  for (const note of plan.notes) lines.push('', `note: ${note}`);
  return `${lines.join('\n')}\n`;
}

export function planJson(plan: Plan, facts: BuildFacts): object {
  return { facts, ...plan };
}

/** A flowchart: stages as boxes, their steps in order, what is skipped dashed. */
export function planMermaid(plan: Plan): string {
  const lines = ['flowchart LR'];
  const link = (from: string, to: string): number => lines.push(`  ${from} --> ${to}`);
  const chain = (steps: readonly PlannedStep[]): void => {
    for (const [index, step] of steps.entries()) {
      lines.push(`    ${idOf(step)}["${escapeLabel(step.name)}"]${step.when.runs === 'never' ? ':::skipped' : ''}`);
      const before = steps[index - 1];
      if (before !== undefined) lines.push(`    ${idOf(before)} --> ${idOf(step)}`);
    }
  };
  const group = (id: string, title: string, content: () => void): void => {
    lines.push(`  subgraph ${id}["${escapeLabel(title)}"]`);
    content();
    lines.push('  end');
  };
  if (plan.services.length > 0) {
    group('services', 'services', () => {
      for (const [index, service] of plan.services.entries())
        lines.push(`    v${index}(["${escapeLabel(service.name)}"])`);
    });
  }
  if (plan.plugins.length > 0) group('plugins', 'secret plugins', () => chain(plan.plugins));
  const ids = new Map(plan.stages.map((stage, index) => [stage.name, `g${index}`]));
  for (const stage of plan.stages)
    group(ids.get(stage.name) ?? '', stage.name === '' ? 'steps' : stage.name, () => chain(stage.steps));
  for (const stage of plan.stages) {
    const id = ids.get(stage.name) ?? '';
    if (plan.plugins.length > 0 && stage.needs.length === 0) link('plugins', id);
    for (const need of stage.needs) link(ids.get(need) ?? '', id);
  }
  lines.push('  classDef skipped stroke-dasharray: 4 4,opacity: 0.6');
  return `${lines.join('\n')}\n`;
}

function stageLine(stage: PlannedStage): string {
  const needs = stage.needs.length === 0 ? '' : ` (after ${stage.needs.join(', ')})`;
  return `  ${stage.name}${needs}${stage.independent ? ', independent' : ''}`;
}

function stepLine(step: PlannedStep): string {
  return `  ${step.number}. ${step.name}  ${step.image}${remarks(step)}`;
}

function remarks(step: PlannedStep): string {
  if (step.when.runs === 'never') return `  skipped: ${step.when.reason}`;
  const parts = [
    ...(step.when.runs === 'failure' ? ['only after a failure'] : []),
    ...(step.when.runs === 'always' ? ['also after a failure'] : []),
    ...(step.detach ? ['detached'] : []),
    ...(step.continues ? ['may fail'] : []),
  ];
  return parts.length === 0 ? '' : `  (${parts.join(', ')})`;
}

function portText(ports: readonly number[]): string {
  return ports.length === 0 ? '' : `  port ${ports.join(', ')}`;
}

function idOf(step: PlannedStep): string {
  return `s${step.number}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
