/**
 * Asks for a step: waits until its container is known to wait for it, then sends the strategy's patch, once.
 *
 * Resolves when the request is on the cluster, or when the container runs or has its verdict: then nobody waits for the
 * answer. A patch whose answer was lost is looked up on the pod.
 */
import { PodwrightError } from '../errors.ts';
import { endingOf, isTerminal } from '../pod/ending.ts';
import type { PlannedContainer } from '../pod/plan.ts';
import type { WaitingContainer } from '../pod/start-strategy.ts';
import { trimPod } from '../pod/trim.ts';
import type { Pod } from '../pod/types.ts';
import type { Core } from './core.ts';
import { look, readPod } from './look.ts';
import type { BuildRecord } from './record.ts';

/** The first call's request is everybody's; after a failure the next call tries again. */
export async function openStep(core: Core, record: BuildRecord, container: PlannedContainer): Promise<void> {
  const leaving = new AbortController();
  const hasOutcome = (): true | undefined => (record.outcome(container) === null ? undefined : true);
  const decided = record.waiters.until(hasOutcome, leaving.signal);
  decided.catch(() => undefined);
  try {
    await Promise.race([opening(core, record, container), decided]);
  } finally {
    leaving.abort();
  }
}

function opening(core: Core, record: BuildRecord, container: PlannedContainer): Promise<void> {
  const { containerName } = container;
  const known = record.openings.get(containerName);
  if (known !== undefined) return known;
  const begun = open(core, record, container);
  record.openings.set(containerName, begun);
  begun.catch(() => {
    if (record.openings.get(containerName) === begun) record.openings.delete(containerName);
  });
  return begun;
}

/**
 * Resolves once the step has its verdict, or was asked for. One that nobody asked for, and that cannot begin any more
 * because its pod is lost, is judged as if it had been: whoever waits for it must not wait for ever.
 */
export async function untilDecidable(record: BuildRecord, container: PlannedContainer): Promise<void> {
  const { containerName } = container;
  const isLost = await record.waiters.until(() => {
    if (record.outcome(container) !== null || record.openings.has(containerName)) return false;
    return placeholderOf(record, containerName) === 'lost' ? true : undefined;
  });
  if (!isLost || record.openings.has(containerName)) return;
  record.openings.set(containerName, Promise.resolve());
  record.requested(container);
}

async function open(core: Core, record: BuildRecord, container: PlannedContainer): Promise<void> {
  const { containerName } = container;
  const look = (): Found | undefined =>
    record.outcome(container) === null ? placeholderOf(record, containerName) : 'decided';
  let found = await record.waiters.until(look);
  if (found === 'decided') return;
  record.requested(container);
  // Its limits run meanwhile.
  if (found === 'held') found = await record.waiters.until(() => notHeld(look()));
  if (found === 'decided') return;
  const { uid } = record;
  // Nothing can be switched any more; what became of the container is judged as of one that was asked for.
  if (found === 'lost' || uid === undefined) return;
  const patch = record.strategy.opening(uid, container, {
    at: new Date(core.clock.now()).toISOString(),
    placeholder: found.containerID,
    restartCount: found.restartCount,
  });
  const path = { resource: 'pods', namespace: core.namespace, name: record.handle.podName };
  record.asked.add(containerName);
  try {
    const pod = trimPod(await core.client.patch<Pod>(path, patch, { type: 'strategic' }));
    // Shows that the placeholder still ran, which the watch may skip.
    if (record.uid === uid) record.observe(pod);
  } catch (error) {
    if (!(await isAnswered(core, record, container, error))) throw error;
  }
}

type Found = Placeholder | 'decided';

/** `lost` for good; `held` while it may be taken back: the disruption of the pod, or an end after which it starts again. */
type Placeholder = WaitingContainer | 'held' | 'lost';

function notHeld(found: Found | undefined): Exclude<Found, 'held'> | undefined {
  return found === 'held' ? undefined : found;
}

function placeholderOf(record: BuildRecord, containerName: string): Placeholder | undefined {
  const { pod, gone, strategy } = record;
  if (gone) return 'lost';
  if (pod === undefined) return undefined;
  if (isTerminal(pod) || pod.metadata.deletionTimestamp !== undefined) return 'lost';
  if (endingOf(pod, null) !== null) return 'held';
  const status = pod.status?.containerStatuses?.find(({ name }) => name === containerName);
  const end = status?.state?.terminated;
  if (end === undefined) return strategy.waiting(pod, containerName);
  return record.retriesPulls === true && end.exitCode === record.plan.placeholder.restartOn ? 'held' : 'lost';
}

/** Whether the failed patch was done all the same, or can be done no more because the pod is another's or gone. */
async function isAnswered(
  core: Core,
  record: BuildRecord,
  container: PlannedContainer,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof PodwrightError)) return false;
  if (error.code === 'ERR_PODWRIGHT_NOT_FOUND' || error.code === 'ERR_PODWRIGHT_POD_INVALID') {
    // 422 is the answer for the uid of another pod, too.
    await look(core, record);
    return record.gone;
  }
  if (error.code !== 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE' && error.code !== 'ERR_PODWRIGHT_API') return false;
  try {
    const pod = await readPod(core, record.handle.podName);
    return pod?.metadata.uid === record.uid && pod !== undefined && record.strategy.isOpened(pod, container);
  } catch (failure) {
    core.logger.info('whether a step was asked for could not be found out', {
      build: record.handle.id,
      container: container.name,
      error: String(failure),
    });
    return false;
  }
}
