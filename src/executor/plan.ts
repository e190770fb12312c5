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
}

/** Every step of the plan in the order of the file, plugins first. */
export function stepsOf(plan: Plan): readonly PlannedStep[] {
  return [...plan.plugins, ...plan.stages.flatMap((stage) => stage.steps)];
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
