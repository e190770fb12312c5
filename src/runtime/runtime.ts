/** Opens a runtime on a cluster. What its verbs promise is in `contract.ts`. */
import { randomUUID } from 'node:crypto';
import type { Outcome, Phase, SettledOutcome } from '../../machines/outcome.ts';
import { systemClock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import { connect } from '../kube/client.ts';
import { silentLogger } from '../logger.ts';
import type { LogLine } from '../logs/follow.ts';
import { planBuild } from '../pod/build-pod.ts';
import type { BuildSpec, ContainerSpecRequest, VolumeRequest } from '../pod/build-spec.ts';
import { checkSize } from '../pod/check-size.ts';
import { checkSpec, type SpecPolicy } from '../pod/check-spec.ts';
import type { BuildPlan } from '../pod/plan.ts';
import {
  completePlaceholder,
  defaultPlaceholder,
  type PlaceholderOption,
  placeholderStrategy,
} from '../pod/start-strategy.ts';
import { requireAccess } from './access.ts';
import { adoptBuilds } from './adopt.ts';
import { assembleBuild } from './assemble.ts';
import type {
  AssembleOptions,
  Build,
  BuildStreamItem,
  BuildView,
  ContainerView,
  Orphan,
  OrphanOptions,
  RemovalReport,
  RemoveOptions,
  Runtime,
  RuntimeChange,
  RuntimeHealth,
  RuntimeOptions,
  SignalOption,
  StreamOptions,
  TailOptions,
} from './contract.ts';
import type { Core } from './core.ts';
import { look, lookForVerdict } from './look.ts';
import { openStep, untilDecidable } from './open-step.ts';
import { listOrphans, removeOrphan } from './orphans.ts';
import { BuildRecord, stopped } from './record.ts';
import { removeBuild } from './remove.ts';
import { onAbort } from './signals.ts';
import { tailContainer } from './tail.ts';
import { Watches } from './watches.ts';

export type * from './contract.ts';

/**
 * Connects, checks the rights, opens the two watches, and resolves once the own pods are known.
 * Throws `ERR_PODWRIGHT_CONFIG`, `ERR_PODWRIGHT_CLUSTER_UNREACHABLE`, `ERR_PODWRIGHT_UNAUTHORIZED`, or
 * `ERR_PODWRIGHT_FORBIDDEN` with the Role that is missing.
 */
export async function createRuntime(options: RuntimeOptions, { signal }: SignalOption = {}): Promise<Runtime> {
  const { clock = systemClock, logger = silentLogger, namespace, kubeConfig, context, userAgent } = options;
  const owner = options.owner ?? `worker-${randomUUID()}`;
  const ownClient =
    options.client === undefined
      ? await connect({
          clock,
          logger,
          ...(kubeConfig === undefined ? {} : { kubeConfig }),
          ...(context === undefined ? {} : { context }),
          ...(userAgent === undefined ? {} : { userAgent }),
        })
      : undefined;
  const client = options.client ?? ownClient;
  if (client === undefined) throw new PodwrightError('ERR_PODWRIGHT_ASSERTION', 'there is a client');
  const watches = new Watches({ client, namespace, owner, clock, logger });
  const core: Core = { client, namespace, owner, clock, logger, watches };
  try {
    if (options.checkAccess !== false) await requireAccess(core, signal);
    await watches.start(signal);
  } catch (error) {
    await watches.close();
    await ownClient?.close();
    throw error;
  }
  return new PodRuntime(core, options, async () => {
    await watches.close();
    await ownClient?.close();
  });
}

class PodRuntime implements Runtime {
  readonly #core: Core;
  readonly #options: RuntimeOptions;
  readonly #placeholder: Required<PlaceholderOption>;
  /** The builds that are not removed, by id. */
  readonly #live = new Map<string, BuildRecord>();
  /** Those that are removed too, for as long as their caller keeps the handle. */
  readonly #records = new WeakMap<Build, BuildRecord>();
  readonly #listeners = new Set<(item: RuntimeChange) => void>();
  readonly #release: () => Promise<void>;
  readonly #endHealth: () => void;
  #closing: Promise<void> | undefined;

  constructor(core: Core, options: RuntimeOptions, release: () => Promise<void>) {
    this.#core = core;
    this.#options = options;
    this.#release = release;
    this.#placeholder = completePlaceholder(options.placeholder ?? defaultPlaceholder);
    this.#endHealth = core.watches.subscribeHealth((health) => this.#tell({ kind: 'health', health }));
  }

  get namespace(): string {
    return this.#core.namespace;
  }

  get owner(): string {
    return this.#core.owner;
  }

  get health(): RuntimeHealth {
    return this.#core.watches.health;
  }

  async setupBuild(spec: BuildSpec, { signal }: SignalOption = {}): Promise<Build> {
    this.#throwIfClosed();
    const plan = this.#plan(spec);
    const known = this.#live.get(spec.id);
    if (known !== undefined) {
      throw new PodwrightError('ERR_PODWRIGHT_CONFLICT', `There is a build "${spec.id}" already`, {
        remedy: 'Remove it first, or give this one another id.',
        details: { build: spec.id, pod: known.handle.podName },
      });
    }
    const record = this.#register({ plan, placeholder: this.#placeholder });
    record.onRelease(onAbort(signal, (reason) => record.cancel(reason)));
    return record.handle;
  }

  async setupContainer(build: Build, container: ContainerSpecRequest): Promise<void> {
    this.#amend(build, (spec) => ({ ...spec, containers: [...spec.containers, container] }));
  }

  async createVolume(build: Build, volume: VolumeRequest): Promise<void> {
    this.#amend(build, (spec) => ({ ...spec, volumes: [...(spec.volumes ?? []), volume] }));
  }

  async removeVolume(build: Build, name: string): Promise<void> {
    this.#amend(build, (spec) => ({ ...spec, volumes: (spec.volumes ?? []).filter((volume) => volume.name !== name) }));
  }

  async createNetwork(build: Build, hostnames: readonly string[]): Promise<void> {
    this.#amend(build, (spec) => ({ ...spec, hostnames: [...(spec.hostnames ?? []), ...hostnames] }));
  }

  async assembleBuild(build: Build, options: AssembleOptions = {}): Promise<void> {
    const record = this.#record(build);
    const end = onAbort(options.signal, (reason) => record.cancel(reason));
    try {
      await assembleBuild(this.#core, record, options);
    } finally {
      end();
    }
  }

  streamBuild(build: Build, { after = 0, signal }: StreamOptions = {}): AsyncIterable<BuildStreamItem> {
    return this.#record(build).journal.read(after, signal);
  }

  inspectBuild(build: Build): BuildView {
    return this.#record(build).view();
  }

  cancelBuild(build: Build, reason: 'caller' | 'timeout' = 'caller', phase?: Phase): void {
    this.#record(build).cancel(reason, phase);
  }

  concludeBuild(build: Build, result: 'succeeded' | 'failed' | 'canceled' | 'errored'): void {
    this.#record(build).actors.conclude(result);
  }

  async removeBuild(build: Build, options: RemoveOptions = {}): Promise<RemovalReport> {
    return await removeBuild(this.#core, this.#record(build), options);
  }

  async runContainer(build: Build, name: string, { signal }: SignalOption = {}): Promise<Outcome> {
    const record = this.#record(build);
    const container = record.container(name);
    const end = onAbort(signal, (reason) => record.cancel(reason, undefined, container));
    try {
      await this.#assembled(record, name, 'run');
      await openStep(this.#core, record, container);
      return await record.actors.launched(container.containerName);
    } finally {
      end();
    }
  }

  async waitContainer(build: Build, name: string, { signal }: SignalOption = {}): Promise<SettledOutcome> {
    const record = this.#record(build);
    const container = record.container(name);
    const end = onAbort(signal, (reason) => record.cancel(reason, undefined, container));
    try {
      await this.#assembled(record, name, 'waited for');
      await untilDecidable(record, container);
      return await record.actors.settled(container.containerName);
    } finally {
      end();
    }
  }

  async readyContainer(build: Build, name: string, { signal }: SignalOption = {}): Promise<boolean> {
    const record = this.#record(build);
    const container = record.container(name);
    await this.#assembled(record, name, 'waited for', signal);
    return await record.waiters.until(() => record.readiness(container), signal);
  }

  inspectContainer(build: Build, name: string): ContainerView {
    const record = this.#record(build);
    return record.containerView(record.container(name));
  }

  tailContainer(build: Build, name: string, options: TailOptions = {}): AsyncIterable<LogLine> {
    const record = this.#record(build);
    return tailContainer(this.#core, record, record.container(name), options);
  }

  async removeContainer(build: Build, name: string): Promise<void> {
    const record = this.#record(build);
    record.cancel('caller', undefined, record.container(name));
  }

  async adopt({ signal }: SignalOption = {}): Promise<readonly Build[]> {
    this.#throwIfClosed();
    const builds = await adoptBuilds(this.#core, {
      isKnown: (podName) => [...this.#live.values()].some((record) => record.handle.podName === podName),
      register: (parts) => this.#register(parts),
      ...(signal === undefined ? {} : { signal }),
    });
    return builds;
  }

  async listOrphans(options: OrphanOptions = {}): Promise<readonly Orphan[]> {
    this.#throwIfClosed();
    return await listOrphans(this.#core, options);
  }

  async removeOrphan(orphan: Orphan, options: RemoveOptions = {}): Promise<RemovalReport> {
    this.#throwIfClosed();
    return await removeOrphan(this.#core, orphan, options);
  }

  subscribe(listener: (item: RuntimeChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#endHealth();
    for (const record of this.#live.values()) record.dispose(stopped(record.handle, 'is left: the runtime was closed'));
    this.#listeners.clear();
    await this.#release();
  }

  #register({ plan, placeholder }: BuildParts): BuildRecord {
    const { clock, logger } = this.#core;
    const { grace, inspect } = this.#options;
    const record: BuildRecord = new BuildRecord({
      plan,
      strategy: placeholderStrategy(placeholder),
      clock,
      logger,
      actors: { ...(grace === undefined ? {} : { grace }), ...(inspect === undefined ? {} : { inspect }) },
      onChange: (build, change) => this.#tell({ kind: 'state', build, change }),
      onSeen: (build, seen) => this.#tell({ kind: 'seen', build, seen }),
      look: () => look(this.#core, record),
      lookForVerdict: () => lookForVerdict(this.#core, record),
    });
    this.#live.set(record.handle.id, record);
    record.onRelease(() => this.#live.delete(record.handle.id));
    this.#records.set(record.handle, record);
    return record;
  }

  #policy(): SpecPolicy {
    const { privilegedImages = [], hostPaths = [] } = this.#options;
    return { placeholder: this.#placeholder, privilegedImages, hostPaths };
  }

  /** Throws for a spec that cannot run. */
  #plan(spec: BuildSpec): BuildPlan {
    checkSpec(spec, this.#policy());
    const plan = planBuild(spec, { owner: this.owner, namespace: this.namespace, placeholder: this.#placeholder });
    checkSize(plan, placeholderStrategy(this.#placeholder));
    return plan;
  }

  #amend(build: Build, change: (spec: BuildSpec) => BuildSpec): void {
    const record = this.#record(build);
    if (record.stage !== 'setup') throw record.wrongStage('changed');
    record.amend(this.#plan(change(record.spec)));
  }

  /** Waits for an assembly under way. Passes when there is a verdict, whatever the order of calls was. */
  async #assembled(record: BuildRecord, name: string, what: string, signal?: AbortSignal): Promise<void> {
    const container = record.container(name);
    if (record.outcome(container) !== null) return;
    if (record.stage === 'setup') throw record.wrongStage(`${what} ("${name}")`);
    await record.waiters.until(
      () => (record.outcome(container) !== null || record.stage !== 'assembling' ? true : undefined),
      signal,
    );
    if (record.outcome(container) === null && record.assemblyFailure !== undefined) throw record.assemblyFailure.error;
  }

  #record(build: Build): BuildRecord {
    const record = this.#records.get(build);
    if (record !== undefined) return record;
    throw new PodwrightError('ERR_PODWRIGHT_USAGE', `The build "${build.id}" is not one of this runtime`, {
      remedy: 'Give the object that setupBuild or adopt gave.',
      details: { build: build.id },
    });
  }

  #throwIfClosed(): void {
    if (this.#closing === undefined) return;
    throw new PodwrightError('ERR_PODWRIGHT_STOPPED', 'The runtime is closed', { remedy: 'Create another one.' });
  }

  #tell(item: RuntimeChange): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(item);
      } catch (error) {
        this.#core.logger.info('a listener threw', { error: String(error) });
      }
    }
  }
}

interface BuildParts {
  readonly plan: BuildPlan;
  readonly placeholder: PlaceholderOption;
}
