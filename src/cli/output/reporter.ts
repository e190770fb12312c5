/** What shows a build while it runs. */
import type { ExecutorEvent } from '../../executor/events.ts';

export interface Reporter {
  /** Facts about the set-up that the executor does not know. Called once, before the first event. */
  begin(setup: SetupFacts): void;
  event(event: ExecutorEvent): void;
  /** A line for the person, between events. */
  notice(text: string): void;
  /** Leaves the terminal as it was. Idempotent; nothing is shown after it. */
  close(): void;
}

export interface SetupFacts {
  readonly version: string;
  /** Where it runs, for people: `embedded cluster`, or the server's URL. */
  readonly cluster: string;
  /** On the embedded cluster steps are local processes: what a placeholder cannot do is of no consequence. */
  readonly isEmbedded: boolean;
  /** Such as `v1.36.3`. */
  readonly kubernetes: string;
  readonly namespace: string;
  readonly placeholder: { readonly image: string; readonly restartOn: number };
  readonly warnings: readonly string[];
  readonly file: string;
}
