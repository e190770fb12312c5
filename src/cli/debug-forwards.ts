/** Tells a person what a debugger can attach to, and keeps a port forwarded to each for as long as it runs. */
import type { DebugTarget } from '../debug/types.ts';
import type { EventHub } from '../events/hub.ts';
import type { PodwrightEvent } from '../events/types.ts';
import type { Forward, OpenForward } from './port-forward.ts';

export interface DebugNoticesOptions {
  readonly hub: EventHub;
  readonly say: (line: string) => void;
  /** Opens forwards; absent where none are wanted. */
  readonly forward?: OpenForward;
}

/** Returns what ends it: no forward is left. */
export function noticeDebugging({ hub, say, forward }: DebugNoticesOptions): () => Promise<void> {
  const forwards = new Map<string, Promise<readonly Forward[]>>();
  const take = (event: PodwrightEvent): void => {
    if (event.type === 'debug.started') {
      say(startedLine(event.target));
      if (forward !== undefined) forwards.set(keyOf(event.target), open(event.target, event.build, forward));
    } else if (event.type === 'debug.terminated') {
      const code = event.exitCode === null ? '' : ` with exit code ${event.exitCode}`;
      say(`debug: ${nameOf(event.target)} ended${code}`);
      void close(event.target);
    } else if (event.type === 'debug.refused') say(`debug: ${event.namespace}/${event.pod}: ${event.message}`);
  };

  async function open(
    target: DebugTarget,
    build: string | null,
    openForward: OpenForward,
  ): Promise<readonly Forward[]> {
    const { namespace, pod, podUid, container } = target;
    const opened: Forward[] = [];
    for (const [portName, remotePort] of Object.entries(target.debugPorts)) {
      const onFailure = (reason: string): void => say(`debug: ${nameOf(target)}: port ${remotePort}: ${reason}`);
      const one = await openForward({ namespace, pod, port: remotePort }, onFailure).catch((error: unknown) => {
        onFailure(error instanceof Error ? error.message : String(error));
        return null;
      });
      if (one === null) continue;
      opened.push(one);
      say(`debug: attach to 127.0.0.1:${one.localPort} (${portName}, port ${remotePort} of ${nameOf(target)})`);
      const ports = { portName, remotePort, address: '127.0.0.1', localPort: one.localPort };
      const body = { type: 'debug.forwarded' as const, build, namespace, pod, podUid, container, ...ports };
      // Not from within the listener that told of the start: a hub is told one thing after the other.
      queueMicrotask(() => hub.publish({ ...body, open: true }));
    }
    return opened;
  }

  async function close(target: DebugTarget): Promise<void> {
    const opened = await forwards.get(keyOf(target));
    forwards.delete(keyOf(target));
    for (const one of opened ?? []) await one.close();
    for (const one of hub.state.forwards) {
      if (one.podUid === target.podUid && one.container === target.container) hub.publish({ ...one, open: false });
    }
  }

  const unlisten = hub.listen(take);
  return async () => {
    unlisten();
    for (const opened of forwards.values()) for (const one of await opened) await one.close();
    forwards.clear();
  };
}

function startedLine(target: DebugTarget): string {
  const ports = Object.entries(target.debugPorts).map(([name, port]) => `${name} ${port}`);
  const runtime = target.runtime === '' ? 'a debugger' : `a ${target.runtime} debugger`;
  const where = ports.length === 0 ? 'it has no port: start the debugger in it by kubectl exec' : ports.join(', ');
  return `debug: ${runtime} can attach to ${nameOf(target)}: ${where} (${target.artifact})`;
}

function nameOf(target: DebugTarget): string {
  return `pod/${target.pod}:${target.container} (${target.namespace})`;
}

function keyOf(target: DebugTarget): string {
  return `${target.podUid}/${target.container}/${target.containerID ?? target.restartCount}`;
}
