/** What `podwright serve` does. */
import { systemClock } from '../clock.ts';
import { connect } from '../kube/client.ts';
import { silentLogger } from '../logger.ts';
import { firstContact } from './connect.ts';
import { exitCodes } from './exit-codes.ts';
import { listenForInterrupt } from './interrupt.ts';
import { Observer } from './observer.ts';
import { openSeeing } from './seeing.ts';
import type { Terminal } from './terminal.ts';
import type { ServeFlags } from './watched-cluster-flags.ts';

/** Ends with the first interrupt. */
export async function serveBuilds(flags: ServeFlags, terminal: Terminal): Promise<number> {
  const interrupt = listenForInterrupt({ onFirst: () => undefined, onSecond: () => undefined });
  const client = await connect({
    ...(flags.kubeconfig === undefined ? {} : { kubeConfig: flags.kubeconfig }),
    ...(flags.context === undefined ? {} : { context: flags.context }),
  });
  try {
    await firstContact(client, interrupt.signal);
    const namespace = flags.allNamespaces === true ? undefined : (flags.namespace ?? client.namespace ?? 'default');
    let observer: Observer | undefined;
    const seeing = await openSeeing({
      // Without any flag there would be nothing to serve.
      flags: { ...flags, inspect: true },
      terminal,
      server: client.server,
      say: (line) => terminal.out(`${line}\n`),
      signal: interrupt.signal,
      lingers: false,
      watchCounters: () => observer?.counters ?? noCounters,
    });
    observer = new Observer({
      client,
      hub: seeing.hub,
      clock: systemClock,
      logger: silentLogger,
      ...(namespace === undefined ? {} : { namespace }),
    });
    try {
      await observer.start(interrupt.signal);
      terminal.out(
        `watching the builds of ${namespace === undefined ? 'all namespaces' : `namespace ${namespace}`} on ${client.server}\n`,
      );
      await new Promise<void>((resolve) => interrupt.signal.addEventListener('abort', () => resolve(), { once: true }));
    } catch (error) {
      if (!interrupt.signal.aborted) throw error;
    } finally {
      await observer.stop();
      await seeing.end('canceled', 'podwright serve was stopped');
    }
    return exitCodes.succeeded;
  } finally {
    await client.close();
    interrupt.stop();
  }
}

const nothing = {
  lists: 0,
  watches: 0,
  frames: 0,
  bytes: 0,
  failures: 0,
  stalls: 0,
  expirations: 0,
  malformedFrames: 0,
  handlerErrors: 0,
};
const noCounters = { pods: nothing, events: nothing };
