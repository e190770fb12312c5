/**
 * The scheduler: binds pods that have no node, says why when none fits, tries again when something has changed that may
 * help, and lets less important pods give way. A client of the API server like any other.
 */
import type { Timer } from '../../clock.ts';
import { ApiFailure, ListWatch } from '../client.ts';
import { disruptionTarget, podCondition } from '../controllers/condition.ts';
import type { ControllerOptions } from '../controllers/options.ts';
import { equal } from '../json.ts';
import { texts } from '../texts.ts';
import type { PodObject } from '../types.ts';
import { EventSeries } from './event-series.ts';
import { type NodeObject, type NodeState, obstacle } from './fit.ts';
import { type Preemption, preemption } from './preemption.ts';

/** A binding that failed for a passing reason is tried again after this. */
const retryMs = 1_000;

/** A pod that found no node is not tried again before; doubles with each try. */
const firstBackOffMs = 1_000;
const longestBackOffMs = 10_000;

/** It is tried again after this even if nothing has changed, at the next of the looks that are taken so often. */
const forgottenMs = 300_000;
const lookMs = 30_000;

interface Failure {
  tries: number;
  at: number;
}

interface Verdict {
  readonly node?: NodeObject;
  /** How many nodes, by reason. */
  readonly reasons: ReadonlyMap<string, number>;
  /** Nodes that have no room only because of other pods. */
  readonly crowded: number;
}

export class Scheduler {
  readonly #options: ControllerOptions;
  /** All that take room, or want to. */
  readonly #pods: ListWatch;
  readonly #nodes: ListWatch;
  readonly #events: EventSeries;
  readonly #timers = new Map<string, Timer>();
  /** Being bound or refused at this moment. */
  readonly #active = new Set<string>();
  /** Of those, for which meanwhile something has changed that may help. */
  readonly #helped = new Set<string>();
  /** Bound, but not told to be bound yet: they take room already. */
  readonly #assumed = new Map<string, string>();
  readonly #failures = new Map<string, Failure>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    const { client, clock, random, logger, timings } = options;
    this.#events = new EventSeries({ client, clock, random: random.fork('events'), logger, lagMs: timings.eventLagMs });
    this.#pods = new ListWatch({
      client,
      path: '/api/v1/pods',
      fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed',
      onChange: (object, change, old) => this.#changed(object as PodObject, change, old as PodObject | undefined),
    });
    this.#nodes = new ListWatch({
      client,
      path: '/api/v1/nodes',
      onChange: (object, _change, old) => {
        if (old === undefined || offersOther(object as NodeObject, old as NodeObject)) this.#tryFailed();
      },
    });
  }

  async start(): Promise<void> {
    this.#nodes.start();
    await this.#nodes.synced;
    this.#pods.start();
    await this.#pods.synced;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#events.stop();
    await Promise.all([this.#pods.stop(), this.#nodes.stop()]);
  }

  #changed(pod: PodObject, change: 'added' | 'updated' | 'deleted', old: PodObject | undefined): void {
    const { uid } = pod.metadata;
    const { nodeName } = pod.spec;
    if (nodeName !== undefined) this.#assumed.delete(uid);
    if (change === 'deleted') {
      this.#forget(uid);
      // Where it was there is room now.
      if (nodeName !== undefined) this.#tryFailed();
    } else if (nodeName === undefined && (old === undefined || wantsOther(pod, old))) this.#consider(pod);
  }

  #forget(uid: string): void {
    this.#timers.get(uid)?.cancel();
    this.#timers.delete(uid);
    this.#assumed.delete(uid);
    this.#failures.delete(uid);
  }

  #consider(pod: PodObject): void {
    const { uid, deletionTimestamp } = pod.metadata;
    const mine = (pod.spec.schedulerName ?? 'default-scheduler') === 'default-scheduler';
    const gated = (pod.spec.schedulingGates ?? []).length > 0;
    if (!mine || gated || deletionTimestamp !== undefined) return;
    if (this.#failures.has(uid)) this.#tryAgain(uid);
    else if (!this.#timers.has(uid)) this.#later(uid, this.#options.random.duration(this.#options.timings.bindMs));
  }

  /** Something has changed that may help. */
  #tryFailed(): void {
    for (const uid of this.#active) this.#helped.add(uid);
    for (const uid of this.#failures.keys()) this.#tryAgain(uid);
  }

  #tryAgain(uid: string): void {
    const failure = this.#failures.get(uid);
    if (failure === undefined || this.#active.has(uid)) return;
    const backOffMs = Math.min(firstBackOffMs * 2 ** (failure.tries - 1), longestBackOffMs);
    this.#later(uid, Math.max(0, failure.at + backOffMs - this.#options.clock.now()));
  }

  #later(uid: string, delayMs: number): void {
    this.#timers.get(uid)?.cancel();
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(uid);
      const pod = this.#pods.get(uid) as PodObject | undefined;
      if (pod !== undefined && pod.spec.nodeName === undefined && !this.#assumed.has(uid)) void this.#schedule(pod);
    });
    this.#timers.set(uid, timer);
  }

  /** Never rejects: what fails is tried again, or the pod is gone. */
  async #schedule(pod: PodObject): Promise<void> {
    const { uid, name } = pod.metadata;
    this.#active.add(uid);
    try {
      const states = this.#states();
      const verdict = judge(pod, states);
      if (verdict.node !== undefined) await this.#bind(pod, verdict.node.metadata.name);
      else await this.#refuse(pod, verdict, states);
    } catch (error) {
      this.#assumed.delete(uid);
      const final = error instanceof ApiFailure && (error.code === 404 || error.code === 409);
      this.#options.logger.debug('the scheduler failed', { pod: name, error });
      if (!final) this.#later(uid, retryMs);
    } finally {
      this.#active.delete(uid);
      if (this.#helped.delete(uid)) this.#tryAgain(uid);
    }
  }

  #states(): NodeState[] {
    const pods = this.#pods.objects() as PodObject[];
    return (this.#nodes.objects() as NodeObject[]).map((node) => ({
      node,
      pods: pods.filter(
        ({ spec, metadata }) => (spec.nodeName ?? this.#assumed.get(metadata.uid)) === node.metadata.name,
      ),
    }));
  }

  async #bind(pod: PodObject, node: string): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    this.#assumed.set(uid, node);
    await this.#options.client.send('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: node },
    });
    this.#failures.delete(uid);
    const note = texts.scheduled(`${namespace}/${name}`, node);
    this.#events.record({ pod, type: 'Normal', reason: 'Scheduled', action: 'Binding', note });
  }

  async #refuse(pod: PodObject, verdict: Verdict, states: readonly NodeState[]): Promise<void> {
    const { clock, random } = this.#options;
    const { uid } = pod.metadata;
    const failure = this.#failures.get(uid) ?? { tries: 0, at: 0 };
    this.#failures.set(uid, { tries: failure.tries + 1, at: clock.now() });
    this.#later(uid, forgottenMs + random.between(0, lookMs));
    const found = mayPreempt(pod) ? preemption(pod, states) : undefined;
    const note = this.#refusalText(pod, verdict, found);
    this.#events.record({ pod, type: 'Warning', reason: 'FailedScheduling', action: 'Scheduling', note });
    if (found !== undefined) await this.#preempt(pod, found);
    await this.#markUnschedulable(pod, note, found?.node.metadata.name);
  }

  #refusalText(pod: PodObject, { reasons, crowded }: Verdict, found: Preemption | undefined): string {
    const { claimsText } = this.#options.profile;
    const nodes = this.#nodes.objects().length;
    if (found !== undefined) return texts.unschedulable(nodes, reasons, '');
    const preempting = mayPreempt(pod) ? texts.noPreemption(nodes, crowded) : texts.neverPreempts;
    return texts.unschedulable(nodes, reasons, `${claimsText ? texts.noClaims : ''}${preempting}`);
  }

  /** The victims are deleted with their grace; the pod is tried again when they are gone. */
  async #preempt(pod: PodObject, { node, victims }: Preemption): Promise<void> {
    const { client } = this.#options;
    for (const victim of victims) {
      const { namespace, name, uid, deletionTimestamp } = victim.metadata;
      if (deletionTimestamp !== undefined) continue;
      const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
      const because = { reason: 'PreemptionByScheduler', message: texts.preempting };
      const condition = disruptionTarget(victim, because, this.#options);
      const others = (victim.status.conditions ?? []).filter(({ type }) => type !== condition.type);
      await client.merge(`${path}/status`, { metadata: { uid }, status: { conditions: [...others, condition] } });
      await client.send('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } });
      this.#events.record({
        pod: victim,
        related: pod,
        type: 'Normal',
        reason: 'Preempted',
        action: 'Preempting',
        note: texts.preempted(pod.metadata.uid, node.metadata.name),
      });
    }
  }

  async #markUnschedulable(pod: PodObject, message: string, nominated: string | undefined): Promise<void> {
    const { client } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const conditions = pod.status.conditions ?? [];
    const old = conditions.find(({ type }) => type === 'PodScheduled');
    const since = old?.status === 'False' ? old.lastTransitionTime : undefined;
    const said = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, since } as const;
    const condition = podCondition(pod, said, this.#options);
    if (equal(condition, old) && nominated === undefined) return;
    const others = conditions.filter(({ type }) => type !== condition.type);
    await client.merge(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
      metadata: { uid },
      status: { conditions: [...others, condition], ...(nominated && { nominatedNodeName: nominated }) },
    });
  }
}

function judge(pod: PodObject, states: readonly NodeState[]): Verdict {
  const reasons = new Map<string, number>();
  let crowded = 0;
  for (const state of states) {
    const found = obstacle(pod, state);
    if (found === undefined) return { node: state.node, reasons, crowded };
    for (const reason of found.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (found.isOfPods) crowded += 1;
  }
  return { reasons, crowded };
}

function mayPreempt({ spec }: PodObject): boolean {
  return spec['preemptionPolicy'] !== 'Never';
}

/** What decides where it may go; a condition of its status does not. */
function wantsOther(next: PodObject, old: PodObject): boolean {
  return !equal([next.spec, next.metadata.labels], [old.spec, old.metadata.labels]);
}

/** A sign of life changes nothing. */
function offersOther(next: NodeObject, old: NodeObject): boolean {
  const read = ({ spec, status, metadata }: NodeObject): unknown[] => [spec, status.allocatable, metadata.labels];
  return !equal(read(next), read(old));
}
