/** For pipes and files: a line for each thing that happens, with the step's name before it; nothing is rewritten. */
import type { ClusterEvent, ExecutorEvent, HealthChanged, StepLog, StepRef, StepState } from '../../executor/events.ts';
import type { StepResult } from '../../executor/result.ts';
import type { Style, Terminal } from '../terminal.ts';
import { initLines } from './init-log.ts';
import type { Reporter, SetupFacts } from './reporter.ts';
import { stepName, summaryText } from './summary.ts';
import { durationText, gapText, pulledText, statusText } from './words.ts';

export type LogChoice = 'all' | 'failed' | 'none';

export interface PlainOptions {
  readonly logs: LogChoice;
  /** Whether each state of a step has a line. Default true. */
  readonly showStates?: boolean;
}

export class PlainReporter implements Reporter {
  readonly #terminal: Pick<Terminal, 'out' | 'style'>;
  readonly #logs: LogChoice;
  readonly #showStates: boolean;
  readonly #styles = new Map<string, Style>();
  /** Lines of steps whose ending decides whether they are shown. */
  readonly #held = new Map<string, string[]>();
  readonly #told = new Set<string>();
  #setup: SetupFacts | undefined;
  #isWell = true;
  #isClosed = false;

  constructor(terminal: Pick<Terminal, 'out' | 'style'>, options: PlainOptions) {
    this.#terminal = terminal;
    this.#logs = options.logs;
    this.#showStates = options.showStates ?? true;
  }

  begin(setup: SetupFacts): void {
    this.#setup = setup;
  }

  notice(text: string): void {
    this.#line(text);
  }

  close(): void {
    this.#isClosed = true;
  }

  event(event: ExecutorEvent): void {
    switch (event.type) {
      case 'build.prepared':
        if (this.#setup === undefined) return;
        for (const line of initLines(this.#setup, event, this.#terminal)) this.#line(line);
        return;
      case 'build.assembled': {
        const tried = event.retriesPulls === true ? ', failed pulls are tried again' : '';
        this.#line(`  pod waits on node ${event.node ?? 'unknown'}${tried}`);
        return;
      }
      case 'build.retried':
        this.#held.clear();
        this.#told.clear();
        this.#line(`Running again (${event.retry}): ${event.reason}`);
        return;
      case 'step.started':
        if (this.#showStates) this.#step(event.step, `starting ${event.image}`);
        return;
      case 'step.state':
        this.#state(event);
        return;
      case 'step.log':
        this.#log(event);
        return;
      case 'step.skipped':
        this.#step(event.step, `skipped: ${event.reason}`);
        return;
      case 'step.settled':
        this.#settled(event.step, event.result);
        return;
      case 'service.ready': {
        const time = durationText(event.afterMs);
        const late = `not ready after ${time} (${event.readiness}); the steps start all the same`;
        this.#step(event.step, event.isReady ? `ready after ${time}: ${event.readiness}` : late);
        return;
      }
      case 'kube.event':
        this.#clusterEvent(event);
        return;
      case 'health':
        this.#health(event);
        return;
      case 'build.removed':
        this.#line(event.report.gone ? '  pod removed' : '  pod not removed');
        return;
      case 'build.settled':
        this.#terminal.out(summaryText(event.result, this.#terminal));
    }
  }

  #state({ step, state, outcome }: StepState): void {
    if (!this.#showStates) return;
    if (state === 'running' && outcome?.outcome === 'running') this.#step(step, 'running');
    if (state === 'pulling') this.#step(step, 'pulling its image');
  }

  #settled(step: StepRef, result: StepResult): void {
    const { startedAt, endedAt, status } = result;
    if (this.#logs === 'failed' && (status === 'failed' || status === 'error')) this.#release(step);
    const time = startedAt === null || endedAt === null ? '' : ` after ${durationText(endedAt - startedAt)}`;
    this.#step(step, `${statusText(result)}${time}`);
  }

  /** Failures are told in the cluster's words, once; the rest is noise to a reader of a build. */
  #clusterEvent({ severity, container, reason, message }: ClusterEvent): void {
    const pulled = pulledText(reason, message);
    if (pulled !== undefined && container !== null && this.#showStates) this.#line(`[${container}] ${pulled}`);
    const key = `${container}: ${message}`;
    // "Error: ErrImagePull" only repeats the reason of the message before it; a probe that fails yet is no failure.
    if (severity !== 'Warning' || message.startsWith('Error: ') || reason === 'Unhealthy' || this.#told.has(key))
      return;
    this.#told.add(key);
    this.#line(container === null ? `  ${message}` : `[${container}] ${message}`);
  }

  /** Said when it gets bad, and when that is over. */
  #health({ pods, events }: HealthChanged): void {
    const isWell = pods === 'live' && (events === 'live' || events === 'degraded');
    if (isWell === this.#isWell) return;
    this.#isWell = isWell;
    const bad = `the cluster is not heard (pods ${pods}, events ${events}); verdicts wait for it`;
    this.#line(`  ${isWell ? 'the cluster is heard again' : bad}`);
  }

  #log({ step, line, gap }: StepLog): void {
    const text = gap === null ? line : gapText(gap);
    if (this.#logs === 'all') this.#step(step, text);
    if (this.#logs !== 'failed') return;
    const held = this.#held.get(step.container) ?? [];
    held.push(text);
    this.#held.set(step.container, held);
  }

  #release(step: StepRef): void {
    for (const line of this.#held.get(step.container) ?? []) this.#step(step, line);
    this.#held.delete(step.container);
  }

  #step(step: StepRef, text: string): void {
    this.#line(`${this.#terminal.style(this.#styleOf(step), `[${stepName(step)}]`)} ${text}`);
  }

  #styleOf(step: StepRef): Style {
    const known = this.#styles.get(step.container);
    if (known !== undefined) return known;
    const style = prefixStyles[this.#styles.size % prefixStyles.length] ?? 'cyan';
    this.#styles.set(step.container, style);
    return style;
  }

  #line(text: string): void {
    if (!this.#isClosed) this.#terminal.out(`${text}\n`);
  }
}

const prefixStyles: readonly Style[] = ['cyan', 'magenta', 'blue', 'yellow'];
