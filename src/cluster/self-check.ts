/**
 * What holds of the pods of every real cluster (the rules of its e2e pod verifier), held to those of this one: a cluster
 * that shows what no real one shows must not be believed.
 *
 * Judged are the words of the cluster's own parts. A pod whose status a client has written is the client's affair.
 */
import { assert } from '../assert.ts';
import { isFinalEnd } from './api/pods/status-update.ts';
import type { Revision, RevisionStore } from './store/revisions.ts';
import type { ContainerStatus, PodObject } from './types.ts';

/** One of the cluster's own parts, or a client. */
export type Writer = 'own' | 'client';

export type PodRevision = Pick<Revision, 'type'> & { readonly object: PodObject };

export class SelfCheck {
  readonly #broken: string[] = [];
  readonly #last = new Map<string, PodObject>();
  /** Pods that nothing more is expected of. */
  readonly #excused = new Set<string>();
  /** Pods that a client has forced away: nobody waits for their containers. */
  readonly #forced = new Set<string>();
  /** Set when the clock by which containers are stamped has been changed. */
  ignoresTimes = false;

  /** What was broken, in words; empty when all holds. */
  get broken(): readonly string[] {
    return this.#broken;
  }

  follow(store: RevisionStore, writer: () => Writer): void {
    store.subscribe('pods', ({ type, object }) => this.see({ type, object: object as PodObject }, writer()));
  }

  see({ type, object }: PodRevision, writer: Writer): void {
    const { uid, name, resourceVersion, deletionGracePeriodSeconds } = object.metadata;
    const before = this.#last.get(uid);
    if (writer === 'client' && before !== undefined && !sameStatus(before, object)) this.#excused.add(uid);
    if (writer === 'client' && deletionGracePeriodSeconds === 0) this.#forced.add(uid);
    if (!this.#excused.has(uid)) {
      const complain = (what: string): void => void this.#broken.push(`pod ${name} at ${resourceVersion}: ${what}`);
      if (before !== undefined) compare(before, object, complain);
      if (!this.ignoresTimes) checkTimes(object, complain);
      if (type === 'DELETED' && !this.#forced.has(uid)) checkNothingRuns(object, complain);
    }
    if (type !== 'DELETED') this.#last.set(uid, object);
    else for (const kept of [this.#last, this.#excused, this.#forced]) kept.delete(uid);
  }

  /** Throws ERR_PODWRIGHT_ASSERTION when anything was broken. */
  conclude(): void {
    const [first] = this.#broken;
    assert(first === undefined, `the embedded cluster shows only what a real one can show: ${this.#broken.join('; ')}`);
  }
}

type Complain = (what: string) => void;

function statusesOf({ status }: PodObject): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

/** As far as containers and phase go: conditions have many writers. */
function sameStatus(before: PodObject, after: PodObject): boolean {
  const read = (pod: PodObject): string => JSON.stringify([pod.status.phase, statusesOf(pod)]);
  return read(before) === read(after);
}

function compare(before: PodObject, after: PodObject, complain: Complain): void {
  if (Number(after.metadata.resourceVersion) <= Number(before.metadata.resourceVersion)) complain('went back in time');
  const { phase } = before.status;
  if ((phase === 'Succeeded' || phase === 'Failed') && after.status.phase !== phase) complain('left a terminal phase');
  // A pod that the node does not take, once it looks again, loses what was said of it.
  if (after.status.message?.startsWith('Pod was rejected') === true) return;
  checkComplete(before, after, complain);
  const known = statusesOf(before);
  for (const status of statusesOf(after)) {
    const old = known.find(({ name }) => name === status.name);
    if (old !== undefined) checkContainer(after, old, status, complain);
  }
}

function checkComplete(before: PodObject, after: PodObject, complain: Complain): void {
  const { containers, initContainers = [] } = after.spec;
  const names = (after.status.containerStatuses ?? []).map(({ name }) => name);
  if (before.status.containerStatuses !== undefined) {
    if (names.length !== containers.length) complain('lost a container status');
    const initCount = after.status.initContainerStatuses?.length ?? 0;
    if (initCount !== initContainers.length) complain('lost the status of an init container');
  }
  if (names.join() !== [...names].sort().join()) complain('statuses are not sorted by name');
}

function checkContainer(pod: PodObject, old: ContainerStatus, next: ContainerStatus, complain: Complain): void {
  const { name, restartCount, state, containerID } = next;
  if (restartCount < old.restartCount) complain(`${name} lost restarts`);
  if (old.state.terminated === undefined || state.terminated !== undefined) return;
  const isSameTry = old.containerID === containerID && old.restartCount === restartCount;
  const isFinal = isFinalEnd(pod, name, old.state.terminated.exitCode);
  if (isFinal || (isSameTry && state.running !== undefined)) complain(`${name} came back to life`);
}

function checkTimes(pod: PodObject, complain: Complain): void {
  for (const { name, state } of statusesOf(pod)) {
    const { startedAt, finishedAt } = state.terminated ?? {};
    if (startedAt && finishedAt && startedAt > finishedAt) complain(`${name} ended before it started`);
  }
}

function checkNothingRuns(pod: PodObject, complain: Complain): void {
  for (const { name, state } of statusesOf(pod)) if (state.running !== undefined) complain(`gone while ${name} runs`);
}
