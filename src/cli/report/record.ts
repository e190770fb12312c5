/** What a build said and did, kept for reports. Logs are bounded: the first and last lines of a very long one stay. */
import type { BuildPrepared, ExecutorEvent } from '../../executor/events.ts';
import type { BuildResult } from '../../executor/result.ts';
import type { Reporter, SetupFacts } from '../output/reporter.ts';
import { gapText } from '../output/words.ts';

export interface BuildRecord {
  readonly setup: SetupFacts | undefined;
  readonly prepared: BuildPrepared | undefined;
  readonly result: BuildResult;
  /** By the step's key, see `stepKey`. */
  readonly logs: ReadonlyMap<string, readonly string[]>;
  /** Kubernetes Events of the pod, in order. */
  readonly events: readonly RecordedEvent[];
}

export interface RecordedEvent {
  readonly at: number;
  readonly reason: string;
  readonly message: string;
  readonly isWarning: boolean;
  readonly container: string | null;
}

/** Of a log; one that is longer loses lines of its middle. */
export const keptLines = 10_000;
const keptEvents = 2_000;

export function stepKey(step: {
  readonly kind: string;
  readonly stage: string;
  readonly name: string;
  readonly number: number;
}): string {
  return `${step.kind}/${step.stage}/${step.name}/${step.number}`;
}

export class RecordingReporter implements Reporter {
  readonly #logs = new Map<string, LogBuffer>();
  readonly #events: RecordedEvent[] = [];
  #setup: SetupFacts | undefined;
  #prepared: BuildPrepared | undefined;
  #result: BuildResult | undefined;

  /** Undefined when there was no build. */
  get record(): BuildRecord | undefined {
    if (this.#result === undefined) return undefined;
    const logs = new Map([...this.#logs].map(([key, buffer]) => [key, buffer.lines()] as const));
    return { setup: this.#setup, prepared: this.#prepared, result: this.#result, logs, events: this.#events };
  }

  begin(setup: SetupFacts): void {
    this.#setup = setup;
  }

  notice(): void {
    // Words for the person at the terminal.
  }

  close(): void {
    // Nothing is open.
  }

  event(event: ExecutorEvent): void {
    switch (event.type) {
      case 'build.prepared':
        this.#prepared = event;
        return;
      case 'build.retried':
        // The reports are about the run that counts.
        this.#logs.clear();
        this.#events.length = 0;
        return;
      case 'build.settled':
        this.#result = event.result;
        return;
      case 'kube.event': {
        const { at, reason, message, severity, container } = event;
        if (this.#events.length < keptEvents) {
          this.#events.push({ at, reason, message, isWarning: severity === 'Warning', container });
        }
        return;
      }
      case 'step.log': {
        const key = stepKey(event.step);
        const buffer = this.#logs.get(key) ?? new LogBuffer();
        this.#logs.set(key, buffer);
        buffer.push(event.gap === null ? event.line : gapText(event.gap));
        return;
      }
      case 'build.assembled':
      case 'build.removed':
      case 'step.started':
      case 'step.state':
      case 'step.skipped':
      case 'step.settled':
      case 'service.ready':
      case 'health':
    }
  }
}

class LogBuffer {
  readonly #first: string[] = [];
  #last: string[] = [];
  #dropped = 0;

  push(line: string): void {
    if (this.#first.length < keptLines / 2) {
      this.#first.push(line);
      return;
    }
    this.#last.push(line);
    // Cut now and then, not at every line.
    if (this.#last.length < keptLines) return;
    this.#dropped += keptLines / 2;
    this.#last = this.#last.slice(keptLines / 2);
  }

  lines(): readonly string[] {
    const gap = this.#dropped === 0 ? [] : [`… ${this.#dropped} lines are left out here`];
    return [...this.#first, ...gap, ...this.#last];
  }
}
