/**
 * Creates a pod under a name of our own choice exactly once, also when the answer is lost.
 *
 * Each attempt to assemble a build has a name of its own in a label. A pod of our name with that label is ours, however
 * its create was answered; one without it is somebody else's, or an earlier run's, in which steps may have run: it is
 * never taken over.
 */
import { type Clock, sleep } from '../clock.ts';
import { isPodwrightError, PodwrightError } from '../errors.ts';
import type { PodManifest } from '../pod/build-pod.ts';
import { labels } from '../pod/labels.ts';
import { trimPod } from '../pod/trim.ts';
import type { Pod } from '../pod/types.ts';
import type { Core } from './core.ts';
import { readPod } from './look.ts';

/** How often a create is sent whose answer was lost and of which no pod is to be seen. */
export const createAttempts = 4;
const pauseMs = 500;

export async function createPod(core: Core, manifest: PodManifest, signal: AbortSignal): Promise<Pod> {
  const { name, namespace } = manifest.metadata;
  let last: unknown;
  for (let attempt = 0; attempt < createAttempts; attempt++) {
    if (attempt > 0) await pauseBefore(core.clock, attempt, signal);
    try {
      return trimPod(await core.client.create<Pod>({ resource: 'pods', namespace }, manifest));
    } catch (error) {
      if (!isPodwrightError(error)) throw error;
      if (error.code === 'ERR_PODWRIGHT_CONFLICT') return await ownPod(core, manifest, error);
      if (!mayHaveWorked(error)) throw error;
      last = error;
    }
    const pod = await readPod(core, name, signal);
    if (pod !== undefined) return owned(pod, manifest);
  }
  throw last;
}

/** 409: the name is taken, by us or by another. */
async function ownPod(core: Core, manifest: PodManifest, cause: PodwrightError): Promise<Pod> {
  const pod = await readPod(core, manifest.metadata.name);
  if (pod === undefined) throw cause;
  return owned(pod, manifest, cause);
}

function owned(pod: Pod, manifest: PodManifest, cause?: unknown): Pod {
  if (pod.metadata.labels?.[labels.assembly] === manifest.metadata.labels[labels.assembly]) return pod;
  throw nameTaken(pod, manifest.metadata.labels[labels.build], cause);
}

/** The error for a pod that has the name of `build`, which is the value of its label, and is not ours. */
export function nameTaken(pod: Pod, build: string | undefined, cause?: unknown): PodwrightError {
  const { namespace, name } = pod.metadata;
  const sameBuild = pod.metadata.labels?.[labels.build] === build;
  return new PodwrightError(
    'ERR_PODWRIGHT_CONFLICT',
    sameBuild
      ? `The pod ${namespace}/${name} exists already: an earlier run of this build is on the cluster`
      : `The pod ${namespace}/${name} exists already and is not podwright's`,
    {
      cause,
      remedy: sameBuild ? 'Adopt it, or remove it, or give this build another id.' : 'Give this build another id.',
      details: { namespace, pod: name, uid: pod.metadata.uid, sameBuild },
    },
  );
}

/** Whether a create that failed so may be sent again, and may have worked all the same. */
export function mayHaveWorked(error: PodwrightError): boolean {
  return error.code === 'ERR_PODWRIGHT_CLUSTER_UNREACHABLE' || isServerTrouble(error);
}

/** 5xx and 429 may have been executed or not; the client has tried again for as long as it may. */
function isServerTrouble(error: PodwrightError): boolean {
  const status = error.details['status'];
  return typeof status === 'number' && (status >= 500 || status === 429);
}

export async function pauseBefore(clock: Clock, attempt: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, pauseMs * 2 ** (attempt - 1), signal);
}
