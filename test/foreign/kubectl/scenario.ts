/** What a scenario of kubectl commands is made of, and how it is played and written down. */
import type { Kubectl, Ran } from './kubectl.ts';
import { type Names, normalForm } from './normal-form.ts';

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly command: string;
  readonly stdin?: string;
  /** Sets the scene: what it prints is not compared, but it must succeed. */
  readonly scene?: true;
  /** Runs beside these, from its first output that fits `from` until its output fits `until`. */
  readonly beside?: { readonly steps: readonly Step[]; readonly from?: RegExp; readonly until?: RegExp };
  /** Only lines that fit are compared. */
  readonly lines?: RegExp;
  /** Their order is chance. */
  readonly sorted?: true;
  /** Repeated until the output fits: for what comes some time after the step before. */
  readonly retry?: RegExp;
}

/** The scene in which the pod has ended so. Old kubectls cannot wait for that. */
export function ended(pod: string, phase: 'Succeeded' | 'Failed'): Step {
  return { command: `get pod ${pod} -o jsonpath={.status.phase}`, retry: new RegExp(phase), scene: true };
}

export interface Stage {
  readonly kubectl: Kubectl;
  readonly names: Names;
  /** What stands for `$NAME` in commands. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A transcript in normal form: each command, what it printed, and its exit code. */
export async function play(scenario: Scenario, stage: Stage): Promise<string> {
  const parts: string[] = [];
  for (const step of scenario.steps) parts.push(...(await playStep(step, stage)));
  return parts.join('\n');
}

async function playStep(step: Step, stage: Stage): Promise<string[]> {
  const command = step.command.replace(/\$([A-Z]+)/g, (whole, name: string) => stage.variables[name] ?? whole);
  if (step.beside !== undefined) return playBeside(step, command, stage);
  const ran = await runOnce(step, command, stage.kubectl);
  if (step.scene !== true) return [written(step, ran, stage.names)];
  if (ran.code !== 0) throw new Error(`kubectl ${command}: ${ran.stderr}`);
  return [];
}

async function runOnce(step: Step, command: string, kubectl: Kubectl): Promise<Ran> {
  for (let attempt = 0; ; attempt += 1) {
    const ran = await kubectl.run(command, step.stdin);
    if (step.retry === undefined || step.retry.test(ran.stdout + ran.stderr) || attempt > 60) return ran;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function playBeside(step: Step, command: string, stage: Stage): Promise<string[]> {
  const { steps = [], from, until } = step.beside ?? {};
  const running = stage.kubectl.start(command, step.stdin);
  if (from !== undefined) await running.printed(from);
  const parts: string[] = [];
  for (const inner of steps) parts.push(...(await playStep(inner, stage)));
  if (until !== undefined) {
    await running.printed(until);
    running.kill();
  }
  return [...parts, written(step, await running.ended, stage.names)];
}

function written(step: Step, { stdout, stderr, code }: Ran, names: Names): string {
  const shown = (text: string): string => {
    let lines = normalForm(text, names).split('\n');
    if (step.lines !== undefined) lines = lines.filter((line) => step.lines?.test(line) ?? true);
    if (step.sorted === true) lines.sort();
    // How often a state is told again is chance too.
    if (step.beside?.until !== undefined) lines = lines.filter((line, at) => line !== lines[at - 1]);
    return lines.join('\n').trimEnd();
  };
  const out = shown(stdout);
  const err = shown(stderr);
  const exit = code === 'SIGKILL' ? 'still running' : `exit ${code}`;
  return [
    `$ kubectl ${step.command}`,
    ...(out ? [out] : []),
    ...(err ? [`[stderr] ${err}`] : []),
    `[${exit}]`,
    '',
  ].join('\n');
}
