/**
 * What happens to a node that falls silent and to its pods (k8s node lifecycle and taint eviction): nothing is scheduled
 * there, its pods are `Ready=False`, and, where another node is ready, evicted after their toleration.
 */
import { type ApiClient, ApiFailure, ListWatch } from '../client.ts';
import { readyCondition } from '../kubelet/node.ts';
import type { Random } from '../random.ts';
import { texts } from '../texts.ts';
import { eventSuffix, timestamp } from '../times.ts';
import type { ApiObject, PodCondition, PodObject } from '../types.ts';
import { disruptionTarget } from './condition.ts';
import type { ControllerOptions } from './options.ts';
import { WorkQueue } from './work-queue.ts';

interface Taint {
  key: string;
  effect: string;
  timeAdded?: string;
}

interface NodeObject extends ApiObject {
  spec: { taints?: Taint[] };
  status: { conditions?: { type: string; status: string; lastHeartbeatTime: string }[] };
}

const unreachable = 'node.kubernetes.io/unreachable';
const checkMs = 5_000;

export class NodeController {
  readonly #options: ControllerOptions;
  readonly #client: ApiClient;
  readonly #random: Random;
  readonly #nodes: ListWatch;
  readonly #queue: WorkQueue;
  /** Nodes found silent, and since when their pods are to be evicted. */
  readonly #silent = new Map<string, number | undefined>();

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#client = options.client;
    this.#random = options.random;
    const { clock, logger, client } = options;
    this.#queue = new WorkQueue({ clock, logger, work: () => this.#check() });
    this.#nodes = new ListWatch({ client, path: '/api/v1/nodes', onChange: () => undefined });
  }

  async start(): Promise<void> {
    this.#nodes.start();
    await this.#nodes.synced;
    // Its checks keep no step with what the nodes say.
    this.#queue.add('nodes', this.#random.between(0, checkMs));
  }

  async stop(): Promise<void> {
    await Promise.all([this.#nodes.stop(), this.#queue.stop()]);
  }

  async #check(): Promise<number> {
    const nodes = this.#nodes.objects() as NodeObject[];
    const lost = nodes.filter((node) => this.#isLate(node));
    for (const node of nodes) {
      if (!lost.includes(node)) await this.#isBack(node);
      else if (!this.#silent.has(node.metadata.name)) await this.#isSilent(node);
    }
    // With every node silent it is the network, or this controller: nothing is evicted then.
    const someReady = nodes.length > lost.length;
    for (const { metadata } of lost) {
      if (someReady) await this.#evict(metadata.name);
    }
    return checkMs;
  }

  #isLate({ status }: NodeObject): boolean {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    const { clock, timings } = this.#options;
    return ready !== undefined && clock.now() - Date.parse(ready.lastHeartbeatTime) > timings.nodeGraceMs;
  }

  async #isSilent(node: NodeObject): Promise<void> {
    const { name } = node.metadata;
    this.#silent.set(name, undefined);
    const { clock } = this.#options;
    const heartbeat = node.status.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
    const condition = { ...readyCondition(false, clock.now()), lastHeartbeatTime: heartbeat };
    await this.#client.merge(`/api/v1/nodes/${name}/status`, { status: { conditions: [condition] } });
    await this.#taint(name, ['NoSchedule']);
    for (const pod of await this.#podsOf(name)) await this.#markNotReady(pod);
  }

  async #isBack({ metadata }: NodeObject): Promise<void> {
    if (this.#silent.delete(metadata.name)) await this.#taint(metadata.name, []);
  }

  /** Those effects of silence, and no others. */
  async #taint(name: string, effects: readonly string[]): Promise<void> {
    const path = `/api/v1/nodes/${name}`;
    const { spec } = await this.#client.get<NodeObject>(path);
    const { clock } = this.#options;
    const own = effects.map((effect) => ({ key: unreachable, effect, timeAdded: timestamp(clock.now()) }));
    const taints = [...(spec.taints ?? []).filter(({ key }) => key !== unreachable), ...own];
    await this.#client.merge(path, { spec: { taints: taints.length > 0 ? taints : null } });
  }

  async #evict(name: string): Promise<void> {
    const { clock } = this.#options;
    const since = this.#silent.get(name);
    if (since === undefined) {
      this.#silent.set(name, clock.now());
      await this.#taint(name, ['NoSchedule', 'NoExecute']);
      return;
    }
    for (const pod of await this.#podsOf(name)) {
      const seconds = toleratedSeconds(pod);
      const due = seconds !== undefined && clock.now() - since >= seconds * 1000;
      if (due && pod.metadata.deletionTimestamp === undefined) await this.#deletePod(pod);
    }
  }

  async #markNotReady(pod: PodObject): Promise<void> {
    const conditions = (pod.status.conditions ?? []).map((one) => {
      if (one.type !== 'Ready' || one.status !== 'True') return one;
      const { reason: _reason, message: _message, ...rest } = one;
      return { ...rest, status: 'False' as const, lastTransitionTime: timestamp(this.#options.clock.now()) };
    });
    await this.#patchStatus(pod, conditions);
    const { uid, resourceVersion } = pod.metadata;
    const about = { uid, apiVersion: 'v1', resourceVersion };
    await this.#event(pod, about, 'Warning', 'NodeNotReady', texts.nodeNotReady, 'node-controller');
  }

  async #deletePod(pod: PodObject): Promise<void> {
    const { namespace, name } = pod.metadata;
    const text = texts.markedForDeletion(`${namespace}/${name}`);
    // Its Event names no uid.
    await this.#event(pod, { apiVersion: 'v1' }, 'Normal', 'TaintManagerEviction', text, 'taint-eviction-controller');
    const because = { reason: 'DeletionByTaintManager', message: texts.taintDeletion };
    const condition = disruptionTarget(pod, because, this.#options);
    await this.#patchStatus(pod, [...(pod.status.conditions ?? []), condition]);
    await this.#client.send('DELETE', `/api/v1/namespaces/${namespace}/pods/${name}`);
  }

  async #patchStatus({ metadata }: PodObject, conditions: readonly PodCondition[]): Promise<void> {
    await this.#client.merge(`/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/status`, {
      status: { conditions },
    });
  }

  async #podsOf(node: string): Promise<PodObject[]> {
    const query = new URLSearchParams({ fieldSelector: `spec.nodeName=${node}` });
    const { items } = await this.#client.list('/api/v1/pods', query);
    return items as PodObject[];
  }

  async #event(
    { metadata }: PodObject,
    about: object,
    type: string,
    reason: string,
    message: string,
    component: string,
  ): Promise<void> {
    const { clock } = this.#options;
    const now = timestamp(clock.now());
    const { namespace, name } = metadata;
    try {
      await this.#client.send('POST', `/api/v1/namespaces/${namespace}/events`, {
        kind: 'Event',
        apiVersion: 'v1',
        metadata: { name: `${name}.${eventSuffix(clock.now(), this.#random.integer(0, 999_999))}`, namespace },
        involvedObject: { kind: 'Pod', namespace, name, ...about },
        reason,
        message,
        source: { component },
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
        type,
        reportingComponent: component,
        reportingInstance: '',
      });
    } catch (error) {
      // Events are hints: one that is refused is lost.
      if (!(error instanceof ApiFailure)) throw error;
    }
  }
}

/** Undefined: the pod stays for ever. */
function toleratedSeconds({ spec }: PodObject): number | undefined {
  const matching = (spec.tolerations ?? []).filter(
    ({ key, effect }) => (key === undefined || key === unreachable) && (effect === undefined || effect === 'NoExecute'),
  );
  if (matching.length === 0) return 0;
  const seconds = matching.map(({ tolerationSeconds }) => tolerationSeconds);
  const limited = seconds.filter((one) => one !== undefined);
  return limited.length < seconds.length ? undefined : Math.min(...limited);
}
