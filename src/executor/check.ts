/** The mistakes that a schema cannot tell: names, references between parts, images, and what podwright cannot run. */
import { isPodwrightError } from '../errors.ts';
import { parseImageReference } from '../image/reference.ts';
import { describe } from './check-schema.ts';
import { type Path, type PipelineDocument, problemAt } from './document.ts';
import { checkEval } from './expression.ts';
import type { Container, Pipeline, Rules, Service, Stage, Step } from './pipeline.ts';
import { nearest, type Problem } from './problems.ts';
import { hasVariable } from './substitute.ts';

export function check(pipeline: Pipeline, document: PipelineDocument): readonly Problem[] {
  const problems: Problem[] = [];
  const tell: Tell = (path, message, remedy, at = 'value') => {
    const place = at === 'key' ? document.keyAt(path) : document.valueAt(path);
    problems.push(problemAt(document, place, message, remedy));
  };
  checkTop(pipeline, document, tell);
  checkStages(pipeline.stages, tell);
  checkSecrets(pipeline, document, tell);
  const steps = [...pipeline.secretPlugins, ...pipeline.stages.flatMap((stage) => stage.steps)];
  for (const step of steps) checkStep(step, document, tell);
  for (const service of pipeline.services) checkService(service, document, tell);
  checkNames(pipeline, tell);
  checkReports(steps, tell);
  return problems;
}

type Tell = (path: Path, message: string, remedy: string, at?: 'key' | 'value') => void;

/** The most commit statuses one pipeline may set, as in the format. */
const reportLimit = 10;

function checkTop(pipeline: Pipeline, document: PipelineDocument, tell: Tell): void {
  const value = (document.value ?? {}) as Readonly<Record<string, unknown>>;
  if (value['stages'] !== undefined && value['steps'] !== undefined) {
    tell(['steps'], 'the pipeline has both "stages" and "steps"', 'Move the steps into a stage.', 'key');
  }
  const hasTemplates = value['templates'] !== undefined;
  if (hasTemplates) {
    const names = textsAt(value['templates']).join(', ');
    const message = `the pipeline uses templates (${names}), which only a server can expand`;
    tell(['templates'], message, 'Write the steps out; a Vela server shows the expanded pipeline.', 'key');
  }
  if (pipeline.stages.length === 0 && !hasTemplates && value['steps'] === undefined && value['stages'] === undefined) {
    const guess = Object.keys(value).find((key) =>
      ['steps', 'stages'].includes(nearest(key, ['steps', 'stages']) ?? ''),
    );
    const remedy = guess === undefined ? 'Add "steps:" with a list of steps.' : `Rename "${guess}".`;
    tell([], 'the pipeline has no steps', remedy);
  }
}

function textsAt(templates: unknown): readonly string[] {
  if (!Array.isArray(templates)) return [];
  return templates.map((template: unknown) => String((template as { name?: unknown } | null)?.name ?? '?'));
}

function checkStages(stages: readonly Stage[], tell: Tell): void {
  const names = stages.map((stage) => stage.name);
  const seen = new Set<string>();
  for (const stage of stages) {
    if (seen.size === seen.add(stage.name).size) {
      tell([...stage.path, 'name'], `there are two stages with the name "${stage.name}"`, 'Rename one of them.');
    }
    stage.needs.forEach((need, index) => {
      const path = [...stage.path, 'needs', index];
      if (need === stage.name) tell(path, `stage "${stage.name}" needs itself`, 'Remove it from "needs".');
      // The clone and init stages are there in every pipeline, also where the file does not name them.
      else if (!names.includes(need) && !implicitStages.includes(need)) {
        const guess = nearest(need, names);
        const hint = guess === undefined ? `Known stages: ${names.join(', ')}.` : `Did you mean "${guess}"?`;
        tell(path, `stage "${stage.name}" needs "${need}", which does not exist`, hint);
      }
    });
  }
  const cycle = findCycle(stages);
  if (cycle === undefined) return;
  const [first] = cycle;
  const path = stages.find((stage) => stage.name === first)?.path ?? [];
  tell(
    [...path, 'needs'],
    `stages need each other in a circle: ${[...cycle, first].join(' → ')}`,
    'Remove one "needs".',
  );
}

/** Stages that the format adds by itself. */
export const implicitStages: readonly string[] = ['clone', 'init'];

function findCycle(stages: readonly Stage[]): readonly string[] | undefined {
  const needs = new Map(stages.map((stage) => [stage.name, stage.needs]));
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): readonly string[] | undefined => {
    const index = trail.indexOf(name);
    // A stage that needs itself is told already.
    if (index !== -1) return trail.length - index > 1 ? trail.slice(index) : undefined;
    if (done.has(name)) return undefined;
    done.add(name);
    for (const need of needs.get(name) ?? []) {
      const cycle = visit(need, [...trail, name]);
      if (cycle !== undefined) return cycle;
    }
    return undefined;
  };
  for (const stage of stages) {
    const cycle = visit(stage.name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function checkSecrets(pipeline: Pipeline, document: PipelineDocument, tell: Tell): void {
  const seen = new Set<string>();
  for (const secret of pipeline.secrets) {
    if (secret.name === '') {
      if (isMapping(document, secret.path)) {
        tell(
          secret.path,
          `${describe(document, secret.path)} has neither "name" nor "origin"`,
          'Add it: name: my_secret',
        );
      }
    } else if (seen.size === seen.add(secret.name).size) {
      tell([...secret.path, 'name'], `there are two secrets with the name "${secret.name}"`, 'Rename or remove one.');
    }
  }
}

function isMapping(document: PipelineDocument, path: Path): boolean {
  const value = written(document, path);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkStep(step: Step, document: PipelineDocument, tell: Tell): void {
  const subject = describe(document, step.path);
  if (step.template !== undefined) {
    const message = `${subject} uses the template "${step.template}", which only a server can expand`;
    tell([...step.path, 'template'], message, 'Write the steps of the template out.', 'key');
  } else {
    checkContainer(step, document, tell);
    if (step.image === '' && isMissing(document, [...step.path, 'image'])) {
      tell(step.path, `${subject} has no "image"`, 'Add it: image: alpine:3');
    }
  }
  for (const { source, destination } of step.volumes) {
    if (!destination.startsWith('/') && !hasVariable(destination)) {
      const message = `${subject} mounts at "${destination}", which is no absolute path`;
      tell([...step.path, 'volumes'], message, 'Write /path/of/the/node:/path/in/container:ro.');
    }
    if (source.startsWith('/') || hasVariable(source)) continue;
    const message = `${subject} mounts "${source}", which is no absolute path`;
    tell(
      [...step.path, 'volumes'],
      message,
      'Name a folder of the node: /path:/path/in/container:ro. There are no named volumes.',
    );
  }
  for (const side of ['if', 'unless'] as const)
    checkRules(step.ruleset[side], [...step.path, 'ruleset'], subject, tell);
}

function checkService(service: Service, document: PipelineDocument, tell: Tell): void {
  checkContainer(service, document, tell);
  const ports = written(document, [...service.path, 'ports']);
  if (!Array.isArray(ports)) return;
  for (const [index, port] of ports.entries()) {
    // The schema knows the range of a number, and the form of a text.
    const text = typeof port === 'string' ? /^(?:\d+:)?(\d+)(?:\/\w+)?$/.exec(port)?.[1] : undefined;
    if (text === undefined || (Number(text) >= 1 && Number(text) <= 65_535)) continue;
    const path = [...service.path, 'ports', index];
    tell(path, `${describe(document, path)} is ${JSON.stringify(port)}`, 'Write a port from 1 to 65535.');
  }
}

function isMissing(document: PipelineDocument, path: Path): boolean {
  return written(document, path) === undefined;
}

function written(document: PipelineDocument, path: Path): unknown {
  let value = document.value;
  for (const part of path) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

function checkContainer(container: Container, document: PipelineDocument, tell: Tell): void {
  const subject = describe(document, container.path);
  // With a variable in it the image is checked when the variables are known.
  if (container.image !== '' && !hasVariable(container.image)) {
    try {
      parseImageReference(container.image);
    } catch (error) {
      if (!isPodwrightError(error)) throw error;
      tell([...container.path, 'image'], `${subject}: ${error.message}`, error.remedy ?? 'Correct the reference.');
    }
  }
  if (container.user !== undefined && !/^\d+(:\d+)?$/.test(container.user) && container.user !== 'root') {
    const remedy = 'Write the number: user: 1000, or user: 1000:1000. Kubernetes cannot look names up in an image.';
    tell([...container.path, 'user'], `${subject} runs as "${container.user}"`, remedy);
  }
}

function checkRules(rules: Rules, path: Path, subject: string, tell: Tell): void {
  const problem = rules.eval === undefined ? undefined : checkEval(rules.eval);
  if (problem !== undefined)
    tell(path, `the eval rule of ${subject}: ${problem}`, 'Write it with the operators named in the manual.');
  if (rules.matcher !== 'regexp') return;
  for (const pattern of Object.values(rules.patterns).flat()) {
    try {
      new RegExp(pattern);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      tell(
        path,
        `"${pattern}" in the ruleset of ${subject} is no regular expression: ${reason}`,
        'Correct the pattern.',
      );
    }
  }
}

/** Steps are told apart by name within their stage, services and plugins within the pipeline. */
function checkNames(pipeline: Pipeline, tell: Tell): void {
  const groups: readonly (readonly [string, readonly Container[]])[] = [
    ['services', pipeline.services],
    ['secret plugins', pipeline.secretPlugins],
    ...pipeline.stages.map((stage) => {
      const where = stage.name === '' ? 'steps' : `steps of stage "${stage.name}"`;
      return [where, stage.steps] as const;
    }),
  ];
  for (const [where, containers] of groups) {
    const seen = new Set<string>();
    for (const { name, path } of containers) {
      if (name === '') continue;
      const at = [...path, 'name'];
      if (seen.size === seen.add(name).size)
        tell(at, `there are two ${where} with the name "${name}"`, 'Rename one of them.');
      if (name.length > nameLimit) {
        tell(at, `the name is ${name.length} characters long, more than ${nameLimit}`, 'Use a shorter name.');
      } else if (!/[a-z0-9]/i.test(name)) {
        const message = `no container can be named after "${name}": it has no letter from a to z and no digit`;
        tell(at, message, 'Use a name with a letter or digit; everything else in it becomes "-".');
      }
    }
  }
}

const nameLimit = 253;

function checkReports(steps: readonly Step[], tell: Tell): void {
  const reports = steps.filter((step) => step.reportAs !== undefined);
  const seen = new Map<string, string>();
  for (const step of reports) {
    const as = step.reportAs ?? '';
    const other = seen.get(as);
    if (other !== undefined) {
      tell(
        [...step.path, 'report_as'],
        `step "${step.name}" reports as "${as}", as step "${other}" does`,
        'Rename one.',
      );
    }
    seen.set(as, step.name);
  }
  const tooMany = reports[reportLimit];
  if (tooMany !== undefined) {
    const message = `${reports.length} steps have "report_as", more than the limit of ${reportLimit}`;
    tell([...tooMany.path, 'report_as'], message, 'Remove it from some steps.', 'key');
  }
}
