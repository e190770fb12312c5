/**
 * Build pods that no living worker looks after: those of other owners in the namespace. Whether an owner lives is the
 * caller's to know; podwright sees only its name and the age of its pods.
 */

import { sleep } from '../clock.ts';
import { isPodwrightError, PodwrightError } from '../errors.ts';
import type { AttachmentName } from '../pod/attachments.ts';
import { annotations, labels, managedBy } from '../pod/labels.ts';
import { readRecoveryPlan } from '../pod/recovery.ts';
import type { Pod } from '../pod/types.ts';
import { deleteEach } from './attach.ts';
import type { Orphan, OrphanOptions, RemovalReport, RemoveOptions } from './contract.ts';
import type { Core } from './core.ts';
import { readPod } from './look.ts';

export async function listOrphans(core: Core, options: OrphanOptions): Promise<readonly Orphan[]> {
  const { livingOwners = [], minAgeMs = 0, signal } = options;
  const living = new Set([...livingOwners, core.owner]);
  const path = { resource: 'pods', namespace: core.namespace };
  const list = await core.client.list<Pod>(path, {
    labelSelector: `${labels.managedBy}=${managedBy},${labels.owner}`,
    ...(signal === undefined ? {} : { signal }),
  });
  const now = core.clock.now();
  return list.items.map(orphanOf).filter((orphan) => {
    const age = orphan.createdAt === null ? Number.POSITIVE_INFINITY : now - Date.parse(orphan.createdAt);
    return !living.has(orphan.owner) && age >= minAgeMs;
  });
}

function orphanOf(pod: Pod): Orphan {
  const { name, uid, creationTimestamp, annotations: notes = {}, labels: marks = {} } = pod.metadata;
  return {
    podName: name,
    uid,
    buildId: notes[annotations.buildId] ?? marks[labels.build] ?? '',
    owner: notes[annotations.owner] ?? marks[labels.owner] ?? '',
    phase: pod.status?.phase ?? null,
    createdAt: creationTimestamp ?? null,
  };
}

/** How long an orphan gets after its grace, and how often the server is asked: no watch sees other owners' pods. */
const waitMs = 60_000;
const pollMs = 500;
const forcedMs = 10_000;

export async function removeOrphan(core: Core, orphan: Orphan, options: RemoveOptions): Promise<RemovalReport> {
  const { gracePeriodSeconds, signal } = options;
  const attachments = await attachmentsOf(core, orphan, signal);
  const limitMs = waitMs + (gracePeriodSeconds ?? 0) * 1000;
  const isGone = await deleted(core, orphan, gracePeriodSeconds, limitMs, signal);
  if (!isGone && !(await deleted(core, orphan, 0, forcedMs, signal))) {
    const remaining = [`pod ${core.namespace}/${orphan.podName}: still there after it was deleted with grace 0`];
    return { gone: false, forced: true, remaining };
  }
  const { remaining } = await deleteEach(core, attachments);
  return { gone: remaining.length === 0, forced: !isGone, remaining };
}

/** Its worker may have died before it gave them to the pod: then they would stay. */
async function attachmentsOf(
  core: Core,
  { podName, uid }: Orphan,
  signal: AbortSignal | undefined,
): Promise<readonly AttachmentName[]> {
  const pod = await readPod(core, podName, signal);
  if (pod === undefined || pod.metadata.uid !== uid) return [];
  try {
    return readRecoveryPlan(pod).attachments ?? [];
  } catch (error) {
    // A pod of another version does not tell, and is removed all the same.
    if (isPodwrightError(error, 'ERR_PODWRIGHT_POD_INVALID')) return [];
    throw error;
  }
}

async function deleted(
  core: Core,
  orphan: Orphan,
  grace: number | undefined,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const path = { resource: 'pods', namespace: core.namespace, name: orphan.podName };
  try {
    await core.client.delete(path, {
      uid: orphan.uid,
      ...(grace === undefined ? {} : { gracePeriodSeconds: grace }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (!(error instanceof PodwrightError)) throw error;
    if (error.code === 'ERR_PODWRIGHT_NOT_FOUND' || error.code === 'ERR_PODWRIGHT_CONFLICT') return true;
    throw error;
  }
  const until = core.clock.now() + limitMs;
  while (core.clock.now() < until) {
    const pod = await readPod(core, orphan.podName, signal);
    if (pod === undefined || pod.metadata.uid !== orphan.uid) return true;
    await sleep(core.clock, pollMs, signal);
  }
  return false;
}
