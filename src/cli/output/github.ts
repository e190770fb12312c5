/**
 * For GitHub Actions: the log of each step in a group that can be opened, failures as annotations.
 *
 * What a step prints is fenced: a line of its log is never taken for a command of the workflow.
 */
import { randomUUID } from 'node:crypto';
import type { ExecutorEvent, StepRef } from '../../executor/events.ts';
import type { StepResult } from '../../executor/result.ts';
import type { Terminal } from '../terminal.ts';
import { PlainReporter } from './plain.ts';
import type { Reporter, SetupFacts } from './reporter.ts';
import { stepName } from './summary.ts';
import { explainOutcome, gapText, statusText } from './words.ts';

export class GithubReporter implements Reporter {
  readonly #terminal: Terminal;
  readonly #lines: PlainReporter;
  /** Steps run at the same time; a group cannot. */
  readonly #logs = new Map<string, string[]>();
  #isClosed = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#lines = new PlainReporter(terminal, { logs: 'none' });
  }

  begin(setup: SetupFacts): void {
    this.#lines.begin(setup);
  }

  notice(text: string): void {
    this.#lines.notice(text);
  }

  event(event: ExecutorEvent): void {
    if (event.type === 'step.log') {
      const lines = this.#logs.get(event.step.container) ?? [];
      lines.push(event.gap === null ? event.line : gapText(event.gap));
      this.#logs.set(event.step.container, lines);
    }
    if (event.type === 'build.retried') this.#logs.clear();
    if (event.type === 'step.settled') this.#group(event.step, event.result);
    this.#lines.event(event);
  }

  close(): void {
    this.#isClosed = true;
    this.#lines.close();
  }

  #group(step: StepRef, result: StepResult): void {
    if (this.#isClosed) return;
    const token = randomUUID();
    const lines = [
      `::group::${escapeData(`${stepName(step)}: ${statusText(result)}`)}`,
      `::stop-commands::${token}`,
      ...(this.#logs.get(step.container) ?? []),
      `::${token}::`,
      '::endgroup::',
    ];
    const isBad = result.status === 'failed' || result.status === 'error';
    if (isBad && result.outcome !== null) {
      const { what, said } = explainOutcome(result.outcome);
      const level = result.continues ? 'warning' : 'error';
      const text = said === null ? what : `${what}: ${said}`;
      lines.push(`::${level} title=${escapeProperty(stepName(step))}::${escapeData(text)}`);
    }
    this.#terminal.out(`${lines.join('\n')}\n`);
    this.#logs.delete(step.container);
  }
}

/** As the runner reads commands: github.com/actions/toolkit, docs/commands.md. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
