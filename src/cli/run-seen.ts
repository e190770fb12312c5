/** Runs a build before the eyes that its flags ask for: served, debuggable, or neither. */
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import type { ExecutorEvent } from '../executor/events.ts';
import type { BuildOutcome, BuildResult } from '../executor/result.ts';
import type { Runtime } from '../runtime/contract.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import type { Connection } from './connect.ts';
import { type DebugFlags, isServed, type SeeingFlags } from './seeing-flags.ts';
import type { Terminal } from './terminal.ts';

export interface RunSeenOptions {
  readonly flags: SeeingFlags & DebugFlags & Pick<ClusterFlags, 'kubeconfig' | 'context'>;
  readonly terminal: Terminal;
  readonly connection: Connection;
  readonly runtime: Runtime;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/**
 * `run` gets what wants to hear the executor's events. Returns when it has ended and nobody is to look any more.
 * Throws what `run` throws, or `ERR_PODWRIGHT_USAGE` when it may not or cannot listen.
 */
export async function runSeen(
  { flags, terminal, connection, runtime, signal, say }: RunSeenOptions,
  run: (onEvent: (event: ExecutorEvent) => void) => Promise<BuildResult>,
): Promise<BuildResult> {
  if (!isServed(flags) && flags.debug === undefined && !isTraced()) return await run(() => undefined);
  // Loaded now: most runs need neither a server nor its libraries.
  const { openSeeing, publishExecution } = await import('./seeing.ts');
  const seeing = await openSeeing({
    flags,
    terminal,
    server: connection.cluster,
    say,
    signal,
    lingers: true,
    watchCounters: () => ({ pods: runtime.health.pods.counters, events: runtime.health.events.counters }),
  });
  let outcome: BuildOutcome = 'error';
  try {
    const publication = await publishExecution({ hub: seeing.hub, runtime, flags, connection, say });
    try {
      const result = await run(publication.onEvent);
      outcome = result.outcome;
      return result;
    } finally {
      await publication.end();
    }
  } finally {
    await seeing.end(outcome === 'error' ? 'errored' : outcome);
  }
}

/** Whether whoever started this process brought an OpenTelemetry SDK, as with `node --import ./otel.js`. */
function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  // Without an SDK the API's proxy stands before a provider that does nothing, the same for all proxies.
  return !(
    provider instanceof ProxyTracerProvider && provider.getDelegate() === new ProxyTracerProvider().getDelegate()
  );
}
