/** Checks the invariants of the machines between every two snapshots of every actor, through xstate's inspection. */
import type { AnyActorRef, InspectionEvent, SnapshotFrom } from 'xstate';
import type { buildMachine } from '../../machines/build.ts';
import type { containerMachine } from '../../machines/container.ts';
import { brokenBuildRules, brokenContainerRules, brokenPodRules } from '../../machines/invariants.ts';
import type { podMachine } from '../../machines/pod.ts';

export interface InvariantWatch {
  readonly inspect: (event: InspectionEvent) => void;
  /** Rule and actor of each breach so far. */
  readonly breaches: readonly string[];
  readonly checked: number;
}

export function watchInvariants(): InvariantWatch {
  const last = new Map<AnyActorRef, unknown>();
  const breaches: string[] = [];
  let checked = 0;
  const inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.snapshot') return;
    const ref = event.actorRef as AnyActorRef;
    const previous = last.get(ref);
    last.set(ref, event.snapshot);
    if (previous === undefined) return;
    checked++;
    for (const rule of brokenRules(ref, previous, event.snapshot)) breaches.push(`${ref.id}: ${rule}`);
  };
  return {
    inspect,
    breaches,
    get checked() {
      return checked;
    },
  };
}

function brokenRules(ref: AnyActorRef, previous: unknown, next: unknown): readonly string[] {
  const { id } = (next as { machine?: { id?: string } }).machine ?? {};
  switch (id ?? '') {
    case 'container': {
      type Snapshot = SnapshotFrom<typeof containerMachine>;
      return brokenContainerRules(previous as Snapshot, next as Snapshot);
    }
    case 'pod': {
      type Snapshot = SnapshotFrom<typeof podMachine>;
      return brokenPodRules(previous as Snapshot, next as Snapshot);
    }
    case 'build': {
      type Snapshot = SnapshotFrom<typeof buildMachine>;
      return brokenBuildRules(previous as Snapshot, next as Snapshot);
    }
    default:
      throw new Error(`an actor ${ref.id} of an unknown machine`);
  }
}
