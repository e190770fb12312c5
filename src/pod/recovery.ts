/**
 * What a build's pod says about itself, so that a worker without a database and without memory understands it: the
 * plan is written into an annotation at the create and read back by adoption.
 *
 * It holds no environment, no script and no secret; those are in the pod's spec and its Secret.
 */
import { PodwrightError } from '../errors.ts';
import type { AttachmentName } from './attachments.ts';
import type { ContainerSpecRequest, PhaseTimeouts } from './build-spec.ts';
import { annotations } from './labels.ts';
import type { PlaceholderOption } from './start-strategy.ts';
import type { Pod } from './types.ts';

export interface RecoveryPlan {
  readonly version: 1;
  readonly owner: string;
  readonly buildId: string;
  readonly placeholder: PlaceholderOption;
  readonly containers: readonly RecoveredContainer[];
  readonly timeouts: PhaseTimeouts;
  /** What belongs to the build beside its pod. */
  readonly attachments?: readonly AttachmentName[];
}

export interface RecoveredContainer {
  readonly name: string;
  readonly containerName: string;
  readonly image: string;
  readonly role: ContainerSpecRequest['role'];
  readonly detach?: boolean;
  readonly timeouts?: PhaseTimeouts;
}

export function writeRecoveryPlan(plan: RecoveryPlan): string {
  return JSON.stringify(plan);
}

/** Throws `ERR_PODWRIGHT_POD_INVALID` for a pod whose plan is missing, unreadable or of a version not known here. */
export function readRecoveryPlan(pod: Pod): RecoveryPlan {
  const text = pod.metadata.annotations?.[annotations.plan];
  if (text === undefined) throw unreadable(pod, 'it has no plan');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unreadable(pod, 'its plan is not JSON', cause);
  }
  if (!isRecoveryPlan(value)) throw unreadable(pod, 'its plan is not of version 1');
  return value;
}

function isRecoveryPlan(value: unknown): value is RecoveryPlan {
  if (!isRecord(value) || value['version'] !== 1) return false;
  const { owner, buildId, placeholder, containers, timeouts, attachments = [] } = value;
  if (!Array.isArray(attachments) || !attachments.every(isAttachmentName)) return false;
  if (typeof owner !== 'string' || typeof buildId !== 'string' || !isRecord(timeouts)) return false;
  if (!isRecord(placeholder) || typeof placeholder['image'] !== 'string') return false;
  return Array.isArray(containers) && containers.length > 0 && containers.every(isRecoveredContainer);
}

function isRecoveredContainer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { name, containerName, image, role } = value;
  if (typeof name !== 'string' || typeof containerName !== 'string' || typeof image !== 'string') return false;
  return role === 'step' || role === 'service';
}

function isAttachmentName(value: unknown): boolean {
  if (!isRecord(value) || typeof value['name'] !== 'string') return false;
  return value['resource'] === 'secrets' || value['resource'] === 'configmaps';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unreadable(pod: Pod, why: string, cause?: unknown): PodwrightError {
  const { namespace, name } = pod.metadata;
  return new PodwrightError('ERR_PODWRIGHT_POD_INVALID', `Cannot adopt the pod ${namespace}/${name}: ${why}`, {
    cause,
    remedy: 'Remove it as an orphan, or adopt it with the version of podwright that created it.',
    details: { namespace, pod: name, uid: pod.metadata.uid },
  });
}
