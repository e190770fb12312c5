/** What a cluster holds before anyone asks: its namespaces and the two priority classes of the system. */
import type { Clock } from '../clock.ts';
import type { Random } from './random.ts';
import type { RevisionStore } from './store/revisions.ts';
import { timestamp } from './times.ts';
import type { ObjectMeta } from './types.ts';

const systemClasses = [
  ['system-cluster-critical', 2_000_000_000, 'cluster'],
  ['system-node-critical', 2_000_001_000, 'system'],
] as const;

export interface BootstrapOptions {
  readonly store: RevisionStore;
  readonly random: Random;
  readonly clock: Clock;
  /** Besides those of every cluster. */
  readonly namespaces: readonly string[];
}

export function bootstrap({ store, random, clock, namespaces }: BootstrapOptions): void {
  const metadata = (name: string): ObjectMeta => ({
    name,
    uid: random.uuid(),
    resourceVersion: '',
    creationTimestamp: timestamp(clock.now()),
  });
  for (const name of ['default', 'kube-system', 'kube-public', ...namespaces]) {
    store.put('namespaces', name, {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { ...metadata(name), labels: { 'kubernetes.io/metadata.name': name } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  }
  for (const [name, value, what] of systemClasses) {
    store.put('priorityclasses.scheduling.k8s.io', name, {
      kind: 'PriorityClass',
      apiVersion: 'scheduling.k8s.io/v1',
      metadata: { ...metadata(name), generation: 1 },
      value,
      description:
        what === 'cluster'
          ? 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.'
          : 'Used for system critical pods that must not be moved from their current node.',
      preemptionPolicy: 'PreemptLowerPriority',
    });
  }
}
