/** Deletes what belonged to a pod that is gone (the garbage collector, for secrets and config maps of pods). */
import { type ApiClient, ApiFailure, ListWatch } from '../client.ts';
import type { ApiObject } from '../types.ts';
import type { ControllerOptions } from './options.ts';
import { WorkQueue } from './work-queue.ts';

const owned = ['secrets', 'configmaps'] as const;

/** A dependent whose owner is not there is looked at again before it goes: the owner may not be known yet. */
const absentMs = 2_000;

export class OwnerController {
  readonly #client: ApiClient;
  readonly #watches: readonly ListWatch[];
  readonly #dependents = new Map<string, ApiObject>();
  readonly #queue: WorkQueue;

  constructor({ client, clock, logger }: ControllerOptions) {
    this.#client = client;
    this.#queue = new WorkQueue({ clock, logger, work: (path) => this.#collect(path) });
    const dependents = owned.map(
      (resource) =>
        new ListWatch({
          client,
          path: `/api/v1/${resource}`,
          onChange: (object, change) => this.#track(resource, object, change === 'deleted'),
        }),
    );
    const pods = new ListWatch({
      client,
      path: '/api/v1/pods',
      onChange: ({ metadata }, change) => {
        if (change === 'deleted') this.#ownerGone(metadata.uid);
      },
    });
    this.#watches = [...dependents, pods];
  }

  async start(): Promise<void> {
    for (const watch of this.#watches) watch.start();
    await Promise.all(this.#watches.map(({ synced }) => synced));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#watches.map((watch) => watch.stop()), this.#queue.stop()]);
  }

  #track(resource: string, object: ApiObject, gone: boolean): void {
    const { namespace, name, ownerReferences = [] } = object.metadata;
    const path = `/api/v1/namespaces/${namespace}/${resource}/${name}`;
    this.#dependents.delete(path);
    if (gone || !ownerReferences.some(({ kind }) => kind === 'Pod')) return;
    this.#dependents.set(path, object);
    this.#queue.add(path, absentMs);
  }

  #ownerGone(uid: string): void {
    for (const [path, { metadata }] of this.#dependents) {
      if (metadata.ownerReferences?.some((owner) => owner.uid === uid)) this.#queue.add(path);
    }
  }

  /** Deletes it when none of its owners is there any more. */
  async #collect(path: string): Promise<undefined> {
    const object = this.#dependents.get(path);
    if (object === undefined) return undefined;
    const { namespace, ownerReferences = [], uid } = object.metadata;
    for (const owner of ownerReferences) {
      // Owners of kinds that are not looked after here count as present.
      if (owner.kind !== 'Pod') return undefined;
      if (await this.#exists(`/api/v1/namespaces/${namespace}/pods/${owner.name}`, owner.uid)) return undefined;
    }
    try {
      await this.#client.send('DELETE', path, { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof ApiFailure) || (error.code !== 404 && error.code !== 409)) throw error;
    }
    return undefined;
  }

  async #exists(path: string, uid: string): Promise<boolean> {
    try {
      const { metadata } = await this.#client.get(path);
      return metadata.uid === uid;
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 404) return false;
      throw error;
    }
  }
}
