/**
 * Watches the build pods of a cluster and publishes them as events, whoever runs them: an onlooker, which sends nothing
 * but two watches and the log requests that somebody looks at.
 *
 * Each pod that carries a plan of podwright gets actors of its own, so its verdicts are those its worker comes to. What
 * only that worker knows is not seen: a caller's cancel, and the judgement of the build as a whole.
 */
import type { Clock } from '../clock.ts';
import { isPodwrightError } from '../errors.ts';
import { BuildRecorder } from '../events/build-recorder.ts';
import type { EventHub } from '../events/hub.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Delta, Informer, type WatchCounters, type WatchHealth } from '../kube/informer.ts';
import type { Logger } from '../logger.ts';
import { followLog } from '../logs/follow.ts';
import { isPatched, placeholderImagesIn, requestRecord } from '../pod/image-patch.ts';
import { labels, managedBy } from '../pod/labels.ts';
import { type RecoveryPlan, readRecoveryPlan } from '../pod/recovery.ts';
import { trimEvent, trimPod } from '../pod/trim.ts';
import type { KubeEvent, Pod } from '../pod/types.ts';
import { BuildActors } from '../runtime/actors.ts';
import { readPod } from '../runtime/look.ts';
import { logSourceOf } from '../runtime/tail.ts';
import { Waiters } from '../runtime/waiters.ts';

export interface ObserverOptions {
  readonly client: KubeClient;
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly hub: EventHub;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Observed {
  readonly id: string;
  readonly plan: RecoveryPlan;
  readonly actors: BuildActors;
  readonly recorder: BuildRecorder;
  readonly waiters: Waiters;
  readonly requested: Set<string>;
  pod: Pod;
  isGone: boolean;
}

export class Observer {
  readonly #options: ObserverOptions;
  readonly #pods: Informer<Pod>;
  readonly #events: Informer<KubeEvent>;
  readonly #builds = new Map<string, Observed>();
  readonly #stopping = new AbortController();
  readonly #logs = new Map<string, Promise<void>>();
  readonly #undo: (() => void)[] = [];

  constructor(options: ObserverOptions) {
    this.#options = options;
    const { client, namespace, clock, logger } = options;
    const scope = namespace === undefined ? {} : { namespace };
    this.#pods = new Informer<Pod>({
      client,
      path: { resource: 'pods', ...scope },
      labelSelector: `${labels.managedBy}=${managedBy}`,
      trim: trimPod,
      bookmarks: true,
      clock,
      logger,
    });
    this.#events = new Informer<KubeEvent>({
      client,
      path: { resource: 'events', ...scope },
      fieldSelector: 'involvedObject.kind=Pod',
      trim: trimEvent,
      bookmarks: false,
      clock,
      logger,
    });
  }

  get counters(): Readonly<Record<'pods' | 'events', WatchCounters>> {
    return { pods: this.#pods.health.counters, events: this.#events.health.counters };
  }

  /** Resolves once the pods that there are were published. */
  async start(signal?: AbortSignal): Promise<void> {
    this.#undo.push(
      this.#pods.addHandler((delta) => this.#onPod(delta)),
      this.#events.addHandler(({ kind, object }) => {
        if (kind !== 'deleted') this.#onEvent(object);
      }),
      this.#pods.subscribeHealth(() => this.#publishHealth('pods', this.#pods.health)),
      this.#events.subscribeHealth(() => this.#publishHealth('events', this.#events.health)),
      this.#options.hub.onLinesWanted((build, container) => this.#follow(build, container)),
    );
    this.#pods.start();
    this.#events.start();
    await this.#pods.synced(signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'));
    for (const undo of this.#undo) undo();
    await Promise.all([this.#pods.stop(), this.#events.stop(), ...this.#logs.values()]);
    for (const build of this.#builds.values()) this.#release(build);
    this.#builds.clear();
  }

  #onPod({ kind, object: pod, finalStateKnown }: Delta<Pod>): void {
    const known = this.#builds.get(pod.metadata.uid);
    if (kind === 'deleted') {
      if (known !== undefined) this.#gone(known, pod, finalStateKnown);
      return;
    }
    const build = known ?? this.#begin(pod);
    if (build === undefined || build.isGone) return;
    this.#show(build, pod, known === undefined);
  }

  /** Before time decides: the watch may have gone silent. What the server has no more is left to the watch to tell. */
  async #look(uid: string): Promise<boolean> {
    const known = this.#builds.get(uid);
    if (known === undefined) return false;
    const { client, logger } = this.#options;
    const { name, namespace } = known.pod.metadata;
    try {
      const pod = await readPod({ client, namespace }, name, this.#stopping.signal);
      if (pod?.metadata.uid !== uid || this.#builds.get(uid) !== known) return false;
      this.#show(known, pod, false);
      return true;
    } catch (error) {
      logger.info('a build pod could not be read', { pod: name, error: String(error) });
      // An onlooker may have the right to watch and no other.
      return isPodwrightError(error, 'ERR_PODWRIGHT_FORBIDDEN');
    }
  }

  #show(build: Observed, pod: Pod, isNew: boolean): void {
    build.pod = pod;
    build.recorder.seen({ what: 'pod', pod });
    if (isNew) this.#created(build, pod);
    for (const container of build.plan.containers) this.#noteRequest(build, container);
    build.actors.observePod(pod);
    build.waiters.check();
  }

  #onEvent(event: KubeEvent): void {
    const { uid = '', fieldPath } = event.involvedObject;
    const build = this.#builds.get(uid);
    if (build === undefined) return;
    const containerName = /\{([^}]+)\}$/.exec(fieldPath ?? '')?.[1];
    build.recorder.seen({ what: 'kubeEvent', event, container: nameOf(build.plan, containerName) });
    build.actors.observeEvent(event);
    build.waiters.check();
  }

  /** A pod without a plan that can be read is none that this version can judge. */
  #begin(pod: Pod): Observed | undefined {
    let plan: RecoveryPlan;
    try {
      plan = readRecoveryPlan(pod);
    } catch (error) {
      if (!isPodwrightError(error, 'ERR_PODWRIGHT_POD_INVALID')) throw error;
      this.#options.logger.info('a build pod cannot be read', { pod: pod.metadata.name, error: error.message });
      return undefined;
    }
    const { namespace, name, uid } = pod.metadata;
    const id = this.#options.namespace === undefined ? `${namespace}/${name}` : name;
    const actors = new BuildActors({
      id,
      containers: plan.containers.map(({ containerName }) => ({ name: containerName })),
      clock: this.#options.clock,
      look: () => this.#look(uid),
    });
    const recorder = new BuildRecorder({
      publish: (body) => this.#options.hub.publish(body),
      id,
      name: plan.buildId,
      containers: plan.containers.map(({ name: step, containerName, image, role }) => ({
        name: step,
        containerName,
        image,
        role,
      })),
      pod: () => actors.pod,
      ownContainerID: (containerName) => actors.container(containerName).containerID,
    });
    actors.subscribe((change) => {
      const container = change.actor === 'container' ? nameOf(plan, change.container) : null;
      recorder.changed(container === null || change.actor !== 'container' ? change : { ...change, container });
    });
    const build = {
      id,
      plan,
      actors,
      recorder,
      waiters: new Waiters(),
      requested: new Set<string>(),
      pod,
      isGone: false,
    };
    this.#builds.set(uid, build);
    return build;
  }

  #created({ actors, plan, requested, recorder }: Observed, pod: Pod): void {
    const before = plan.containers.filter(({ containerName, image }) => isPatched(pod, containerName, image));
    for (const { name, containerName } of before) {
      requested.add(containerName);
      recorder.seen({ what: 'request', container: name });
    }
    const waiting = plan.containers.filter((container) => !before.includes(container));
    const names = waiting.map(({ containerName }) => containerName);
    actors.assembling();
    actors.created(pod, {
      placeholderImages: placeholderImagesIn(pod, plan.placeholder.image, names),
      sigtermCode: plan.placeholder.restartOn ?? 0,
      requested: before.map(({ containerName: container, image }) => {
        const left = requestRecord(pod, container);
        const at = Date.parse(left?.at ?? '');
        return { container, image, at: Number.isNaN(at) ? null : at, placeholder: left?.placeholder ?? null };
      }),
    });
  }

  #noteRequest(build: Observed, { name, containerName, image }: RecoveryPlan['containers'][number]): void {
    if (build.requested.has(containerName) || !isPatched(build.pod, containerName, image)) return;
    build.requested.add(containerName);
    build.recorder.seen({ what: 'request', container: name });
    build.actors.request(containerName, image);
  }

  #gone(build: Observed, pod: Pod, finalStateKnown: boolean): void {
    build.isGone = true;
    build.recorder.seen({ what: 'gone', pod });
    build.actors.observeGone(pod, finalStateKnown);
    build.actors.removed();
    build.waiters.check();
    this.#builds.delete(pod.metadata.uid);
    this.#release(build);
  }

  #release({ recorder, actors, waiters }: Observed): void {
    recorder.close();
    actors.close();
    waiters.close(new Error('the pod is not watched any more'));
  }

  /** Once for each container, when somebody first looks at its log. */
  #follow(id: string, container: string): void {
    const build = [...this.#builds.values()].find((one) => one.id === id);
    const planned = build?.plan.containers.find(({ name }) => name === container);
    if (build === undefined || planned === undefined) return;
    const key = JSON.stringify([build.pod.metadata.uid, container]);
    if (this.#logs.has(key)) return;
    const reading = this.#read(build, planned.containerName, container).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted)
        this.#options.logger.info('a log cannot be followed', { build: id, container, error });
    });
    this.#logs.set(key, reading);
  }

  async #read(build: Observed, containerName: string, container: string): Promise<void> {
    const { client, clock, logger, hub } = this.#options;
    const source = logSourceOf({
      waiters: build.waiters,
      view: () => build.actors.container(containerName),
      pod: () => build.pod,
      isGone: () => build.isGone,
      containerName,
    });
    const { namespace, name: pod } = build.pod.metadata;
    const { signal } = this.#stopping;
    const lines = followLog({ client, namespace, pod, container: containerName, source, clock, logger, signal });
    for await (const { text, at, gap } of lines) {
      hub.appendLine(build.id, container, { time: at, text, gap: gap === undefined ? null : gap.reason });
    }
    hub.endLines(build.id, container);
  }

  #publishHealth(resource: 'pods' | 'events', { state, since }: WatchHealth): void {
    const staleSince = state === 'live' ? null : new Date(since).toISOString();
    this.#options.hub.publish({ type: 'watch.changed', resource, state, staleSince });
  }
}

function nameOf(plan: RecoveryPlan, containerName: string | undefined): string | null {
  if (containerName === undefined) return null;
  return plan.containers.find((container) => container.containerName === containerName)?.name ?? containerName;
}
