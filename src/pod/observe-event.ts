/**
 * The projection of Kubernetes Events: hints that name causes and make verdicts faster, and never prove one alone.
 *
 * An Event counts for a container only when its uid is the pod's, its `fieldPath` names the container (texts do not:
 * since 1.35 they are nameless), its count has grown since it was last seen, and it is no older than the request. When
 * its text quotes an image, that image must be the step's. That a step is being stopped takes from its end what clocks
 * may say for it, and gives nothing.
 */
import type { Addressed, ContainerMessage, Source } from '../../machines/messages.ts';
import { isSameImage } from '../image/reference.ts';
import {
  type AttemptTeller,
  type ContainerFacts,
  nodeBehindMs,
  noPullFailure,
  type PodFacts,
  timeOf,
  wasClockSetBack,
  withContainer,
} from './facts.ts';
import { isPlaceholderImage, specOf } from './identity.ts';
import { classifyPullFailure } from './pull-failure.ts';
import { type PullSign, pullFailedMessage, say, withPullSign } from './pull-sign.ts';
import {
  configErrorText,
  eventBlocks,
  eventReasons,
  eventTexts,
  failedPullReasons,
  pullBackOffReason,
} from './reasons.ts';
import type { KubeEvent } from './types.ts';

export interface EventObservation {
  readonly facts: PodFacts;
  readonly messages: readonly Addressed[];
}

export function observeEvent(facts: PodFacts, event: KubeEvent, at: number): EventObservation {
  if (facts.gone !== null || !isOfPod(facts, event)) return { facts, messages: [] };
  const count = countOf(event);
  const seen = facts.eventCounts.get(event.metadata.uid) ?? 0;
  if (count <= seen) return { facts, messages: [] };
  const known = { ...facts, eventCounts: new Map(facts.eventCounts).set(event.metadata.uid, count) };
  const container = facts.containers.get(containerName(event) ?? '');
  if (container !== undefined && isStopOfTheStep(container, event)) {
    return { facts: withContainer(known, { ...container, isStopped: true }), messages: [] };
  }
  if (container === undefined || !isAfterRequest(facts, container, event)) return { facts: known, messages: [] };
  const told = isOfImage(facts, container, textOf(event)) ? tell(container, event, count - seen, at) : null;
  if (told === null) return { facts: known, messages: [] };
  const said = say(told.container, told.message);
  const messages = said.message === null ? [] : [{ container: container.name, message: said.message }];
  return { facts: withContainer(known, said.container), messages };
}

/** No clock is asked: what was stopped before, of a step that was seen, was its placeholder, and is told in other words. */
function isStopOfTheStep({ ownIDs }: ContainerFacts, event: KubeEvent): boolean {
  return ownIDs.length > 0 && event.reason === eventReasons.killing && textOf(event).startsWith(eventTexts.stopping);
}

/** The name in `spec.containers{NAME}`; null for the pod itself, init containers and `spec.containers[2]`. */
export function containerName(event: KubeEvent): string | null {
  return /^spec\.containers\{(.+)\}$/.exec(event.involvedObject.fieldPath ?? '')?.[1] ?? null;
}

function isOfPod(facts: PodFacts, event: KubeEvent): boolean {
  const { kind, uid } = event.involvedObject;
  return (kind === undefined || kind === 'Pod') && uid !== undefined && uid === facts.uid;
}

/** Two forms: the kubelet's has a count, the scheduler's a series (kubernetes.md §1.1). */
export function countOf(event: KubeEvent): number {
  return Math.max(1, event.count ?? 1, event.series?.count ?? 1);
}

function isAfterRequest(facts: PodFacts, container: ContainerFacts, event: KubeEvent): boolean {
  if (container.requestedAt === null) return false;
  if (container.isOwnFromStart || facts.clockOffsetMs === null) return true;
  const time = timeOf(event.lastTimestamp) ?? timeOf(event.series?.lastObservedTime) ?? timeOf(event.eventTime);
  const requestedAt = container.requestedAt + facts.clockOffsetMs;
  const writtenAt = timeWritten(event);
  if (writtenAt !== null && writtenAt + eventMarginMs <= requestedAt) return false;
  if (time === null || (writtenAt !== null && facts.pod !== null && wasClockSetBack(facts.pod))) return true;
  const marginMs = eventMarginMs + (facts.pod === null ? 0 : nodeBehindMs(facts, facts.pod));
  return time + marginMs > requestedAt;
}

/** On the server's clock: when it was written, of one that happened once. It happened before, and mostly just before. */
function timeWritten(event: KubeEvent): number | null {
  return countOf(event) === 1 ? timeOf(event.metadata.creationTimestamp) : null;
}

/** Whole seconds in the Event, and the clock's offset is known to about one more. */
const eventMarginMs = 2_000;

interface Told {
  readonly container: ContainerFacts;
  readonly message: ContainerMessage;
}

function tell(container: ContainerFacts, event: KubeEvent, growth: number, at: number): Told | null {
  const source: Source = { source: 'kubeEvent', eventUid: event.metadata.uid };
  const text = textOf(event);
  switch (event.reason ?? '') {
    case eventReasons.pulling:
      return { container, message: { type: 'image.pulling', at, source } };
    case eventReasons.pulled:
      return { container: { ...container, pull: noPullFailure }, message: { type: 'image.pulled', at, source } };
    case eventReasons.neverPull:
      return failedPull(container, at, source, sign(container, 'never', growth, 'ErrImageNeverPull', text));
    case eventReasons.inspectFailed: {
      const reason = text.startsWith(eventTexts.invalidName) ? 'InvalidImageName' : 'ImageInspectError';
      return failedPull(container, at, source, sign(container, 'inspect', growth, reason, text));
    }
    case eventReasons.backOff:
      return text.startsWith(eventTexts.backOffPull)
        ? failedPull(container, at, source, sign(container, 'failed', 0, pullBackOffReason, null))
        : null;
    case eventReasons.failed:
      return tellFailed(container, text, growth, at, source);
    default:
      return null;
  }
}

/** `Failed` means a pull or a start; its text tells which, and the short forms come along with a better Event. */
function tellFailed(container: ContainerFacts, text: string, growth: number, at: number, source: Source): Told | null {
  if (text.startsWith(eventTexts.failedPull)) {
    return failedPull(container, at, source, sign(container, 'failed', growth, 'ErrImagePull', text));
  }
  const isHook = eventTexts.internalHook.test(text);
  if (!text.startsWith(eventTexts.error) && !isHook) return null;
  const words = isHook ? text : text.slice(eventTexts.error.length);
  if (words === pullBackOffReason || failedPullReasons.has(words)) {
    const short = sign(container, 'failed', 0, words, null);
    return short.class === 'unknown' ? null : failedPull(container, at, source, short);
  }
  const block = configErrorText.test(words) ? eventBlocks.config : eventBlocks.create;
  return { container, message: { type: 'start.blocked', at, source, ...block, message: words } };
}

function failedPull(container: ContainerFacts, at: number, source: Source, told: PullSign): Told {
  const pull = withPullSign(container.pull, told);
  return { container: { ...container, pull }, message: pullFailedMessage(pull, at, source) };
}

function sign(
  container: ContainerFacts,
  teller: AttemptTeller,
  newAttempts: number,
  reason: string,
  words: string | null,
): PullSign {
  return { teller, newAttempts, class: classifyPullFailure(reason, words, container.images), words };
}

/** Events of ten and more containers are merged under one wrong fieldPath: the quoted image tells (kubernetes.md §2.2). */
function isOfImage(facts: PodFacts, container: ContainerFacts, text: string): boolean {
  const quoted = /\bimage(?: tag)? ("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
  if (quoted === undefined || quoted === '""') return true;
  const image = unquoted(quoted);
  if (container.images.some((asked) => isSameImage(asked, image))) return true;
  // The cluster's admission may have written another one into the spec.
  const written = facts.pod === null ? undefined : specOf(facts.pod, container.name)?.image;
  return written !== undefined && !isPlaceholderImage(facts, written) && isSameImage(written, image);
}

/** Go's %q is JSON for all that an image reference may hold. */
function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(["\\])/g, '$1');
}

function textOf({ message = '' }: KubeEvent): string {
  return withoutPrefix(message, eventTexts.combined);
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}
