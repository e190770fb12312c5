/**
 * The clone step of a pipeline: put before the others when its image is given, else left out, because the sources come
 * from a local folder.
 */
import type { Pipeline, Stage, Step } from './pipeline.ts';

export interface ClonedPipeline {
  readonly pipeline: Pipeline;
  /** What was left out, for the user. */
  readonly notes: readonly string[];
}

export function withClone(pipeline: Pipeline, cloneImage: string | undefined): ClonedPipeline {
  const own = pipeline.stages.filter(
    (stage) => stage.name === cloneName || (stage.name === '' && stage.steps.some(isClone)),
  );
  if (cloneImage === undefined) {
    const stages = pipeline.stages.flatMap(withoutClone);
    const note = 'The clone step of the file is left out: the sources come from a local folder, if one is named.';
    return { pipeline: { ...pipeline, stages }, notes: own.length > 0 ? [note] : [] };
  }
  if (own.length > 0 || !pipeline.clone) return { pipeline, notes: [] };
  const step = cloneStep(cloneImage);
  const [first, ...rest] = pipeline.stages;
  const isPlain = first !== undefined && first.name === '';
  const stages = isPlain
    ? [{ ...first, steps: [step, ...first.steps] }, ...rest]
    : [cloneStage(step), ...pipeline.stages];
  return { pipeline: { ...pipeline, stages }, notes: [] };
}

const cloneName = 'clone';

function isClone(step: Step): boolean {
  return step.name === cloneName;
}

function withoutClone(stage: Stage): readonly Stage[] {
  if (stage.name === cloneName) return [];
  return stage.name === '' ? [{ ...stage, steps: stage.steps.filter((step) => !isClone(step)) }] : [stage];
}

function cloneStage(step: Step): Stage {
  return { name: cloneName, needs: [], independent: false, environment: {}, steps: [step], path: [] };
}

const noRules = { patterns: {}, operator: 'and', matcher: 'filepath' } as const;

function cloneStep(image: string): Step {
  return {
    name: cloneName,
    image,
    pull: 'not_present',
    entrypoint: [],
    environment: {},
    ulimits: [],
    path: [],
    commands: [],
    secrets: [],
    parameters: {},
    ruleset: { if: noRules, unless: noRules, continue: false },
    detach: false,
    privileged: false,
    volumes: [],
    artifacts: [],
  };
}
