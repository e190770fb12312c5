/** What a build is going to do, decided before anything is created. Plain data: it can be printed, drawn and compared. */
import type { RunsOn } from './rules.ts';

export interface Plan {
  /** Run first, in order; when one fails, nothing else runs. */
  readonly plugins: readonly PlannedStep[];
  readonly services: readonly PlannedService[];
  /** In the order of the file. Stages start when those they need have ended. */
  readonly stages: readonly PlannedStage[];
  /** Sentences a user should read before the build: what is left out, replaced or done another way. */
  readonly notes: readonly string[];
}

export interface PlannedStage {
  /** Empty for the steps of a pipeline without stages. */
  readonly name: string;
  /** Names of stages of this plan. */
  readonly needs: readonly string[];
  readonly independent: boolean;
  readonly steps: readonly PlannedStep[];
}

export interface PlannedStep {
  readonly name: string;
  readonly stage: string;
  /** From 1, in the order of the file. */
  readonly number: number;
  /** Its name in the runtime, unique in the build. */
  readonly container: string;
  readonly image: string;
  readonly when: { readonly runs: RunsOn } | { readonly runs: 'never'; readonly reason: string };
  /** Nobody waits for it. */
  readonly detach: boolean;
  /** The build goes on when it fails. */
  readonly continues: boolean;
  /** Paths to copy out of the workspace when it has ended. */
  readonly artifacts: readonly string[];
}

export interface PlannedService {
  readonly name: string;
  readonly container: string;
  readonly image: string;
  readonly ports: readonly number[];
  /** What must hold before the first step starts, in words; null when it is enough that the service runs. */
  readonly readiness: string | null;
}

/** Every step of the plan in the order of the file, plugins first. */
export function stepsOf(plan: Plan): readonly PlannedStep[] {
  return [...plan.plugins, ...plan.stages.flatMap((stage) => stage.steps)];
}

/** A plan that was kept as JSON; undefined when it is none. */
export function readPlan(text: string): Plan | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isPlan(value) ? value : undefined;
}

function isPlan(value: unknown): value is Plan {
  if (!isRecord(value)) return false;
  const { plugins, services, stages, notes } = value;
  const areContainers = (list: unknown): boolean => Array.isArray(list) && list.every(isContainer);
  if (!areContainers(plugins) || !areContainers(services) || !Array.isArray(notes) || !Array.isArray(stages))
    return false;
  return stages.every(
    (stage: unknown) => isRecord(stage) && Array.isArray(stage['needs']) && areContainers(stage['steps']),
  );
}

function isContainer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  return ['name', 'container', 'image'].every((key) => typeof value[key] === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Stages in groups: those of one group may run at the same time, after all of the groups before. */
export function stageLevels(plan: Plan): readonly (readonly PlannedStage[])[] {
  const level = new Map<string, number>();
  const byName = new Map(plan.stages.map((stage) => [stage.name, stage]));
  const levelOf = (stage: PlannedStage): number => {
    const known = level.get(stage.name);
    if (known !== undefined) return known;
    const needs = stage.needs.flatMap((need) => byName.get(need) ?? []);
    const own = Math.max(-1, ...needs.map(levelOf)) + 1;
    level.set(stage.name, own);
    return own;
  };
  const levels: PlannedStage[][] = [];
  for (const stage of plan.stages) {
    const index = levelOf(stage);
    levels[index] = [...(levels[index] ?? []), stage];
  }
  return levels;
}
