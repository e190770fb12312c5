/**
 * Whether a pod cannot start because the image on which its containers wait cannot be pulled: the mistake of a
 * set-up, told in seconds instead of at the limit of the phase.
 */
import { classifyPullFailure, isPermanent } from '../pod/pull-failure.ts';
import { failedPullReasons, pullBackOffReason } from '../pod/reasons.ts';
import type { Pod } from '../pod/types.ts';

export interface PlaceholderTrouble {
  readonly image: string;
  /** The registry's or kubelet's words. */
  readonly message: string;
  /** Trying again will not help, and it was tried for long enough. */
  readonly isFinal: boolean;
}

/** As for a step's image: a permanent failure may still be a registry's slip. */
const permanentMs = 15_000;

/** Looks at one pod again and again; `now` is the runtime's clock. */
export class PlaceholderCheck {
  #since: number | undefined;
  #trouble: PlaceholderTrouble | undefined;

  look(pod: Pod | undefined, now: number): PlaceholderTrouble | undefined {
    const found = pod === undefined ? undefined : waitingForImage(pod);
    if (found === undefined) {
      this.#since = undefined;
      this.#trouble = undefined;
      return undefined;
    }
    this.#since ??= now;
    const { image, reason, message } = found;
    if (reason === pullBackOffReason && this.#trouble !== undefined) {
      // The back-off's own text seldom says why; the failure before it did.
      return this.#final(this.#trouble, now);
    }
    this.#trouble = { image, message, isFinal: isPermanent(classifyPullFailure(reason, message, [image])) };
    return this.#final(this.#trouble, now);
  }

  #final(trouble: PlaceholderTrouble, now: number): PlaceholderTrouble {
    return { ...trouble, isFinal: trouble.isFinal && now - (this.#since ?? now) >= permanentMs };
  }
}

/** The init container that brings the entry program, and the containers themselves. */
function waitingForImage(
  pod: Pod,
): { readonly image: string; readonly reason: string; readonly message: string } | undefined {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const status of statuses) {
    const { reason, message } = status.state?.waiting ?? {};
    if (reason === undefined || !(failedPullReasons.has(reason) || reason === pullBackOffReason)) continue;
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const image = containers.find(({ name }) => name === status.name)?.image ?? status.image ?? '';
    return { image, reason, message: message ?? reason };
  }
  return undefined;
}
