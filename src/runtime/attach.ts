/** Creates what a pod needs beside it, gives it to the pod, and removes what the pod does not own. */
import { isPodwrightError, PodwrightError } from '../errors.ts';
import { type Attachment, type AttachmentName, ownedBy } from '../pod/attachments.ts';
import { labelValue } from '../pod/labels.ts';
import type { Pod } from '../pod/types.ts';
import type { Core } from './core.ts';
import { createAttempts, mayHaveWorked, nameTaken, pauseBefore } from './create-pod.ts';
import { readPod } from './look.ts';
import type { BuildRecord } from './record.ts';

/**
 * One of an earlier attempt is in the way and of no use: it is replaced. Throws `ERR_PODWRIGHT_CONFLICT` when a pod of
 * this name is there, whose steps may still need theirs.
 */
export async function createAttachment(core: Core, record: BuildRecord, attachment: Attachment): Promise<void> {
  const { resource, name, manifest } = attachment;
  const path = { resource, namespace: core.namespace };
  const others = record.unowned.filter((one) => one.name !== name);
  record.unowned = [...others, { resource, name }];
  for (let attempt = 1; ; attempt++) {
    try {
      await core.client.create(path, manifest);
      return;
    } catch (error) {
      if (!(error instanceof PodwrightError) || attempt === createAttempts) throw error;
      const isTaken = error.code === 'ERR_PODWRIGHT_CONFLICT';
      if (!isTaken && !mayHaveWorked(error)) throw error;
      if (!isTaken) await pauseBefore(core.clock, attempt, record.ending);
    }
    const pod = await readPod(core, record.handle.podName, record.ending);
    if (pod !== undefined) {
      record.unowned = others;
      throw nameTaken(pod, labelValue(record.handle.id));
    }
    await deleteObject(core, attachment);
  }
}

/** What cannot be given stays the runtime's to remove; the build can run all the same. */
export async function giveAttachmentsToPod(core: Core, record: BuildRecord, pod: Pod): Promise<void> {
  for (const { resource, name } of record.unowned) {
    try {
      const path = { resource, namespace: core.namespace, name };
      await core.client.patch(path, ownedBy(pod.metadata), { type: 'merge' });
      record.unowned = record.unowned.filter((one) => one.name !== name);
    } catch (error) {
      core.logger.info('an object could not be given to its pod', {
        build: record.handle.id,
        [resource]: name,
        error: String(error),
      });
    }
  }
}

/** Gives back what could not be deleted, each with the reason. */
export async function deleteAttachments(core: Core, record: BuildRecord): Promise<readonly string[]> {
  const { left, remaining } = await deleteEach(core, record.unowned);
  record.unowned = left;
  return remaining;
}

export async function deleteEach(
  core: Core,
  attachments: readonly AttachmentName[],
): Promise<{ readonly left: readonly AttachmentName[]; readonly remaining: readonly string[] }> {
  const left: AttachmentName[] = [];
  const remaining: string[] = [];
  for (const attachment of attachments) {
    try {
      await deleteObject(core, attachment);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      left.push(attachment);
      remaining.push(`${attachment.resource} ${core.namespace}/${attachment.name}: ${words}`);
    }
  }
  return { left, remaining };
}

async function deleteObject(core: Core, { resource, name }: AttachmentName): Promise<void> {
  try {
    await core.client.delete({ resource, namespace: core.namespace, name });
  } catch (error) {
    if (!isPodwrightError(error, 'ERR_PODWRIGHT_NOT_FOUND')) throw error;
  }
}
