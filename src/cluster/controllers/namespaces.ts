/**
 * Gives a namespace what each has: its default service account and the root certificates. Empties one that is being
 * deleted: pods first, and everything else when the last pod is gone.
 */
import { type ApiClient, ApiFailure, ListWatch } from '../client.ts';
import type { ControllerOptions } from './options.ts';
import { WorkQueue } from './work-queue.ts';

/** The controller waits before it deletes, so that all API servers know of the deletion (recorded: 5 s). */
const graceMs = 5_000;
const againMs = 500;

const contents = [
  '/api/v1/namespaces/NS/events',
  '/api/v1/namespaces/NS/secrets',
  '/api/v1/namespaces/NS/configmaps',
  '/api/v1/namespaces/NS/serviceaccounts',
  '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
  '/apis/policy/v1/namespaces/NS/poddisruptionbudgets',
  '/apis/coordination.k8s.io/v1/namespaces/NS/leases',
];

export class NamespaceController {
  readonly #client: ApiClient;
  readonly #namespaces: ListWatch;
  readonly #queue: WorkQueue;

  constructor({ client, clock, logger, timings }: ControllerOptions) {
    this.#client = client;
    this.#queue = new WorkQueue({ clock, logger, work: (name) => this.#work(name) });
    this.#namespaces = new ListWatch({
      client,
      path: '/api/v1/namespaces',
      onChange: ({ metadata }, change) => {
        if (change === 'deleted') return;
        if (metadata.deletionTimestamp === undefined) {
          this.#queue.add(metadata.name);
          return;
        }
        // Quick clusters do not keep users waiting.
        this.#queue.add(metadata.name, timings.tickMs < 1_000 ? timings.tickMs : graceMs);
      },
    });
  }

  async start(): Promise<void> {
    this.#namespaces.start();
    await this.#namespaces.synced;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#namespaces.stop(), this.#queue.stop()]);
  }

  async #work(name: string): Promise<number | undefined> {
    const namespace = this.#namespaces.objects().find(({ metadata }) => metadata.name === name);
    if (namespace === undefined) return undefined;
    if (namespace.metadata.deletionTimestamp !== undefined) return this.#empty(name);
    const root = `/api/v1/namespaces/${name}`;
    await this.#ensure(`${root}/serviceaccounts`, {
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: { name: 'default' },
    });
    await this.#ensure(`${root}/configmaps`, {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { name: 'kube-root-ca.crt' },
      data: { 'ca.crt': '' },
    });
    return undefined;
  }

  /** One that is there already, or a namespace that went meanwhile, is fine. */
  async #ensure(path: string, object: object): Promise<void> {
    try {
      await this.#client.send('POST', path, object);
    } catch (error) {
      if (!(error instanceof ApiFailure) || ![403, 404, 409].includes(error.code)) throw error;
    }
  }

  async #empty(name: string): Promise<number | undefined> {
    const pods = `/api/v1/namespaces/${name}/pods`;
    const none = new URLSearchParams();
    const { items } = await this.#client.list(pods, none);
    if (items.length > 0) {
      if (items.some(({ metadata }) => metadata.deletionTimestamp === undefined))
        await this.#client.send('DELETE', pods);
      return againMs;
    }
    for (const path of contents) await this.#client.send('DELETE', path.replace('NS', name));
    try {
      await this.#client.send('PUT', `/api/v1/namespaces/${name}/finalize`, {
        kind: 'Namespace',
        apiVersion: 'v1',
        metadata: { name },
        spec: { finalizers: [] },
      });
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.code !== 404) throw error;
    }
    return undefined;
  }
}
