/** What `--events-port` and `--inspect` bring to a command: the hub of its events, the server, and who listens. */
import { type Clock, sleep, systemClock } from '../clock.ts';
import { publishRuntime } from '../events/from-runtime.ts';
import { startEventServer } from '../events/http/server.ts';
import { skaffoldRoutes } from '../events/http/skaffold-routes.ts';
import { v3Routes } from '../events/http/v3-routes.ts';
import { EventHub } from '../events/hub.ts';
import { Metrics, type WatchCountersView } from '../events/metrics.ts';
import { traceHub } from '../events/spans.ts';
import type { ExecutorEvent } from '../executor/events.ts';
import { inspectorRoutes } from '../inspect/routes.ts';
import type { Runtime } from '../runtime/contract.ts';
import { version } from '../version.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import type { Connection } from './connect.ts';
import { noticeDebugging } from './debug-forwards.ts';
import { forwarder } from './port-forward.ts';
import { publishLogs } from './published-logs.ts';
import { type DebugFlags, isServed, type SeeingFlags, tokenVariable } from './seeing-flags.ts';
import type { Terminal } from './terminal.ts';

export interface Seeing {
  readonly hub: EventHub;
  /** Null when nothing is served. */
  readonly url: string | null;
  /** Publishes the end, keeps serving for the linger time or until `signal` aborts, and leaves nothing behind. */
  end(outcome: 'succeeded' | 'failed' | 'canceled' | 'errored', message?: string | null): Promise<void>;
}

export interface SeeingOptions {
  readonly flags: SeeingFlags;
  readonly terminal: Terminal;
  readonly server: string;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  /** Whether the command has an end of its own, after which a person may still want to look. */
  readonly lingers: boolean;
  readonly watchCounters?: () => Readonly<Record<'pods' | 'events', WatchCountersView>>;
  readonly clock?: Clock;
}

/** Throws `ERR_PODWRIGHT_USAGE` when it may not or cannot listen. */
export async function openSeeing(options: SeeingOptions): Promise<Seeing> {
  const { flags, terminal, say, signal, clock = systemClock } = options;
  const hub = new EventHub({ clock, version, server: options.server });
  const endTraces = traceHub({ hub });
  if (!isServed(flags)) {
    return {
      hub,
      url: null,
      end: async (outcome, message) => {
        hub.end(outcome, message);
        endTraces();
      },
    };
  }
  const { watchCounters } = options;
  const metrics = new Metrics({ hub, ...(watchCounters === undefined ? {} : { watchCounters }) });
  const hooks = { clock, onSubscriber: (api: string) => metrics.onSubscriber(api) };
  const token = terminal.env[tokenVariable];
  const server = await startEventServer({
    routes: [...inspectorRoutes(), ...skaffoldRoutes(hub, hooks), ...v3Routes(hub, hooks), metrics.route()],
    port: flags.eventsPort ?? 0,
    clock,
    ...(flags.eventsHost === undefined ? {} : { host: flags.eventsHost }),
    ...(flags.eventsAllowedHost === undefined ? {} : { allowedHosts: flags.eventsAllowedHost }),
    ...(token === undefined || token === '' ? {} : { token }),
  });
  say(flags.inspect === true ? `inspector: ${server.url}` : `events: ${server.url}`);
  return {
    hub,
    url: server.url,
    end: async (outcome, message) => {
      hub.end(outcome, message);
      endTraces();
      if (options.lingers)
        await linger(flags, terminal, clock, signal, () => say(`the inspector stays at ${server.url}`));
      await server.close();
      metrics.close();
    },
  };
}

export interface ExecutionOptions {
  readonly hub: EventHub;
  readonly runtime: Runtime;
  readonly flags: DebugFlags & Pick<ClusterFlags, 'kubeconfig' | 'context'>;
  readonly connection: Connection;
  readonly say: (line: string) => void;
}

export interface Publication {
  /** For the executor's events: their log lines, with secrets masked, are published. */
  readonly onEvent: (event: ExecutorEvent) => void;
  end(): Promise<void>;
}

/** Publishes what runtime and executor tell, and says what can be debugged. */
export async function publishExecution({
  hub,
  runtime,
  flags,
  connection,
  say,
}: ExecutionOptions): Promise<Publication> {
  if (flags.debugForward === true && connection.isEmbedded) {
    say('debug: steps of the embedded cluster listen on this machine; nothing is forwarded');
  }
  const forward = flags.debugForward === true && !connection.isEmbedded ? await forwarder(flags) : undefined;
  const unpublish = publishRuntime(hub, runtime);
  const endNotices =
    flags.debug === undefined
      ? undefined
      : noticeDebugging({ hub, say, ...(forward === undefined ? {} : { forward }) });
  return {
    onEvent: publishLogs(hub),
    end: async () => {
      unpublish();
      await endNotices?.();
    },
  };
}

/** With `--inspect` before a person's eyes until they leave; otherwise as long as was asked for. */
async function linger(
  flags: SeeingFlags,
  terminal: Terminal,
  clock: Clock,
  signal: AbortSignal,
  sayThatItStays: () => void,
): Promise<void> {
  if (signal.aborted) return;
  const forEver = flags.linger === undefined && flags.inspect === true && terminal.isInteractive;
  if (!forEver && (flags.linger ?? 0) === 0) return;
  sayThatItStays();
  const waiting = forEver ? untilAborted(signal) : sleep(clock, (flags.linger ?? 0) * 1000, signal);
  await waiting.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
