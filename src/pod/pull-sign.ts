/** How signs of a failed pull add up, and what is said of them. */
import type { ContainerMessage, ImagePullFailed, Source } from '../../machines/messages.ts';
import type { PullFailureClass } from '../../machines/outcome.ts';
import { type AttemptTeller, type ContainerFacts, noPullFailure, type PullFacts, type Topic } from './facts.ts';
import { isPermanent } from './pull-failure.ts';

export interface PullSign {
  readonly teller: AttemptTeller;
  /** Attempts that are new with this sign; 0 for one that only shows that there is trouble. */
  readonly newAttempts: number;
  readonly class: PullFailureClass;
  readonly words: string | null;
}

/** An unknown class tells nothing new of a known one. A transient one ends the count of permanent attempts. */
export function withPullSign(pull: PullFacts, sign: PullSign): PullFacts {
  const isNews = sign.class !== 'unknown' || pull.class === 'unknown';
  const failureClass = isNews ? sign.class : pull.class;
  const attempts = { ...pull.attempts, [sign.teller]: pull.attempts[sign.teller] + sign.newAttempts };
  const permanentAttempts = isPermanent(failureClass)
    ? { ...pull.permanentAttempts, [sign.teller]: pull.permanentAttempts[sign.teller] + sign.newAttempts }
    : noPullFailure.permanentAttempts;
  return {
    class: failureClass,
    message: isNews ? (sign.words ?? pull.message) : pull.message,
    attempts,
    permanentAttempts,
  };
}

export function pullFailedMessage(pull: PullFacts, at: number, source: Source): ImagePullFailed {
  const permanent = isPermanent(pull.class);
  return {
    type: 'image.pullFailed',
    at,
    source,
    class: pull.class,
    permanent,
    message: pull.message,
    attempts: Math.max(1, ...Object.values(pull.attempts)),
    permanentAttempts: permanent ? Math.max(1, ...Object.values(pull.permanentAttempts)) : 0,
  };
}

/** Keeps back what was just said of the same topic. */
export function say(
  container: ContainerFacts,
  message: ContainerMessage,
): { readonly container: ContainerFacts; readonly message: ContainerMessage | null } {
  const topic = topicOf(message);
  const { at: _at, ...content } = message;
  const words = JSON.stringify({ ...content, source: null });
  if (container.said[topic] === words) return { container, message: null };
  return { container: { ...container, said: { ...container.said, [topic]: words } }, message };
}

function topicOf({ type }: ContainerMessage): Topic {
  if (type === 'node.silent' || type === 'node.answered') return 'node';
  if (type === 'switch.failed') return 'switch';
  return type === 'container.running' || type === 'container.terminated' ? 'life' : 'start';
}
