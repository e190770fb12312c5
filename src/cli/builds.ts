/** The builds that a cluster has, as their pods tell them, whoever runs them. */
import { isPodwrightError, PodwrightError } from '../errors.ts';
import type { KubeClient } from '../kube/client.ts';
import { labels, managedBy } from '../pod/labels.ts';
import { type RecoveryPlan, readRecoveryPlan } from '../pod/recovery.ts';
import type { Pod } from '../pod/types.ts';

export interface ClusterBuild {
  readonly id: string;
  readonly owner: string;
  readonly pod: Pod;
  readonly plan: RecoveryPlan;
}

/** Oldest first, those of one second by name. Pods whose plan cannot be read are not builds that this version knows. */
export async function listBuilds(client: KubeClient, namespace: string): Promise<readonly ClusterBuild[]> {
  const { items } = await client.list<Pod>(
    { resource: 'pods', namespace },
    { labelSelector: `${labels.managedBy}=${managedBy}` },
  );
  const created = (build: ClusterBuild): string => build.pod.metadata.creationTimestamp ?? '';
  return items
    .flatMap(readBuild)
    .toSorted((left, right) => compare(created(left), created(right)) || compare(left.id, right.id));
}

/** By the build's id or the pod's name. Throws `ERR_PODWRIGHT_NOT_FOUND` with the builds that there are. */
export async function findBuild(client: KubeClient, namespace: string, name: string): Promise<ClusterBuild> {
  const builds = await listBuilds(client, namespace);
  const found = builds.find((build) => build.id === name || build.pod.metadata.name === name);
  if (found !== undefined) return found;
  const known = builds.map((build) => build.id).join(', ');
  throw new PodwrightError('ERR_PODWRIGHT_NOT_FOUND', `there is no build "${name}" in the namespace "${namespace}"`, {
    remedy: known === '' ? 'It has none at all; look into another one with --namespace.' : `There are: ${known}.`,
  });
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function readBuild(pod: Pod): readonly ClusterBuild[] {
  try {
    const plan = readRecoveryPlan(pod);
    return [{ id: plan.buildId, owner: plan.owner, pod, plan }];
  } catch (error) {
    if (isPodwrightError(error)) return [];
    throw error;
  }
}

/** Milliseconds since the pod was created, by the server's clock against ours. */
export function ageMs(build: ClusterBuild, now: number): number {
  const created = build.pod.metadata.creationTimestamp;
  return created === undefined ? 0 : Math.max(0, now - Date.parse(created));
}

/** Columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length);
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}
