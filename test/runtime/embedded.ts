/** A runtime on an embedded cluster whose steps are shell scripts of this machine. */

import { type Clock, systemClock } from '../../src/clock.ts';
import type { ClusterOptions, EmbeddedCluster, RequestFilter } from '../../src/cluster/index.ts';
import { startCluster } from '../../src/cluster/index.ts';
import { isPodwrightError, PodwrightError } from '../../src/errors.ts';
import { connect, type KubeClient } from '../../src/kube/client.ts';
import type { BuildSpec, ContainerSpecRequest } from '../../src/pod/build-spec.ts';
import type { Pod } from '../../src/pod/types.ts';
import type { Build, Runtime, RuntimeOptions } from '../../src/runtime/runtime.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { faultsInForce, patience } from '../faults/in-force.ts';
import { strikesLogger } from '../faults/struck.ts';

export const namespace = 'builds';
export const userAgent = 'podwright-test';
export const placeholder213 = { image: 'lab.local/placeholder213:1', restartOn: 213 };
export const placeholder0 = { image: 'lab.local/placeholder:1' };
export const missingImage = 'registry.example.com/none:1';
const notFound = `rpc error: code = NotFound desc = failed to pull and unpack image "${missingImage}": failed to resolve reference "${missingImage}": ${missingImage}: not found`;

export interface Stand {
  readonly cluster: EmbeddedCluster;
  /** A client of the tests' own, beside the runtime's. */
  readonly admin: KubeClient;
  open(options?: Partial<RuntimeOptions>): Promise<Runtime>;
  /** Requests of the runtimes, not of the cluster's own parts or of `admin`. */
  count(filter: RequestFilter): number;
  end(): Promise<void>;
}

export async function startStand(options: ClusterOptions = {}): Promise<Stand> {
  const logger = strikesLogger();
  const cluster = await startCluster({
    ...(logger === undefined ? {} : { logger }),
    namespaces: [namespace],
    path: process.env['PATH'] ?? '',
    missingImages: { [missingImage]: notFound },
    faults: faultsInForce,
    ...seedGiven(),
    ...options,
  });
  const admin = await connect({ kubeConfig: cluster.kubeConfig, userAgent: 'admin' });
  const runtimes: Runtime[] = [];
  return {
    cluster,
    admin,
    open: async (more = {}) => {
      const runtime = await createRuntime({
        kubeConfig: cluster.kubeConfig,
        namespace,
        userAgent,
        owner: 'worker-1',
        placeholder: placeholder213,
        ...more,
      });
      runtimes.push(runtime);
      return runtime;
    },
    count: (filter) => cluster.requests.count({ userAgent, ...filter }),
    end: async () => {
      for (const runtime of runtimes) await runtime.close();
      await admin.close();
      await cluster.stop();
    },
  };
}

/** SEED repeats the chance of an earlier run. */
function seedGiven(): { seed?: number } {
  const seed = process.env['SEED'];
  return seed === undefined ? {} : { seed: Number(seed) };
}

/** The stand's admin client with some verbs replaced. */
export function clientWith({ admin }: Stand, changes: Partial<KubeClient>): KubeClient {
  return new Proxy(admin, {
    get: (target, name) => {
      const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export const unreachable = (): PodwrightError =>
  new PodwrightError('ERR_PODWRIGHT_CLUSTER_UNREACHABLE', 'the answer was lost', { cause: new Error('ECONNRESET') });

/** The real time, but a timer of just so many milliseconds fires when the test says: a slow machine cannot be late. */
export function clockThatHolds(heldMs: number): { readonly clock: Clock; readonly release: () => Promise<void> } {
  let held: (() => void) | undefined;
  const schedule: Clock['schedule'] = (delayMs, callback) => {
    if (delayMs !== heldMs) return systemClock.schedule(delayMs, callback);
    held = callback;
    return {
      cancel: () => {
        if (held === callback) held = undefined;
      },
    };
  };
  return {
    clock: { now: systemClock.now, schedule },
    release: async () => {
      await eventually(() => held !== undefined, 'the time runs');
      held?.();
    },
  };
}

/** What the server shows of the one step, once it is no longer its placeholder that runs. */
export async function stateOf({ admin }: Stand, build: Build): Promise<'running' | 'terminated' | undefined> {
  const { status } = await admin.get<Pod>({ resource: 'pods', namespace, name: build.podName });
  const [shown] = status?.containerStatuses ?? [];
  if (shown?.restartCount !== 1) return undefined;
  if (shown.state?.running !== undefined) return 'running';
  return shown.state?.terminated === undefined ? undefined : 'terminated';
}

export function step(name: string, script: string, more: Partial<ContainerSpecRequest> = {}): ContainerSpecRequest {
  return { name, image: 'registry.example.com/tools:1', role: 'step', script, ...more };
}

export function broken(name: string): ContainerSpecRequest {
  return step(name, 'true', { image: missingImage });
}

let builds = 0;

export function spec(...containers: readonly ContainerSpecRequest[]): BuildSpec {
  return { id: `Build #${++builds}`, containers };
}

export async function assembled(runtime: Runtime, ...containers: readonly ContainerSpecRequest[]): Promise<Build> {
  const build = await runtime.setupBuild(spec(...containers));
  await runtime.assembleBuild(build);
  return build;
}

export async function logOf(runtime: Runtime, build: Build, name: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of runtime.tailContainer(build, name)) {
    lines.push(line.gap === undefined ? line.text : `GAP ${line.gap.reason} ${line.gap.message}`);
  }
  return lines;
}

/** Whether the build's pod is on the cluster; only its API server can tell, so an outage is waited out. */
export async function hasPod(stand: Stand, build: Build): Promise<boolean> {
  let found: boolean | undefined;
  await eventually(async () => {
    found = await lookUp(stand, build);
    return found !== undefined;
  }, 'the API server answers');
  return found === true;
}

async function lookUp(stand: Stand, build: Build): Promise<boolean | undefined> {
  try {
    await stand.admin.get({ resource: 'pods', namespace, name: build.podName });
    return true;
  } catch (error) {
    if (isPodwrightError(error, 'ERR_PODWRIGHT_NOT_FOUND')) return false;
    if (isPodwrightError(error)) return undefined;
    throw error;
  }
}

/** Resolves once the condition holds; used where there is nothing to await. */
export async function eventually(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const until = Date.now() + 15_000 * patience;
  while (!(await condition())) {
    if (Date.now() > until) throw new Error(`never came true: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
