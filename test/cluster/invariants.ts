/** What holds in every stream of pod frames of a real cluster (the e2e pod verifier's rules, kubernetes.md §10.3). */

interface State {
  running?: object;
  terminated?: { startedAt: string | null; finishedAt: string | null };
}

interface Status {
  name: string;
  state: State;
  restartCount: number;
  containerID?: string;
}

interface PodFrame {
  readonly type: string;
  readonly object: {
    readonly metadata: {
      readonly uid: string;
      readonly name: string;
      readonly resourceVersion: string;
      readonly deletionTimestamp?: string;
      readonly deletionGracePeriodSeconds?: number;
    };
    readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly name: string }[] };
    readonly status: { readonly phase: string; readonly containerStatuses?: readonly Status[] };
  };
}

const isOver = (phase: string): boolean => phase === 'Succeeded' || phase === 'Failed';

/** What is broken, in words; empty when all holds. */
export function brokenInvariants(frames: readonly PodFrame[]): readonly string[] {
  const broken: string[] = [];
  const last = new Map<string, PodFrame['object']>();
  for (const { type, object } of frames) {
    const { uid, name, resourceVersion } = object.metadata;
    const before = last.get(uid);
    const complain = (what: string): void => void broken.push(`${name} at ${resourceVersion}: ${what}`);
    if (before !== undefined) compare(before, object, complain);
    for (const { name: container, state } of object.status.containerStatuses ?? []) {
      const { startedAt, finishedAt } = state.terminated ?? {};
      if (startedAt && finishedAt && startedAt > finishedAt) complain(`${container} ended before it started`);
    }
    if (type === 'DELETED' && before !== undefined && !wasForced(before)) {
      const running = object.status.containerStatuses?.some(({ state }) => state.running !== undefined);
      if (running === true) complain('gone with a container that runs');
    }
    last.set(uid, object);
  }
  return broken;
}

function compare(before: PodFrame['object'], after: PodFrame['object'], complain: (what: string) => void): void {
  if (Number(after.metadata.resourceVersion) <= Number(before.metadata.resourceVersion)) complain('went back in time');
  if (isOver(before.status.phase) && after.status.phase !== before.status.phase) complain('left a terminal phase');
  const old = before.status.containerStatuses;
  const statuses = after.status.containerStatuses;
  if (old !== undefined && statuses?.length !== after.spec.containers.length) complain('lost a container status');
  const names = (statuses ?? []).map(({ name }) => name);
  if (names.join() !== [...names].sort().join()) complain('statuses are not sorted by name');
  for (const status of statuses ?? []) {
    const known = old?.find(({ name }) => name === status.name);
    if (known === undefined) continue;
    if (status.restartCount < known.restartCount) complain(`${status.name} lost restarts`);
    const sameTry = known.containerID === status.containerID && known.restartCount === status.restartCount;
    if (known.state.terminated && status.state.running && sameTry) complain(`${status.name} came back to life`);
  }
}

/** Deleted with grace 0 while it ran: nobody waited for its containers. */
function wasForced({ metadata, status }: PodFrame['object']): boolean {
  return metadata.deletionGracePeriodSeconds === 0 && !isOver(status.phase);
}
