/**
 * The scheduler: binds pods that have no node, and says why when none fits. A client of the API server like any other.
 */
import type { Clock, Timer } from '../clock.ts';
import type { Logger } from '../logger.ts';
import { type ApiClient, ApiFailure, ListWatch } from './client.ts';
import type { Profile } from './profile.ts';
import { parseQuantity } from './quantity.ts';
import type { Random } from './random.ts';
import { texts } from './texts.ts';
import { eventSuffix, microTimestamp, timestamp } from './times.ts';
import type { Timings } from './timings.ts';
import type { ApiObject, PodCondition, PodObject } from './types.ts';

export interface SchedulerOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly timings: Timings;
  readonly logger: Logger;
}

interface NodeObject extends ApiObject {
  spec: { unschedulable?: boolean; taints?: { key: string; effect: string }[] };
  status: { allocatable?: Record<string, string>; conditions?: { type: string; status: string }[] };
}

/** A binding that failed for a passing reason is tried again after this. */
const retryMs = 1_000;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #pods: ListWatch;
  readonly #nodes: ListWatch;
  readonly #timers = new Map<string, Timer>();
  /** Pods told unschedulable, so that each is told once. */
  readonly #unschedulable = new Map<string, string>();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    const { client } = options;
    this.#pods = new ListWatch({
      client,
      path: '/api/v1/pods',
      fieldSelector: 'spec.nodeName=',
      onChange: (object, change) => (change === 'deleted' ? this.#forget(object) : this.#consider(object as PodObject)),
    });
    this.#nodes = new ListWatch({
      client,
      path: '/api/v1/nodes',
      onChange: () => {
        for (const pod of this.#pods.objects()) this.#consider(pod as PodObject);
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
    await Promise.all([this.#pods.stop(), this.#nodes.stop()]);
  }

  #forget({ metadata }: ApiObject): void {
    this.#timers.get(metadata.uid)?.cancel();
    this.#timers.delete(metadata.uid);
    this.#unschedulable.delete(metadata.uid);
  }

  #consider(pod: PodObject): void {
    const { uid, deletionTimestamp } = pod.metadata;
    const mine = (pod.spec.schedulerName ?? 'default-scheduler') === 'default-scheduler';
    const gated = (pod.spec.schedulingGates ?? []).length > 0;
    if (!mine || gated || deletionTimestamp !== undefined || this.#timers.has(uid)) return;
    this.#later(pod, this.#options.random.duration(this.#options.timings.bindMs));
  }

  #later(pod: PodObject, delayMs: number): void {
    const { uid } = pod.metadata;
    const timer = this.#options.clock.schedule(delayMs, () => {
      this.#timers.delete(uid);
      const current = this.#pods.objects().find(({ metadata }) => metadata.uid === uid);
      if (current !== undefined) void this.#schedule(current as PodObject);
    });
    this.#timers.set(uid, timer);
  }

  /** Never rejects: what fails is tried again, or the pod is gone. */
  async #schedule(pod: PodObject): Promise<void> {
    try {
      const { node, reasons } = this.#fit(pod);
      if (node === undefined) await this.#refuse(pod, reasons);
      else await this.#bind(pod, node.metadata.name);
    } catch (error) {
      const final = error instanceof ApiFailure && (error.code === 404 || error.code === 409);
      this.#options.logger.debug('the scheduler failed', { pod: pod.metadata.name, error });
      if (!final) this.#later(pod, retryMs);
    }
  }

  async #bind(pod: PodObject, node: string): Promise<void> {
    const { client } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    await client.send('POST', `/api/v1/namespaces/${namespace}/pods/${name}/binding`, {
      kind: 'Binding',
      apiVersion: 'v1',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: node },
    });
    this.#unschedulable.delete(uid);
    await this.#event(pod, 'Normal', 'Scheduled', 'Binding', texts.scheduled(`${namespace}/${name}`, node));
  }

  async #refuse(pod: PodObject, reasons: ReadonlyMap<string, number>): Promise<void> {
    const { client, clock, profile } = this.#options;
    const { namespace, name, uid, generation } = pod.metadata;
    const message = texts.unschedulable(this.#nodes.objects().length, reasons, profile.claimsText);
    if (this.#unschedulable.get(uid) === message) return;
    this.#unschedulable.set(uid, message);
    const condition: PodCondition = {
      type: 'PodScheduled',
      ...(profile.observedGeneration && generation !== undefined && { observedGeneration: generation }),
      status: 'False',
      lastProbeTime: null,
      lastTransitionTime: timestamp(clock.now()),
      reason: 'Unschedulable',
      message,
    };
    const others = (pod.status.conditions ?? []).filter(({ type }) => type !== condition.type);
    await this.#event(pod, 'Warning', 'FailedScheduling', 'Scheduling', message);
    await client.merge(`/api/v1/namespaces/${namespace}/pods/${name}/status`, {
      status: { conditions: [...others, condition] },
    });
  }

  #fit(pod: PodObject): { node?: NodeObject; reasons: ReadonlyMap<string, number> } {
    const reasons = new Map<string, number>();
    for (const node of this.#nodes.objects() as NodeObject[]) {
      const reason = obstacle(pod, node);
      if (reason === undefined) return { node, reasons };
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    return { reasons };
  }

  async #event(pod: PodObject, type: string, reason: string, action: string, note: string): Promise<void> {
    const { client, clock, random } = this.#options;
    const { namespace, name, uid, resourceVersion } = pod.metadata;
    const now = clock.now();
    await client.send('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      metadata: { name: `${name}.${eventSuffix(now, random.integer(0, 999_999))}`, namespace },
      eventTime: microTimestamp(now),
      reportingController: 'default-scheduler',
      reportingInstance: 'default-scheduler-podwright',
      action,
      reason,
      regarding: { kind: 'Pod', namespace, name, uid, apiVersion: 'v1', resourceVersion },
      note,
      type,
    });
  }
}

/** Why the pod cannot go to this node, in the scheduler's words. */
function obstacle(pod: PodObject, node: NodeObject): string | undefined {
  if (node.spec.unschedulable === true) return 'node(s) were unschedulable';
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  if (!selected) return "node(s) didn't match Pod's node affinity/selector";
  const taint = node.spec.taints?.find(
    ({ key, effect }) =>
      effect !== 'PreferNoSchedule' &&
      !pod.spec.tolerations?.some((one) => (one.key ?? key) === key && (one.effect ?? effect) === effect),
  );
  if (taint !== undefined) return `node(s) had untolerated taint(s)`;
  for (const resource of ['cpu', 'memory'] as const) {
    const wanted = pod.spec.containers.reduce(
      (sum, container) => sum + parseQuantity(container.resources?.requests?.[resource] ?? '0'),
      0,
    );
    const has = parseQuantity(node.status.allocatable?.[resource] ?? '0');
    if (wanted > has) return `Insufficient ${resource}`;
  }
  return undefined;
}
