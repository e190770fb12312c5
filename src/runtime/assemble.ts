/**
 * Assembling: from a spec to a pod in which every container waits for its step.
 *
 * Its Secret and ConfigMaps come first and get the pod as their owner afterwards; the other way round the containers
 * would fail for want of them. What cannot start is told with its cause: rejected, lost, not scheduled, the placeholder
 * not to be had.
 */
import { randomUUID } from 'node:crypto';
import type { Phase } from '../../machines/outcome.ts';
import type { Timer } from '../clock.ts';
import { isPodwrightError, PodwrightError } from '../errors.ts';
import { attachmentsOf } from '../pod/attachments.ts';
import { buildPod } from '../pod/build-pod.ts';
import { placeholderImagesIn } from '../pod/image-patch.ts';
import { buildLabels } from '../pod/labels.ts';
import type { Pod } from '../pod/types.ts';
import type { StartFacts } from './actors.ts';
import { createAttachment, giveAttachmentsToPod } from './attach.ts';
import type { AssembleOptions } from './contract.ts';
import type { Core } from './core.ts';
import { createPod } from './create-pod.ts';
import type { RequestedBefore } from './feed.ts';
import { look } from './look.ts';
import { PlaceholderCheck, type PlaceholderTrouble } from './placeholder-trouble.ts';
import { type BuildRecord, stopped } from './record.ts';
import { deletePod } from './remove.ts';
import { untilOr } from './until-or.ts';

/** The first call's promise is everybody's. */
export function assembleBuild(core: Core, record: BuildRecord, options: AssembleOptions): Promise<void> {
  if (record.assembly !== undefined) return record.assembly;
  if (record.stage !== 'setup') return Promise.reject(record.wrongStage('assembled'));
  record.stage = 'assembling';
  record.assembly = track(record, assemble(core, record, options.retries ?? 0));
  return record.assembly;
}

/** Moves the build on when its assembly has ended, and keeps the failure for whoever asks later. */
export async function track(record: BuildRecord, assembly: Promise<void>): Promise<void> {
  try {
    await assembly;
  } catch (cause) {
    const error = record.canceled === undefined || isPodwrightError(cause) ? cause : canceledBefore(record, cause);
    record.assemblyFailure = { error };
    record.actors.failed(error);
    throw error;
  } finally {
    if (record.stage === 'assembling') record.stage = 'assembled';
    record.waiters.check();
  }
}

async function assemble(core: Core, record: BuildRecord, retries: number): Promise<void> {
  core.watches.attach(record.handle.podName, record);
  record.onRelease(() => core.watches.detach(record.handle.podName, record));
  for (let attempt = 0; ; attempt++) {
    try {
      await assembleOnce(core, record);
      return;
    } catch (error) {
      if (attempt >= retries || !isRetriable(error) || record.canceled !== undefined) throw error;
      core.logger.info('the pod was lost before anything ran and is made again', { build: record.handle.id, attempt });
      await deletePod(core, record, { gracePeriodSeconds: 0 });
      record.renew();
    }
  }
}

async function assembleOnce(core: Core, record: BuildRecord): Promise<void> {
  const { handle, plan } = record;
  record.actors.assembling();
  throwIfCanceled(record);
  const assembly = randomUUID();
  const labels = buildLabels(plan.owner, handle.id, assembly);
  for (const attachment of attachmentsOf(plan, labels)) {
    await createAttachment(core, record, attachment);
    throwIfCanceled(record);
  }
  record.createSent = { assembly };
  const pod = await createPod(core, buildPod(plan, record.strategy, assembly), record.ending);
  record.created(pod, startFacts(record, pod));
  await giveAttachmentsToPod(core, record, pod);
  await untilWaiting(core, record);
}

function startFacts(record: BuildRecord, pod: Pod): StartFacts {
  const { placeholder, containers } = record.plan;
  const waiting = containers.filter((container) => !record.strategy.isOpened(pod, container));
  const names = waiting.map(({ containerName }) => containerName);
  return {
    placeholderImages: placeholderImagesIn(pod, placeholder.image, names),
    sigtermCode: placeholder.restartOn ?? 0,
    retries: containers.every(({ containerName }) => record.strategy.keepsRules(pod, containerName)),
  };
}

/** Goes on with a build that an earlier worker was assembling, or had assembled and asked steps of. */
export function resumeAssembly(core: Core, record: BuildRecord, pod: Pod, requested: readonly RequestedBefore[]): void {
  record.stage = 'assembling';
  record.actors.assembling();
  record.created(pod, { ...startFacts(record, pod), requested });
  for (const container of record.plan.containers) {
    if (requested.some((request) => request.container === container.containerName)) record.requestedEarlier(container);
  }
  const resumed = async (): Promise<void> => {
    await giveAttachmentsToPod(core, record, pod);
    await untilWaiting(core, record);
  };
  record.assembly = track(record, resumed());
  // Whoever uses the build is told; nobody may.
  record.assembly.catch(() => undefined);
}

/** Waits until every container's placeholder runs, within the limits of the phases `schedule` and `start`. */
async function untilWaiting(core: Core, record: BuildRecord): Promise<void> {
  const { scheduleMs, startMs } = record.timeouts;
  const check = new PlaceholderCheck();
  const trouble = (): PlaceholderTrouble | undefined => check.look(record.pod, core.clock.now());
  const isOver = (): boolean => hasEnded(record) || trouble()?.isFinal === true;
  /** Until it is done or over, or has taken too long; and so it is still after a look past the watch. */
  const wait = async (isDone: () => boolean, limitMs: number): Promise<void> => {
    const endAt = core.clock.now() + limitMs;
    for (let leftMs = limitMs; ; leftMs = Math.max(0, endAt - core.clock.now())) {
      const done = await untilOr(core.clock, record.waiters, () => (isDone() || isOver() ? true : undefined), leftMs);
      if (isDone() || hasEnded(record)) return;
      await look(core, record);
      if (done === undefined || isDone() || isOver()) return;
    }
  };

  let phase: Phase = 'schedule';
  const endRechecks = recheck(core, record);
  try {
    await wait(() => isScheduled(record), scheduleMs);
    if (isScheduled(record) && !isOver()) {
      phase = 'start';
      await wait(() => isWaiting(record), startMs);
    }
  } finally {
    endRechecks();
  }
  throwIfCanceled(record);
  if (isWaiting(record) || hasBegun(record)) return;
  const found = trouble();
  if (hasEnded(record)) throw lost(record);
  if (found?.isFinal === true) throw noPlaceholder(record, found);
  throw overdueError(record, phase, found);
}

const recheckMs = 5_000;

/**
 * A trouble that nothing changes any more becomes final by time alone. And a pod that is deleted before any list or
 * watch has shown it, across a relist, is missed by both: while it is unseen, the server itself is asked.
 */
function recheck(core: Core, record: BuildRecord): () => void {
  let isLooking = false;
  const onTime = (): void => {
    timer = again();
    record.waiters.check();
    if (!isLooking && !isSeen(core, record)) void lookOnce();
  };
  const lookOnce = async (): Promise<void> => {
    isLooking = true;
    await look(core, record);
    isLooking = false;
  };
  const again = (): Timer => core.clock.schedule(recheckMs, onTime);
  let timer = again();
  return () => timer.cancel();
}

function isSeen(core: Core, record: BuildRecord): boolean {
  return core.watches.pod(record.handle.podName)?.metadata.uid === record.uid;
}

function isScheduled(record: BuildRecord): boolean {
  return record.actors.pod.node !== null;
}

function isWaiting(record: BuildRecord): boolean {
  const { pod, plan, gone } = record;
  if (pod === undefined || gone) return false;
  return plan.containers.every(
    ({ containerName }) =>
      record.strategy.waiting(pod, containerName) !== undefined || record.actors.container(containerName).requested,
  );
}

/** It will not come to wait any more. */
function hasEnded(record: BuildRecord): boolean {
  const { state } = record.actors.pod;
  return record.canceled !== undefined || record.gone || state === 'ending' || state === 'gone';
}

/** An earlier worker's pod may have ended by now, and rightly so. */
function hasBegun(record: BuildRecord): boolean {
  return record.plan.containers.some(({ containerName }) => record.actors.container(containerName).requested);
}

function throwIfCanceled(record: BuildRecord): void {
  if (record.canceled !== undefined) throw canceledBefore(record);
}

function canceledBefore(record: BuildRecord, cause?: unknown): PodwrightError {
  return stopped(record.handle, 'was canceled before it was assembled', cause);
}

function isRetriable(error: unknown): boolean {
  return error instanceof PodwrightError && error.details['retriable'] === true;
}

function lost(record: BuildRecord): PodwrightError {
  const { cause, message } = record.actors.pod;
  const words = message === null ? '' : `: ${message}`;
  return new PodwrightError(
    'ERR_PODWRIGHT_POD_LOST',
    `The pod of the build "${record.handle.id}" ended before it started (${cause ?? 'unknown'})${words}`,
    {
      remedy: 'Nothing of the build has run: it is safe to try again.',
      details: { ...whereabouts(record), podCause: cause, retriable: true },
    },
  );
}

function noPlaceholder(
  record: BuildRecord,
  trouble: { readonly image: string; readonly message: string },
): PodwrightError {
  return new PodwrightError(
    'ERR_PODWRIGHT_PLACEHOLDER',
    `The placeholder image "${trouble.image}" cannot be had: ${trouble.message}`,
    {
      remedy:
        'Put the image on the nodes or into a registry they reach (podwright placeholder push), or name another one.',
      details: { ...whereabouts(record), image: trouble.image },
    },
  );
}

function overdueError(record: BuildRecord, phase: Phase, trouble: PlaceholderTrouble | undefined): PodwrightError {
  record.cancel('timeout', phase);
  const limitMs = phase === 'schedule' ? record.timeouts.scheduleMs : record.timeouts.startMs;
  const what = phase === 'schedule' ? 'has no node' : 'has not started';
  const why = trouble === undefined ? '' : ` The image "${trouble.image}" cannot be had: ${trouble.message}.`;
  const story = record.journal.story();
  return new PodwrightError(
    'ERR_PODWRIGHT_TIMEOUT',
    `The pod of the build "${record.handle.id}" ${what} after ${limitMs / 1000} s.${why} So far:\n  ${story.join('\n  ')}`,
    {
      remedy: "See what the scheduler and the kubelet say above; a longer limit is the build's timeouts.",
      details: { ...whereabouts(record), phase, story },
    },
  );
}

function whereabouts(record: BuildRecord): Readonly<Record<string, unknown>> {
  const { id, namespace, podName } = record.handle;
  return { build: id, namespace, pod: podName, uid: record.uid ?? null };
}
