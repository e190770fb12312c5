/**
 * Podwright's events as Skaffold's, in one form that both wire versions are written from: each event gives none, one
 * or some. Pure, event by event, so that every subscriber sees the same lines whenever it comes.
 */
import type { DebugTarget } from '../../debug/types.ts';
import type { ContainerChanged, PodChanged, PodwrightEvent, PortForwarded } from '../types.ts';
import {
  type ActionableErr,
  actionable,
  buildStatuses,
  type Status,
  type StatusCheck,
  statusCheckOf,
} from './words.ts';

export type SkaffoldEvent =
  | { readonly kind: 'meta'; readonly version: string }
  | { readonly kind: 'build'; readonly build: string; readonly status: Status; readonly error: ActionableErr | null }
  | { readonly kind: 'deploy'; readonly pod: string; readonly status: Status; readonly error: ActionableErr | null }
  | { readonly kind: 'statusCheck'; readonly status: Status; readonly error: ActionableErr | null }
  | ({ readonly kind: 'resource'; readonly resource: string } & StatusCheck)
  | { readonly kind: 'debugging'; readonly status: 'Started' | 'Terminated'; readonly target: DebugTarget }
  | { readonly kind: 'port'; readonly forward: PortForwarded }
  /** Only v2 has it. */
  | {
      readonly kind: 'log';
      readonly task: string;
      readonly subtask: string;
      readonly level: string;
      readonly message: string;
    }
  | { readonly kind: 'termination'; readonly status: Status; readonly error: ActionableErr | null };

export function toSkaffold(event: PodwrightEvent): readonly SkaffoldEvent[] {
  switch (event.type) {
    case 'run.started':
      return [{ kind: 'meta', version: event.version }];
    case 'build.changed':
      return buildEvents(event);
    case 'pod.changed':
      return podEvents(event);
    case 'container.changed':
      return event.to === 'pending' ? [] : [{ kind: 'resource', resource: resourceOf(event), ...checkOf(event) }];
    case 'debug.started':
      return [{ kind: 'debugging', status: 'Started', target: event.target }];
    case 'debug.terminated':
      return [{ kind: 'debugging', status: 'Terminated', target: event.target }];
    case 'debug.refused':
      return [{ kind: 'log', task: 'Deploy', subtask: event.pod, level: 'WARN', message: event.message }];
    case 'debug.forwarded':
      return event.open ? [{ kind: 'port', forward: event }] : [];
    case 'kube.event': {
      if (event.level === 'Normal') return [];
      const subtask = event.container === null ? event.pod.name : resource(event.pod.name, event.container);
      return [{ kind: 'log', task: 'Deploy', subtask, level: 'WARN', message: `${event.reason}: ${event.message}` }];
    }
    case 'run.ended': {
      const ok = event.outcome === 'succeeded';
      const error = ok ? null : actionable(runCodes[event.outcome], event.message ?? `the run ${event.outcome}`);
      return [{ kind: 'termination', status: ok ? 'Complete' : 'Failed', error }];
    }
    case 'build.planned':
    case 'build.forgotten':
    case 'container.requested':
    case 'watch.changed':
      return [];
  }
}

/** How Skaffold would name the resource that a container is. */
export function resource(pod: string, container: string): string {
  return `pod/${pod}:${container}`;
}

const runCodes = { failed: 'BUILD_USER_ERROR', canceled: 'BUILD_CANCELLED', errored: 'UNKNOWN_ERROR' } as const;

function buildEvents(event: Extract<PodwrightEvent, { type: 'build.changed' }>): readonly SkaffoldEvent[] {
  if (event.to === 'running') return [{ kind: 'statusCheck', status: 'Started', error: null }];
  const word = buildStatuses[event.to];
  if (word === null || word.status === 'NotStarted') return [];
  if (word.status === 'InProgress') return [{ kind: 'build', build: event.build, status: 'InProgress', error: null }];
  const ok = word.status === 'Complete';
  const error = ok ? null : actionable(word.code, event.message ?? `build ${event.build} ${event.to}`);
  return [
    { kind: 'statusCheck', status: ok ? 'Succeeded' : 'Failed', error },
    { kind: 'build', build: event.build, status: word.status, error },
  ];
}

function podEvents({ pod, from, to, cause, message }: PodChanged): readonly SkaffoldEvent[] {
  const deploy = (status: Status, error: ActionableErr | null): readonly SkaffoldEvent[] => [
    { kind: 'deploy', pod: pod.name, status, error },
  ];
  if (to === 'pending') return deploy('InProgress', null);
  if (to === 'running') return deploy('Complete', null);
  const failedNow = cause !== null && (to === 'ending' || (to === 'gone' && from !== 'ending'));
  if (!failedNow) return [];
  return deploy(
    'Failed',
    actionable('DEPLOY_UNKNOWN', `pod ${pod.name}: ${cause}${message === null ? '' : `: ${message}`}`),
  );
}

function resourceOf({ build, pod, container }: ContainerChanged): string {
  return resource(pod?.name ?? build, container);
}

function checkOf({ container, image, outcome }: ContainerChanged): StatusCheck {
  return statusCheckOf(container, image, outcome);
}
