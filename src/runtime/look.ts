/** A fresh look at a build's pod, past the watch: before anything is decided or destroyed on what may be stale. */
import { isPodwrightError } from '../errors.ts';
import { trimEvent, trimPod } from '../pod/trim.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import type { Core } from './core.ts';
import type { BuildRecord } from './record.ts';
import { podEvents } from './watches.ts';

/**
 * Tells the build what the API server has now: a watch that counts as live may have gone silent a moment ago. Never
 * rejects: when the server cannot be asked, what is known stays, and it gives false.
 */
export async function look(core: Core, record: BuildRecord): Promise<boolean> {
  const { uid, pod: last, handle } = record;
  if (uid === undefined || last === undefined || record.gone) return true;
  try {
    const pod = await readPod(core, handle.podName);
    if (record.uid !== uid) return true;
    if (pod === undefined || pod.metadata.uid !== uid) record.observeGone(record.pod ?? last, false);
    else record.observe(pod);
    return true;
  } catch (error) {
    core.logger.info('the pod could not be read', { build: handle.id, pod: handle.podName, error: String(error) });
    return false;
  }
}

/** As `look`, and at the Events, which tell the cause of a verdict by time and are hints: nothing waits for them. */
export async function lookForVerdict(core: Core, record: BuildRecord): Promise<boolean> {
  const [isKnown] = await Promise.all([look(core, record), lookAtEvents(core, record)]);
  return isKnown;
}

async function lookAtEvents(core: Core, record: BuildRecord): Promise<void> {
  const { podName } = record.handle;
  try {
    const events = await core.client.list<KubeEvent>(
      { resource: 'events', namespace: core.namespace },
      { fieldSelector: `${podEvents},involvedObject.name=${podName}` },
    );
    for (const event of events.items) record.onEvent(trimEvent(event));
  } catch (error) {
    core.logger.info('the Events of a pod could not be read', { pod: podName, error: String(error) });
  }
}

/** Undefined when there is none of that name. */
export async function readPod(
  { client, namespace }: Pick<Core, 'client' | 'namespace'>,
  name: string,
  signal?: AbortSignal,
): Promise<Pod | undefined> {
  try {
    const path = { resource: 'pods', namespace, name };
    return trimPod(await client.get<Pod>(path, signal === undefined ? {} : { signal }));
  } catch (error) {
    if (isPodwrightError(error, 'ERR_PODWRIGHT_NOT_FOUND')) return undefined;
    throw error;
  }
}
