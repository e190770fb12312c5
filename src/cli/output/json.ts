/**
 * For programs: one JSON object a line. The last one is `build.settled`, also when there was no build because of an
 * error. Fields are added over time, none changes its meaning.
 */
import type { PodwrightError } from '../../errors.ts';
import type { ExecutorEvent, StepRef } from '../../executor/events.ts';
import { problemsOf } from '../../executor/problems.ts';
import type { BuildResult, StepResult } from '../../executor/result.ts';
import { isInterrupted } from '../interrupt.ts';
import type { Terminal } from '../terminal.ts';
import type { Reporter, SetupFacts } from './reporter.ts';

export class JsonReporter implements Reporter {
  readonly #terminal: Terminal;
  #isClosed = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  begin(setup: SetupFacts): void {
    this.#write({ type: 'build.setup', ...setup });
  }

  notice(text: string): void {
    this.#write({ type: 'notice', text });
  }

  event(event: ExecutorEvent): void {
    if (event.type === 'build.settled') {
      const { type, at, result } = event;
      this.#write({ type, time: timeText(at), ...buildJson(result) });
      return;
    }
    if (event.type === 'step.settled') {
      const { type, at, step, result } = event;
      this.#write({ type, time: timeText(at), ...refJson(step), ...stepJson(result) });
      return;
    }
    const { type, at, ...rest } = event;
    if (!('step' in rest)) this.#write({ type, time: timeText(at), ...rest });
    else {
      const { step, ...own } = rest;
      this.#write({ type, time: timeText(at), ...refJson(step), ...own });
    }
  }

  /** For an error before there was a build. */
  fail(error: PodwrightError, at: number): void {
    const problems = problemsOf(error);
    this.#write({
      type: 'build.settled',
      time: timeText(at),
      outcome: isInterrupted(error) ? 'canceled' : 'error',
      error: errorJson(error),
      ...(problems.length === 0 ? {} : { problems }),
      steps: [],
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  #write(value: object): void {
    if (!this.#isClosed) this.#terminal.out(`${JSON.stringify(value)}\n`);
  }
}

/** The whole result, as `build.settled` has it. */
export function buildJson(result: BuildResult): object {
  return {
    outcome: result.outcome,
    build: result.id,
    timedOut: result.timedOut,
    retries: result.retries,
    durationMs: result.endedAt - result.startedAt,
    error: result.error === null ? null : errorJson(result.error),
    removal: result.removal,
    steps: result.steps.map((step) => ({
      kind: step.kind,
      name: step.name,
      stage: step.stage,
      number: step.number,
      ...stepJson(step),
    })),
  };
}

function refJson({ kind, name, stage, number }: StepRef): object {
  return { kind, step: name, stage, number };
}

function stepJson(step: StepResult): object {
  const { outcome } = step;
  return {
    status: step.status,
    reason: step.reason,
    image: step.image,
    continues: step.continues,
    outcome: outcome?.outcome ?? null,
    exitCode: outcome?.outcome === 'terminated' ? outcome.exitCode : null,
    cause: outcome?.outcome === 'terminated' ? outcome.cause : null,
    ...(outcome === null ? {} : { verdict: outcome }),
    startedAt: step.startedAt === null ? null : timeText(step.startedAt),
    endedAt: step.endedAt === null ? null : timeText(step.endedAt),
  };
}

function errorJson(error: PodwrightError): object {
  // Problems have a field of their own.
  const message = problemsOf(error).length === 0 ? error.message : (error.message.split(':\n', 1)[0] ?? '');
  return { code: error.code, message, remedy: error.remedy ?? null };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
