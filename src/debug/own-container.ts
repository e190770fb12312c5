/**
 * Whether a running container is what its owner wants to debug, as far as the pod itself tells: in a build pod of
 * podwright the step's own container, never the placeholder that waits in its place. Any other pod has no placeholder.
 */
import { isPodwrightError } from '../errors.ts';
import { isPatched, requestRecord } from '../pod/image-patch.ts';
import { annotations } from '../pod/labels.ts';
import { readRecoveryPlan } from '../pod/recovery.ts';
import type { ContainerStatus, Pod } from '../pod/types.ts';

export function isOwnContainer(pod: Pod, { name, containerID }: ContainerStatus): boolean {
  const planned = plannedContainers(pod)?.find(({ containerName }) => containerName === name);
  if (planned === undefined) return true;
  if (!isPatched(pod, name, planned.image)) return false;
  // The placeholder still runs for a moment after the image was switched; the request names its instance.
  const request = requestRecord(pod, name);
  return request === undefined || containerID === undefined || request.placeholder !== containerID;
}

function plannedContainers(pod: Pod): ReturnType<typeof readRecoveryPlan>['containers'] | null {
  if (pod.metadata.annotations?.[annotations.plan] === undefined) return null;
  try {
    return readRecoveryPlan(pod).containers;
  } catch (error) {
    // A pod of another version: nothing is known of its placeholder.
    if (isPodwrightError(error, 'ERR_PODWRIGHT_POD_INVALID')) return null;
    throw error;
  }
}
