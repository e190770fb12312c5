/** What `podwright watch` does. */
import { systemClock } from '../clock.ts';
import { isOwnContainer } from '../debug/own-container.ts';
import { DebugTracker } from '../debug/tracker.ts';
import { debugEvent } from '../events/build-recorder.ts';
import { connect, type KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import { trimPod } from '../pod/trim.ts';
import type { Pod } from '../pod/types.ts';
import { firstContact } from './connect.ts';
import { noticeDebugging } from './debug-forwards.ts';
import { exitCodes } from './exit-codes.ts';
import { type Interrupt, listenForInterrupt } from './interrupt.ts';
import { forwarder } from './port-forward.ts';
import { openSeeing, type Seeing } from './seeing.ts';
import type { Terminal } from './terminal.ts';
import type { WatchFlags } from './watched-cluster-flags.ts';

/** Ends with the first interrupt. */
export async function watchDebugging(flags: WatchFlags, terminal: Terminal): Promise<number> {
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  const client = await connect({
    ...(flags.kubeconfig === undefined ? {} : { kubeConfig: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  const say = (line: string): void => terminal.out(`${line}\n`);
  try {
    await firstContact(client, interrupt.signal);
    const forward = flags.forward === true ? await forwarder(flags) : undefined;
    const { signal } = interrupt;
    const seeing = await openSeeing({ flags, terminal, server: client.server, say, signal, lingers: false });
    const endNotices = noticeDebugging({ hub: seeing.hub, say, ...(forward === undefined ? {} : { forward }) });
    try {
      await follow(client, flags, seeing, interrupt, say);
    } finally {
      await endNotices();
      await seeing.end('canceled', 'podwright watch was stopped');
    }
    return exitCodes.succeeded;
  } finally {
    await client.close();
    interrupt.stop();
  }
}

async function follow(
  client: KubeClient,
  flags: WatchFlags,
  { hub }: Seeing,
  { signal }: Interrupt,
  say: (line: string) => void,
): Promise<void> {
  const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? client.namespace ?? 'default');
  const tracker = new DebugTracker({
    onChange: (change) => hub.publish(debugEvent(null, change)),
    isOwn: isOwnContainer,
  });
  const pods = new Informer<Pod>({
    client,
    path: { resource: 'pods', ...(namespace === undefined ? {} : { namespace }) },
    ...(flags.selector === undefined ? {} : { labelSelector: flags.selector }),
    trim: trimPod,
    bookmarks: true,
    clock: systemClock,
  });
  pods.addHandler(({ kind, object }) => (kind === 'deleted' ? tracker.gone(object) : tracker.observe(object)));
  pods.subscribeHealth(() => {
    const { state, since } = pods.health;
    const staleSince = state === 'live' ? null : new Date(since).toISOString();
    hub.publish({ type: 'watch.changed', resource: 'pods', state, staleSince });
  });
  try {
    pods.start();
    await pods.synced(signal);
    say(
      `watching the pods of ${namespace === undefined ? 'all namespaces' : `namespace ${namespace}`} on ${client.server}`,
    );
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await pods.stop();
    tracker.close();
  }
}
