/**
 * What a pod's init containers mean for the others: they run before all of them, so that one which fails, or cannot
 * start, is the failure of each. Part of `judge-container.ts`.
 */
import type { ContainerMessage, ContainerTerminated, StartBlocked } from '../../machines/messages.ts';
import { failedInit, isSidecar } from './ending.ts';
import { type Look, neverEnded } from './look.ts';
import { classifyPullFailure, isPermanent } from './pull-failure.ts';
import { blockOf, failedPullReasons, initGrace, pullBackOffReason } from './reasons.ts';
import type { ContainerStatus, Pod } from './types.ts';

export interface InitJudged {
  /** The init container that holds the others up; null while none does. */
  readonly heldUpBy: string | null;
  /** Whether there is nothing else to look at. */
  readonly isHeldUp: boolean;
  readonly messages: readonly ContainerMessage[];
}

/** `heldUpBy` is what the look before found. `hasBegun` of a container whose first instance, its placeholder, is there. */
export function judgeInit(look: Look, heldUpBy: string | null, hasBegun: boolean): InitJudged {
  const failed = initFailure(look);
  if (failed !== null) return { heldUpBy, isHeldUp: true, messages: [failed] };
  const isPast = heldUpBy !== null && hasStarted(look.pod, heldUpBy);
  const recovered: readonly ContainerMessage[] = isPast
    ? [{ type: 'init.recovered', at: look.at, source: look.source }]
    : [];
  for (const status of look.pod.status?.initContainerStatuses ?? []) {
    // A sidecar that is started again later holds nobody up.
    const block = hasBegun && isSidecar(look.pod, status.name) ? null : blockedBy(look, status);
    if (block !== null) return { heldUpBy: status.name, isHeldUp: true, messages: [...recovered, block] };
  }
  return { heldUpBy: isPast ? null : heldUpBy, isHeldUp: false, messages: recovered };
}

/** The end of all others, where an init container failed for good. */
export function initFailure(look: Look): ContainerTerminated | null {
  const failed = failedInit(look.pod);
  if (failed === null) return null;
  const end = failed.state?.terminated;
  const message = `init container ${failed.name} ended with code ${end?.exitCode}${end?.message ? `: ${end.message}` : ''}`;
  return neverEnded(look, 'initFailed', message);
}

/** A reason alone that turns neutral is no progress: a restarted kubelet forgets its reasons. */
function hasStarted(pod: Pod, name: string): boolean {
  const state = pod.status?.initContainerStatuses?.find((status) => status.name === name)?.state;
  return state?.running !== undefined || state?.terminated !== undefined;
}

function blockedBy({ pod, at, source }: Look, { name, state }: ContainerStatus): StartBlocked | null {
  const { reason, message: words = null } = state?.waiting ?? {};
  if (!reason) return null;
  const isPull = failedPullReasons.has(reason) || reason === pullBackOffReason;
  const block = blockOf(reason);
  if (!isPull && block === null) return null;
  const image = pod.spec?.initContainers?.find((container) => container.name === name)?.image ?? '';
  const grace = isPull
    ? initGrace(isPermanent(classifyPullFailure(reason, words, [image])))
    : (block?.grace ?? 'createErrorMs');
  const message = `init container ${name}: ${words ?? reason}`;
  return { type: 'start.blocked', at, source, cause: 'initFailed', grace, reason, message };
}
