/** Records what a cluster says of its pods, until it is told to end. */
import type { Clock } from '../clock.ts';
import type { KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import type { KubeObject } from '../kube/resource.ts';
import { type Recorder, recordingClient } from './recorder.ts';

export interface RecordClusterOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly recorder: Recorder;
  readonly clock: Clock;
  /** Ends the recording. */
  readonly signal: AbortSignal;
  /** Called once both lists were recorded. */
  readonly onSynced?: () => void;
}

/** Resolves when `signal` aborts. Throws what the first lists throw: a cluster that cannot be read is told at once. */
export async function recordCluster(options: RecordClusterOptions): Promise<void> {
  const { namespace, labelSelector, clock, signal } = options;
  const client = recordingClient(options.client, options.recorder);
  const trim = (object: KubeObject): KubeObject => object;
  const pods = new Informer<KubeObject>({
    client,
    path: { resource: 'pods', namespace },
    ...(labelSelector === undefined ? {} : { labelSelector }),
    trim,
    clock,
    bookmarks: true,
  });
  const events = new Informer<KubeObject>({
    client,
    path: { resource: 'events', namespace },
    fieldSelector: 'involvedObject.kind=Pod',
    trim,
    clock,
    bookmarks: false,
  });
  try {
    pods.start();
    await pods.synced(signal);
    events.start();
    await events.synced(signal);
    options.onSynced?.();
    await aborted(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await Promise.all([pods.stop(), events.stop()]);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
