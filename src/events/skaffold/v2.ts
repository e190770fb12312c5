/**
 * Skaffold's v2 wire form: one `Event` a line, no `entry`, statuses in one word, ids and tasks beside them.
 *
 * There is one iteration, 1: podwright has no development loop.
 */
import type { DebugTarget } from '../../debug/types.ts';
import type { LogLineRecord, PodwrightEvent, PortForwarded } from '../types.ts';
import { type SkaffoldEvent, toSkaffold } from './map.ts';
import { v2Metadata } from './metadata.ts';
import { portFields } from './v1.ts';
import { type ActionableErr, type Status, timestamp } from './words.ts';

export function v2Lines(event: PodwrightEvent, epoch: string): string {
  return toSkaffold(event)
    .flatMap((one) => v2Members(one, epoch))
    .map((member) => resultLine(event.at, member))
    .join('');
}

/** A line of a container's log, for `/v2/applicationLogs`. */
export function v2LogLine(pod: string, container: string, line: LogLineRecord): string {
  const prefix = `[${container}]`;
  const message = `${line.gap === null ? line.text : `(lines are missing here: ${line.gap})`}\n`;
  const member = {
    containerName: container,
    podName: pod,
    prefix,
    message,
    richFormattedMessage: `${prefix} ${message}`,
  };
  return resultLine(Date.parse(line.time), { applicationLogEvent: member });
}

export function v2Debugging(status: 'Started' | 'Terminated', target: DebugTarget): Readonly<Record<string, unknown>> {
  return {
    id: '',
    task_id: '',
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

export function v2Port(forward: PortForwarded): Readonly<Record<string, unknown>> {
  const { remotePort: _, ...fields } = portFields(forward);
  return { id: '', task_id: taskId('PortForward'), localPort: forward.localPort, ...fields };
}

type Member = Readonly<Record<string, unknown>>;

function resultLine(at: number, member: Member): string {
  return `${JSON.stringify({ result: { timestamp: timestamp(at), ...member } })}\n`;
}

function v2Members(event: SkaffoldEvent, epoch: string): readonly Member[] {
  switch (event.kind) {
    case 'meta':
      return [{ metaEvent: { entry: `Starting podwright: ${event.version}`, metadata: v2Metadata([], epoch) } }];
    case 'build':
      return withTask('Build', event.status, event.error, {
        buildSubtaskEvent: {
          id: event.build,
          task_id: taskId('Build'),
          artifact: event.build,
          step: 'Build',
          status: succeeded(event.status),
          actionableErr: event.error,
        },
      });
    case 'deploy':
      return withTask('Deploy', event.status, event.error, {
        deploySubtaskEvent: {
          id: event.pod,
          task_id: taskId('Deploy'),
          status: succeeded(event.status),
          actionableErr: event.error,
        },
      });
    case 'statusCheck':
      return [task('StatusCheck', event.status === 'Started' ? 'InProgress' : event.status, event.error)];
    case 'resource':
      return [
        {
          statusCheckSubtaskEvent: {
            id: event.resource,
            task_id: taskId('Deploy'),
            resource: event.resource,
            status: event.status,
            message: event.message,
            statusCode: event.code,
            actionableErr: event.error,
          },
        },
      ];
    case 'debugging':
      return [{ debuggingContainerEvent: v2Debugging(event.status, event.target) }];
    case 'port':
      return [{ portEvent: v2Port(event.forward) }];
    case 'log': {
      const { subtask: subtask_id, level, message } = event;
      return [{ skaffoldLogEvent: { task_id: taskId(event.task), subtask_id, level, message: `${message}\n` } }];
    }
    case 'termination':
      return [{ terminationEvent: { status: event.status, err: event.error } }];
  }
}

/** The task begins before its part, and ends after it. */
function withTask(name: string, status: Status, error: ActionableErr | null, part: Member): readonly Member[] {
  return status === 'InProgress' ? [task(name, status, null), part] : [part, task(name, succeeded(status), error)];
}

function task(name: string, status: Status, actionableErr: ActionableErr | null): Member {
  return { taskEvent: { id: taskId(name), task: name, description: '', iteration: 1, status, actionableErr } };
}

function taskId(name: string): string {
  return `${name}-1`;
}

/** Parts of v2 succeed where those of v1 are complete. */
export function succeeded(status: Status): Status {
  return status === 'Complete' ? 'Succeeded' : status;
}
