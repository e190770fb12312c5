/**
 * Whose process a container status speaks of: the placeholder's or the step's own (kubernetes.md §4.6).
 *
 * The containerID decides; images are compared only where no placeholder was ever seen in the container, because a
 * runtime reports any tag it knows for an image. `unclear` is an answer too, and never becomes success.
 */
import { isSameImage } from '../image/reference.ts';
import type { ContainerFacts, PodFacts } from './facts.ts';
import type { ContainerSpec, ContainerStatus, Pod } from './types.ts';

export type Identity = 'none' | 'placeholder' | 'own' | 'unclear';

export function identify(facts: PodFacts, container: ContainerFacts, status: ContainerStatus, pod: Pod): Identity {
  const id = containerIDOf(status);
  if (id === null) return 'none';
  if (container.isOwnFromStart || container.ownIDs.includes(id)) return 'own';
  if (container.requestedAt === null || container.placeholderIDs.includes(id)) return 'placeholder';
  if (isBeforeSwitch(container, pod, facts)) return 'placeholder';
  return container.placeholderIDs.length > 0
    ? identifySuccessor(facts, container, status, pod)
    : identifyFirst(facts, container, status);
}

/** Of the newest instance; null when the status knows none. */
export function containerIDOf(status: ContainerStatus): string | null {
  return status.containerID || status.state?.terminated?.containerID || null;
}

export function specOf(pod: Pod, name: string): ContainerSpec | undefined {
  return pod.spec?.containers?.find((container) => container.name === name);
}

export function isPlaceholderImage(facts: PodFacts, image: string | undefined): boolean {
  return image !== undefined && facts.start.placeholderImages.some((placeholder) => isSameImage(placeholder, image));
}

/** Whether the kubelet starts a placeholder again that ended because its step was asked for. */
export function isRetried(facts: PodFacts, pod: Pod, name: string): boolean {
  if (facts.start.retries !== null) return facts.start.retries;
  const rules = specOf(pod, name)?.restartPolicyRules ?? [];
  return rules.some(
    ({ action, exitCodes }) =>
      action === 'Restart' && exitCodes?.operator === 'In' && exitCodes.values.includes(facts.start.sigtermCode),
  );
}

/** The object is older than the request, or its status than the kubelet's knowledge of it. */
function isBeforeSwitch(container: ContainerFacts, pod: Pod, facts: PodFacts): boolean {
  if (isPlaceholderImage(facts, specOf(pod, container.name)?.image)) return true;
  const observed = pod.status?.observedGeneration;
  const { placeholderGeneration } = container;
  return observed !== undefined && placeholderGeneration !== null && observed <= placeholderGeneration;
}

/** Under Never only the switch gives a container a new instance; under restart rules its placeholder's end does too. */
function identifySuccessor(facts: PodFacts, container: ContainerFacts, status: ContainerStatus, pod: Pod): Identity {
  return isRetried(facts, pod, container.name) && looksLikePlaceholder(facts, status) ? 'placeholder' : 'own';
}

function identifyFirst(facts: PodFacts, container: ContainerFacts, status: ContainerStatus): Identity {
  if (looksLikePlaceholder(facts, status)) return 'placeholder';
  if (status.imageID && facts.placeholderImageIDs.length > 0) return 'own';
  const asked = container.images.at(-1);
  if (asked !== undefined && status.image !== undefined && isSameImage(asked, status.image)) return 'own';
  return (status.restartCount ?? 0) > 0 ? 'own' : 'unclear';
}

function looksLikePlaceholder(facts: PodFacts, status: ContainerStatus): boolean {
  if (status.imageID && facts.placeholderImageIDs.includes(status.imageID)) return true;
  const isKnownImageID = facts.placeholderImageIDs.length > 0 && Boolean(status.imageID);
  return !isKnownImageID && isPlaceholderImage(facts, status.image);
}
