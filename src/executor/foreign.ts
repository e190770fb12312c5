/** Recognizes the files of other systems, so that their authors get one sentence and not a list of unknown keys. */
import { type PipelineDocument, problemAt } from './document.ts';
import type { Problem } from './problems.ts';

/** A problem that says whose file this seems to be, or undefined. */
export function checkForeign(document: PipelineDocument): Problem | undefined {
  const { value } = document;
  if (value === null || value === undefined) {
    return problemAt(document, { line: 1, column: 1 }, 'the file is empty', 'Add "version" and "steps".');
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    const kind = Array.isArray(value) ? 'a list' : 'a single text';
    return problemAt(
      document,
      document.valueAt([]),
      `the file holds ${kind}, not a pipeline`,
      'Add "version" and "steps".',
    );
  }
  const keys = new Set(Object.keys(value));
  const system = systems.find(
    ({ has, not = [] }) => has.every((key) => keys.has(key)) && !not.some((key) => keys.has(key)),
  );
  if (system === undefined) return undefined;
  const message = `this looks like a file of ${system.name} (it has ${system.has.map((key) => `"${key}"`).join(' and ')})`;
  return problemAt(document, document.keyAt([system.has[0] ?? '']), message, 'Name a file in the .vela.yml format.');
}

/** Top-level keys that one system has and the pipeline format has not; the first that fits is told. */
const systems: readonly { readonly name: string; readonly has: readonly string[]; readonly not?: readonly string[] }[] =
  [
    { name: 'Kubernetes', has: ['apiVersion', 'kind'] },
    { name: 'Drone', has: ['kind', 'steps'] },
    { name: 'CircleCI', has: ['jobs', 'workflows'] },
    { name: 'GitHub Actions', has: ['jobs', 'on'] },
    { name: 'GitHub Actions', has: ['jobs', 'name'] },
    { name: 'Azure Pipelines', has: ['trigger', 'pool'] },
    { name: 'Woodpecker', has: ['when', 'steps'] },
    { name: 'Woodpecker', has: ['pipeline'] },
    { name: 'Bitbucket Pipelines', has: ['pipelines'] },
    { name: 'Travis CI', has: ['language'], not: ['steps', 'stages'] },
    { name: 'Docker Compose', has: ['services', 'volumes'], not: ['steps', 'stages'] },
    { name: 'Docker Compose', has: ['services', 'networks'], not: ['steps', 'stages'] },
    { name: 'GitLab CI', has: ['before_script'] },
    { name: 'GitLab CI', has: ['workflow'] },
  ];
