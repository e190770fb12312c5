/** What callers see of a build's actors: copies of a moment, nothing in them changes later. */
import type { SnapshotFrom } from 'xstate';
import type { containerMachine } from '../../machines/container.ts';
import type { Outcome } from '../../machines/outcome.ts';
import type { ContainerState, PodState } from '../../machines/states.ts';
import type { PodFacts } from '../pod/facts.ts';
import { identify } from '../pod/identity.ts';

export type { BuildState, ContainerState, PodState } from '../../machines/states.ts';

export interface ContainerSnapshotView {
  readonly name: string;
  readonly state: ContainerState;
  /** Whether the step was asked to run. */
  readonly requested: boolean;
  /** The runtime's clock at the moment it was asked. */
  readonly requestedAt: number | null;
  readonly outcome: Outcome | null;
  /** Of the step's own container, once it is known; never of the placeholder. */
  readonly containerID: string | null;
  readonly restartCount: number | null;
  /** The kubelet's reason while the container waits, and its words. */
  readonly waiting: { readonly reason: string; readonly message: string | null } | null;
  /** Whether its placeholder is known to wait: the container may be switched. */
  readonly placeholderRunning: boolean;
}

export interface PodSnapshotView {
  readonly state: PodState;
  readonly uid: string | null;
  readonly node: string | null;
  readonly phase: string | null;
  readonly cause: string | null;
  readonly message: string | null;
}

export function viewContainer(
  name: string,
  { value, context }: SnapshotFrom<typeof containerMachine>,
  facts: PodFacts,
): ContainerSnapshotView {
  const known = facts.containers.get(name);
  const status = facts.pod?.status?.containerStatuses?.find((candidate) => candidate.name === name);
  const waiting = status?.state?.waiting;
  const identity =
    known === undefined || status === undefined || facts.pod === null
      ? 'none'
      : identify(facts, known, status, facts.pod);
  return {
    name,
    state: value,
    requested: context.requestedAt !== null,
    requestedAt: context.requestedAt,
    outcome: context.outcome,
    containerID: known?.ownIDs[0] ?? null,
    restartCount: status?.restartCount ?? null,
    waiting: waiting?.reason ? { reason: waiting.reason, message: waiting.message ?? null } : null,
    placeholderRunning: identity === 'placeholder' && status?.state?.running !== undefined,
  };
}
