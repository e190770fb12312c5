/**
 * Skaffold's words: the spelling of statuses, its codes, and which of them stand for podwright's outcomes. The one
 * table of what is mapped to what; docs/events.md shows it.
 */
import type { Cause, Outcome } from '../../../machines/outcome.ts';
import type { BuildStateName } from '../types.ts';

/** Statuses as v2 spells them. */
export type Status =
  | 'NotStarted'
  | 'InProgress'
  | 'Complete'
  | 'Failed'
  | 'Started'
  | 'Succeeded'
  | 'Terminated'
  | 'Canceled';

/** v1 writes two of them as two words. */
export function v1Status(status: Status): string {
  if (status === 'NotStarted') return 'Not Started';
  return status === 'InProgress' ? 'In Progress' : status;
}

export interface ActionableErr {
  readonly errCode: string;
  readonly message: string;
  readonly suggestions: readonly { readonly suggestionCode: string; readonly action: string }[];
}

/** A build's state, and null where Skaffold has no status for it (the one before still holds). */
export const buildStatuses: Readonly<
  Record<BuildStateName, { readonly status: Status; readonly code: string } | null>
> = {
  setup: { status: 'NotStarted', code: 'OK' },
  assembling: { status: 'InProgress', code: 'OK' },
  running: null,
  succeeded: { status: 'Complete', code: 'OK' },
  failed: { status: 'Failed', code: 'BUILD_USER_ERROR' },
  errored: { status: 'Failed', code: 'BUILD_UNKNOWN' },
  canceled: { status: 'Canceled', code: 'BUILD_CANCELLED' },
  removed: null,
};

export const causeCodes: Readonly<Record<Cause, string>> = {
  completed: 'STATUSCHECK_SUCCESS',
  error: 'STATUSCHECK_CONTAINER_TERMINATED',
  oomKilled: 'STATUSCHECK_CONTAINER_TERMINATED',
  startError: 'STATUSCHECK_RUN_CONTAINER_ERR',
  configError: 'STATUSCHECK_CONTAINER_WAITING_UNKNOWN',
  initFailed: 'STATUSCHECK_CONTAINER_TERMINATED',
  placeholderLost: 'STATUSCHECK_UNKNOWN',
  evicted: 'STATUSCHECK_UNKNOWN',
  preempted: 'STATUSCHECK_UNKNOWN',
  deadlineExceeded: 'STATUSCHECK_DEADLINE_EXCEEDED',
  nodeLost: 'STATUSCHECK_NODE_UNREACHABLE',
  nodeShutdown: 'STATUSCHECK_NODE_NOT_READY',
  podDeleted: 'STATUSCHECK_UNKNOWN',
  rejected: 'STATUSCHECK_UNKNOWN',
  unknown: 'STATUSCHECK_UNKNOWN',
};

const suggestions: Readonly<Record<string, ActionableErr['suggestions']>> = {
  STATUSCHECK_IMAGE_PULL_ERR: [
    { suggestionCode: 'CHECK_CONTAINER_IMAGE', action: 'Try checking container config `image`' },
  ],
  STATUSCHECK_CONTAINER_TERMINATED: [{ suggestionCode: 'CHECK_CONTAINER_LOGS', action: 'Try checking container logs' }],
};

export interface StatusCheck {
  readonly status: Status;
  readonly code: string;
  readonly message: string;
  readonly error: ActionableErr | null;
}

/** A container's outcome as the status check of a resource; null is one that has not run yet. */
export function statusCheckOf(container: string, image: string, outcome: Outcome | null): StatusCheck {
  if (outcome === null) {
    const code = 'STATUSCHECK_CONTAINER_CREATING';
    return { status: 'InProgress', code, message: `creating container ${container}`, error: null };
  }
  switch (outcome.outcome) {
    case 'running':
      return { status: 'InProgress', code: 'OK', message: `container ${container} is running`, error: null };
    case 'pullFailed': {
      const words = outcome.message === null ? '' : `: ${outcome.message}`;
      return failed('STATUSCHECK_IMAGE_PULL_ERR', `container ${container}: ${image} can't be pulled${words}`);
    }
    case 'canceled': {
      const code = outcome.reason === 'caller' ? 'STATUSCHECK_USER_CANCELLED' : 'STATUSCHECK_DEADLINE_EXCEEDED';
      return failed(code, `container ${container} was canceled in its ${outcome.phase} phase (${outcome.reason})`);
    }
    case 'terminated': {
      if (outcome.cause === 'completed' && outcome.exitCode === 0) {
        return { status: 'Succeeded', code: 'STATUSCHECK_SUCCESS', message: 'Succeeded', error: null };
      }
      const exit = outcome.exitCode === null ? 'an exit code that is not known' : `exit code ${outcome.exitCode}`;
      const words = outcome.message === null ? '' : `: ${outcome.message}`;
      return failed(
        causeCodes[outcome.cause],
        `container ${container} terminated with ${exit} (${outcome.cause})${words}`,
      );
    }
  }
}

export function actionable(errCode: string, message: string): ActionableErr {
  return { errCode, message, suggestions: suggestions[errCode] ?? [] };
}

function failed(code: string, message: string): StatusCheck {
  return { status: 'Failed', code, message, error: actionable(code, message) };
}

/** RFC 3339 as protobuf writes it: no fraction when it is zero. */
export function timestamp(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

/** What podwright runs in, for Skaffold's metadata. */
export const metadataWords = { buildType: 'CLUSTER', cluster: 'OTHER' } as const;
