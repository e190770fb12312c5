/**
 * Taking up the builds of this owner that an earlier worker left: from what their pods say of themselves, without a
 * database. A step that was asked for is not asked for again; one that runs is awaited; one that ended has its verdict
 * from the pod's status, as if it had been seen.
 *
 * What a pod cannot tell is lost with the worker that knew it: that a caller had canceled, and causes that only Events
 * told which the cluster has dropped since.
 */
import { isPodwrightError } from '../errors.ts';
import { requestRecord } from '../pod/image-patch.ts';
import { labels, labelValue } from '../pod/labels.ts';
import { isNewer } from '../pod/observe-pod.ts';
import type { BuildPlan } from '../pod/plan.ts';
import { type RecoveryPlan, readRecoveryPlan } from '../pod/recovery.ts';
import type { PlaceholderOption } from '../pod/start-strategy.ts';
import { trimEvent, trimPod } from '../pod/trim.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import { resumeAssembly } from './assemble.ts';
import type { Build } from './contract.ts';
import type { Core } from './core.ts';
import type { RequestedBefore } from './feed.ts';
import { look } from './look.ts';
import type { BuildRecord } from './record.ts';
import { podEvents } from './watches.ts';

export interface Adoption {
  readonly isKnown: (podName: string) => boolean;
  readonly register: (parts: { readonly plan: BuildPlan; readonly placeholder: PlaceholderOption }) => BuildRecord;
  readonly signal?: AbortSignal;
}

/**
 * Asks the server itself: what the watch has may be older than the crash. What the watch had told before the answer came
 * it tells nobody again, so where it is newer it counts. A pod that cannot be read is logged.
 */
export async function adoptBuilds(core: Core, adoption: Adoption): Promise<readonly Build[]> {
  const { signal } = adoption;
  const path = { resource: 'pods', namespace: core.namespace };
  const list = await core.client.list<Pod>(path, {
    labelSelector: `${labels.owner}=${labelValue(core.owner)}`,
    ...(signal === undefined ? {} : { signal }),
  });
  const adopted: BuildRecord[] = [];
  const unseen: BuildRecord[] = [];
  for (const pod of list.items.map(trimPod)) {
    if (adoption.isKnown(pod.metadata.name)) continue;
    const watched = core.watches.pod(pod.metadata.name);
    const isWatched = watched?.metadata.uid === pod.metadata.uid;
    const record = adopt(core, adoption, isWatched ? newest(pod, watched) : pod);
    if (record === undefined) continue;
    adopted.push(record);
    // Still to be told by the watch, or gone and told already.
    if (!isWatched) unseen.push(record);
  }
  await Promise.all(unseen.map((record) => look(core, record)));
  if (adopted.length > 0) await tellEvents(core, adopted, signal);
  return adopted.map(({ handle }) => handle);
}

function newest(listed: Pod, watched: Pod): Pod {
  return isNewer(watched.metadata.resourceVersion, listed.metadata.resourceVersion) ? watched : listed;
}

/** What was told before: the watch keeps no Events. Without the right to them, or without an answer, it goes on. */
async function tellEvents(core: Core, records: readonly BuildRecord[], signal: AbortSignal | undefined): Promise<void> {
  const byPod = new Map(records.map((record) => [record.handle.podName, record]));
  try {
    const events = await core.client.list<KubeEvent>(
      { resource: 'events', namespace: core.namespace },
      { fieldSelector: podEvents, ...(signal === undefined ? {} : { signal }) },
    );
    for (const event of events.items) byPod.get(event.involvedObject.name ?? '')?.onEvent(trimEvent(event));
  } catch (error) {
    signal?.throwIfAborted();
    core.logger.info('the Events of adopted builds could not be read', { error: String(error) });
  }
}

function adopt(core: Core, adoption: Adoption, pod: Pod): BuildRecord | undefined {
  let recovered: RecoveryPlan;
  try {
    recovered = readRecoveryPlan(pod);
  } catch (error) {
    if (!isPodwrightError(error, 'ERR_PODWRIGHT_POD_INVALID')) throw error;
    core.logger.info('a pod of this owner cannot be adopted', { pod: pod.metadata.name, error: error.message });
    return undefined;
  }
  const plan = planOf(recovered, pod);
  const record = adoption.register({ plan, placeholder: recovered.placeholder });
  record.createSent = { assembly: pod.metadata.labels?.[labels.assembly] ?? '' };
  record.unowned = recovered.attachments ?? [];
  core.watches.attach(record.handle.podName, record);
  record.onRelease(() => core.watches.detach(record.handle.podName, record));
  resumeAssembly(core, record, pod, requestsOn(record, pod));
  return record;
}

/** The spec that the pod was made from, as far as it is needed from now on. */
function planOf(recovered: RecoveryPlan, pod: Pod): BuildPlan {
  const { owner, buildId, placeholder, timeouts } = recovered;
  const containers = recovered.containers.map(({ name, containerName, image, role, detach, timeouts: own }, index) => ({
    name,
    containerName,
    index,
    request: {
      name,
      image,
      role,
      ...(detach === undefined ? {} : { detach }),
      ...(own === undefined ? {} : { timeouts: own }),
    },
  }));
  return {
    spec: { id: buildId, containers: containers.map(({ request }) => request), timeouts },
    owner,
    namespace: pod.metadata.namespace,
    podName: pod.metadata.name,
    placeholder,
    containers,
  };
}

/** The pod's spec says which steps were asked for, an annotation when and on which placeholder. */
function requestsOn(record: BuildRecord, pod: Pod): readonly RequestedBefore[] {
  return record.plan.containers.flatMap((container) => {
    if (!record.strategy.isOpened(pod, container)) return [];
    const { containerName, request } = container;
    const left = requestRecord(pod, containerName);
    const at = left === undefined ? Number.NaN : Date.parse(left.at);
    return [
      {
        container: containerName,
        image: request.image,
        at: Number.isNaN(at) ? null : at,
        placeholder: left?.placeholder ?? null,
      },
    ];
  });
}
