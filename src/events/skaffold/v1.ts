/** Skaffold's v1 wire form: one `LogEntry` a line, every field written, also those without content. */
import type { DebugTarget } from '../../debug/types.ts';
import type { PodwrightEvent, PortForwarded } from '../types.ts';
import { type SkaffoldEvent, toSkaffold } from './map.ts';
import { v1Metadata } from './metadata.ts';
import { timestamp, v1Status } from './words.ts';

/** The lines of one event: none, one, or some, each with its newline. */
export function v1Lines(event: PodwrightEvent): string {
  return toSkaffold(event)
    .map(v1Entry)
    .filter((entry) => entry !== null)
    .map(
      ({ event: member, entry }) =>
        `${JSON.stringify({ result: { timestamp: timestamp(event.at), event: member, entry } })}\n`,
    )
    .join('');
}

interface Entry {
  readonly event: Readonly<Record<string, unknown>>;
  readonly entry: string;
}

function v1Entry(event: SkaffoldEvent): Entry | null {
  switch (event.kind) {
    case 'meta': {
      const entry = `Starting podwright: ${event.version}`;
      return { event: { metaEvent: { entry, metadata: v1Metadata(0) } }, entry };
    }
    case 'build': {
      const { build: artifact, status, error } = event;
      return {
        event: { buildEvent: { artifact, status: v1Status(status), ...v1Error(error) } },
        entry: `Build ${verbs[status] ?? status} for artifact ${artifact}`,
      };
    }
    case 'deploy': {
      const { status, error } = event;
      return {
        event: { deployEvent: { status: v1Status(status), ...v1Error(error) } },
        entry: `Deploy ${status === 'Complete' ? 'complete' : (verbs[status] ?? status)}`,
      };
    }
    case 'statusCheck': {
      const { status, error } = event;
      return {
        event: { statusCheckEvent: { status: v1Status(status), message: '', ...v1Error(error) } },
        entry: `Status check ${verbs[status] ?? status}`,
      };
    }
    case 'resource': {
      const { resource, status, message, code, error } = event;
      const fields = { resource, status: v1Status(status), message, err: error?.message ?? '', statusCode: code };
      return { event: { resourceStatusCheckEvent: { ...fields, actionableErr: error } }, entry: resourceEntry(event) };
    }
    case 'debugging': {
      const { status, target } = event;
      return {
        event: { debuggingContainerEvent: v1Debugging(status, target) },
        entry: `Debuggable container ${status.toLowerCase()} pod/${target.pod}:${target.container} (${target.namespace})`,
      };
    }
    case 'port':
      return {
        event: { portEvent: v1Port(event.forward) },
        entry: `Forwarding container ${event.forward.container} to local port ${event.forward.localPort}`,
      };
    case 'termination': {
      const { status, error: err } = event;
      return { event: { terminationEvent: { status, err } }, entry: `Podwright ${verbs[status] ?? status}` };
    }
    case 'log':
      return null;
  }
}

export function v1Debugging(status: 'Started' | 'Terminated', target: DebugTarget): Readonly<Record<string, unknown>> {
  return {
    status,
    podName: target.pod,
    containerName: target.container,
    namespace: target.namespace,
    artifact: target.artifact,
    runtime: target.runtime,
    workingDir: target.workingDir,
    debugPorts: target.debugPorts,
  };
}

export function v1Port(forward: PortForwarded): Readonly<Record<string, unknown>> {
  const { remotePort, ...fields } = portFields(forward);
  return { localPort: forward.localPort, remotePort, ...fields };
}

/** The fields that both versions have, in their order. */
export function portFields(forward: PortForwarded): Readonly<Record<string, unknown>> {
  return {
    remotePort: forward.remotePort,
    podName: forward.pod,
    containerName: forward.container,
    namespace: forward.namespace,
    portName: forward.portName,
    resourceType: 'pod',
    resourceName: forward.pod,
    address: forward.address,
    targetPort: { type: 0, intVal: forward.remotePort, strVal: '' },
  };
}

const verbs: Readonly<Record<string, string>> = {
  Started: 'started',
  InProgress: 'started',
  Complete: 'completed',
  Succeeded: 'succeeded',
  Failed: 'failed',
  Canceled: 'canceled',
};

function v1Error(
  error: { readonly errCode: string; readonly message: string } | null,
): Readonly<Record<string, unknown>> {
  return { err: error?.message ?? '', errCode: error?.errCode ?? 'OK', actionableErr: error };
}

function resourceEntry({ resource, status, message }: Extract<SkaffoldEvent, { kind: 'resource' }>): string {
  if (status === 'Succeeded') return `Resource ${resource} status completed successfully`;
  if (status === 'Failed') return `Resource ${resource} status failed with ${message}`;
  return `Resource ${resource} status updated to ${v1Status(status)}`;
}
