/**
 * Removing: what has no verdict is canceled, the pod is deleted with its uid given, its end awaited, then forced; what
 * stays is told. A create that is under way is waited for, so that it leaves nothing behind.
 */
import { PodwrightError } from '../errors.ts';
import { defaultTimeouts } from '../pod/build-spec.ts';
import { labels } from '../pod/labels.ts';
import { deleteAttachments } from './attach.ts';
import type { RemovalReport, RemoveOptions } from './contract.ts';
import type { Core } from './core.ts';
import { mayHaveWorked } from './create-pod.ts';
import { readPod } from './look.ts';
import { type BuildRecord, stopped } from './record.ts';
import { onAbort } from './signals.ts';
import { untilOr } from './until-or.ts';

/** After a delete with grace 0 the API server drops the object at once, unless a finalizer holds it. */
const longestForcedMs = 10_000;
/** Between deletes that were not answered; doubled each time. */
const firstPauseMs = 500;
const longestPauseMs = 8_000;

/**
 * The first call's removal is everybody's, whatever becomes of that call; a report that something stays lets the next
 * call try again. An abort ends the call and not the removal.
 */
export async function removeBuild(core: Core, record: BuildRecord, options: RemoveOptions): Promise<RemovalReport> {
  const { signal } = options;
  if (record.removal === undefined) {
    const removal = remove(core, record, options);
    record.removal = removal;
    const again = (): void => {
      if (record.removal === removal) record.removal = undefined;
    };
    removal.then((report) => {
      if (!report.gone) again();
    }, again);
  }
  if (signal === undefined) return await record.removal;
  return await orAborted(record, record.removal, signal);
}

async function orAborted(
  record: BuildRecord,
  removal: Promise<RemovalReport>,
  signal: AbortSignal,
): Promise<RemovalReport> {
  let end = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    end = onAbort(signal, () => reject(stopped(record.handle, 'is still being removed', signal.reason)));
  });
  try {
    return await Promise.race([removal, aborted]);
  } finally {
    end();
  }
}

async function remove(core: Core, record: BuildRecord, options: RemoveOptions): Promise<RemovalReport> {
  const wasAssembling = record.assembly;
  record.stage = 'removing';
  record.cancel('caller');
  if (wasAssembling !== undefined) await wasAssembling.catch(() => undefined);
  const report = record.createSent !== undefined ? await deletePod(core, record, options) : nothingToRemove;
  const remaining = [...report.remaining, ...(await deleteAttachments(core, record))];
  if (remaining.length === 0) record.removed();
  return { ...report, gone: remaining.length === 0, remaining };
}

const nothingToRemove: RemovalReport = { gone: true, forced: false, remaining: [] };

/** Deletes the build's pod and waits until it is gone. */
export async function deletePod(
  core: Core,
  record: BuildRecord,
  options: Pick<RemoveOptions, 'gracePeriodSeconds'>,
): Promise<RemovalReport> {
  let uid: string | undefined;
  try {
    uid = record.uid ?? (await findUid(core, record));
  } catch (error) {
    return { gone: false, forced: false, remaining: [`${nameOf(core, record)}: ${messageOf(error)}`] };
  }
  if (uid === undefined || record.gone) return nothingToRemove;
  const { removeMs } = record.timeouts;
  const forcedMs = removeMs > 0 ? Math.min(removeMs, longestForcedMs) : longestForcedMs;
  const grace = options.gracePeriodSeconds ?? record.spec.pod?.terminationGracePeriodSeconds;
  const first = await sendUntilAnswered(core, record, uid, grace);
  if (first.gone) return nothingToRemove;
  if (first.error === undefined && (await isGone(core, record, uid, removeMs))) return nothingToRemove;
  core.logger.info('the pod is still there and its removal is forced', { build: record.handle.id, uid });
  const second = await sendDelete(core, record, uid, 0);
  if (second.gone || (second.error === undefined && (await isGone(core, record, uid, forcedMs)))) {
    return { gone: true, forced: true, remaining: [] };
  }
  return { gone: false, forced: true, remaining: [await describeLeftover(core, record, second.error)] };
}

/** The create was sent and its answer never seen: whether there is a pod of ours. */
async function findUid(core: Core, record: BuildRecord): Promise<string | undefined> {
  const pod = await readPod(core, record.handle.podName);
  const isOurs = pod?.metadata.labels?.[labels.assembly] === record.createSent?.assembly;
  return isOurs ? pod?.metadata.uid : undefined;
}

interface Sent {
  readonly gone: boolean;
  readonly error?: PodwrightError;
}

/** A server that cannot be reached is no reason to take the containers' grace from them. */
async function sendUntilAnswered(
  core: Core,
  record: BuildRecord,
  uid: string,
  grace: number | undefined,
): Promise<Sent> {
  const { removeMs } = record.timeouts;
  const giveUpAt = core.clock.now() + (removeMs > 0 ? removeMs : defaultTimeouts.removeMs);
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    const sent = await sendDelete(core, record, uid, grace);
    if (sent.error === undefined || !mayHaveWorked(sent.error)) return sent;
    if (core.clock.now() + pauseMs > giveUpAt) return sent;
    await untilOr(core.clock, record.waiters, () => (record.gone ? true : undefined), pauseMs);
  }
}

async function sendDelete(core: Core, record: BuildRecord, uid: string, grace: number | undefined): Promise<Sent> {
  const path = { resource: 'pods', namespace: core.namespace, name: record.handle.podName };
  try {
    await core.client.delete(path, {
      uid,
      ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
    });
    return { gone: false };
  } catch (error) {
    if (!(error instanceof PodwrightError)) throw error;
    // 409: the name belongs to a later pod by now.
    const gone = error.code === 'ERR_PODWRIGHT_NOT_FOUND' || error.code === 'ERR_PODWRIGHT_CONFLICT';
    if (gone) tellGone(record);
    else core.logger.info('the pod could not be deleted', { build: record.handle.id, error: error.message });
    return { gone, error };
  }
}

/** Waits for the watch to tell it; asks the server itself when the time is over. */
async function isGone(core: Core, record: BuildRecord, uid: string, limitMs: number): Promise<boolean> {
  if (record.uid !== undefined) {
    const told = await untilOr(core.clock, record.waiters, () => (record.gone ? true : undefined), limitMs);
    if (told === true) return true;
  }
  try {
    const pod = await readPod(core, record.handle.podName);
    if (pod !== undefined && pod.metadata.uid === uid) return false;
    tellGone(record);
    return true;
  } catch (error) {
    core.logger.info('whether the pod is gone could not be found out', { error: messageOf(error) });
    return false;
  }
}

/** The watch may never tell it any more. */
function tellGone(record: BuildRecord): void {
  if (record.pod !== undefined) record.observeGone(record.pod, false);
}

function nameOf(core: Core, record: BuildRecord): string {
  return `pod ${core.namespace}/${record.handle.podName}`;
}

async function describeLeftover(core: Core, record: BuildRecord, error: unknown): Promise<string> {
  const { namespace } = core;
  const name = record.handle.podName;
  const what = nameOf(core, record);
  if (error !== undefined) return `${what}: ${messageOf(error)}`;
  try {
    const { metadata } = await core.client.get<WithFinalizers>({ resource: 'pods', namespace, name });
    const finalizers = metadata.finalizers ?? [];
    if (finalizers.length > 0) return `${what}: held by the finalizers ${finalizers.join(', ')}`;
    return `${what}: still there after it was deleted with grace 0`;
  } catch (failure) {
    return `${what}: ${messageOf(failure)}`;
  }
}

interface WithFinalizers {
  readonly metadata: { readonly finalizers?: readonly string[] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
