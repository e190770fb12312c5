/**
 * Publishes what a runtime tells, for as long as it is attached: the one adapter from its changes to events.
 *
 * The runtime is known by its shape alone; this folder imports none of it.
 */
import { type ActorChange, BuildRecorder, type SeenOfBuild } from './build-recorder.ts';
import type { EventHub } from './hub.ts';

interface BuildHandle {
  readonly id: string;
}

interface WatchHealthView {
  readonly state: string;
  /** Milliseconds. */
  readonly since: number;
}

export type RuntimeItem<B> =
  | { readonly kind: 'state'; readonly build: B; readonly change: ActorChange }
  | { readonly kind: 'seen'; readonly build: B; readonly seen: SeenOfBuild }
  | { readonly kind: 'health'; readonly health: HealthView };

export interface HealthView {
  readonly pods: WatchHealthView;
  readonly events: WatchHealthView;
}

/** The part of `Runtime` that is used. */
export interface ObservableRuntime<B extends BuildHandle> {
  readonly health: HealthView;
  subscribe(listener: (item: RuntimeItem<B>) => void): () => void;
  inspectBuild(build: B): {
    readonly pod: { readonly node: string | null; readonly cause: string | null; readonly message: string | null };
    readonly containers: readonly {
      readonly name: string;
      readonly containerName: string;
      readonly image: string;
      readonly role: 'step' | 'service';
      readonly containerID: string | null;
    }[];
  };
}

/** Returns what ends it; debuggable containers that still run are then told as ended. Idempotent. */
export function publishRuntime<B extends BuildHandle>(hub: EventHub, runtime: ObservableRuntime<B>): () => void {
  const recorders = new Map<B, BuildRecorder>();
  const watches = new Map<string, string>();
  const recorderOf = (build: B): BuildRecorder => {
    let recorder = recorders.get(build);
    if (recorder === undefined) {
      recorder = newRecorder(hub, runtime, build);
      recorders.set(build, recorder);
    }
    return recorder;
  };
  const publishHealth = (health: HealthView): void => {
    for (const resource of ['pods', 'events'] as const) {
      const { state, since } = health[resource];
      if (watches.get(resource) === state) continue;
      watches.set(resource, state);
      const staleSince = state === 'live' ? null : new Date(since).toISOString();
      hub.publish({ type: 'watch.changed', resource, state, staleSince });
    }
  };
  publishHealth(runtime.health);
  const unsubscribe = runtime.subscribe((item) => {
    if (item.kind === 'health') publishHealth(item.health);
    else if (item.kind === 'seen') recorderOf(item.build).seen(item.seen);
    else {
      recorderOf(item.build).changed(item.change);
      if (item.change.actor === 'build' && item.change.state === 'removed') {
        recorders.get(item.build)?.close();
        recorders.delete(item.build);
      }
    }
  });
  return () => {
    unsubscribe();
    for (const recorder of recorders.values()) recorder.close();
    recorders.clear();
  };
}

function newRecorder<B extends BuildHandle>(hub: EventHub, runtime: ObservableRuntime<B>, build: B): BuildRecorder {
  const containers = (): ReturnType<ObservableRuntime<B>['inspectBuild']>['containers'] =>
    runtime.inspectBuild(build).containers;
  return new BuildRecorder({
    publish: (body) => hub.publish(body),
    id: build.id,
    name: build.id,
    containers: containers(),
    pod: () => {
      const { node, cause, message } = runtime.inspectBuild(build).pod;
      return { node, cause, message };
    },
    ownContainerID: (containerName) =>
      containers().find((container) => container.containerName === containerName)?.containerID ?? null,
  });
}
