/**
 * Brings a local folder into the workspace of a build, and artifacts of its steps back.
 *
 * A container of the pod, beside the steps, does it: on a cluster an archive goes in and out through `exec` in it; it
 * needs an image with a shell and tar. (An init container would need a way for the archive into the cluster before the
 * pod exists.) On the embedded cluster it shares the disk with this process, and the archive is a path.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { PodwrightError } from '../errors.ts';
import type { CompiledPipeline } from '../executor/compile.ts';
import type { ExecuteOptions } from '../executor/execute.ts';
import { type PlannedStep, stepsOf } from '../executor/plan.ts';
import type { ContainerSpecRequest } from '../pod/build-spec.ts';
import type { Build, Runtime } from '../runtime/contract.ts';
import { packFolder, unpackInto } from './archive.ts';
import type { ClusterFlags } from './cluster-flags.ts';
import { type Exec, opener } from './exec.ts';
import { counted } from './output/words.ts';
import { helperName, type WorkspaceFlags } from './workspace-flags.ts';

export interface WorkspaceOptions {
  readonly flags: WorkspaceFlags & Pick<ClusterFlags, 'kubeconfig' | 'context'>;
  readonly isEmbedded: boolean;
  readonly cwd: string;
  readonly say: (text: string) => void;
}

export interface Workspace {
  /** With the containers that bring files in and out. */
  readonly pipeline: CompiledPipeline;
  /** What `execute` takes of it. */
  hooks(runtime: Runtime): Pick<ExecuteOptions, 'prepare' | 'collect'>;
  /** Removes the archive. */
  end(): Promise<void>;
}

/** Packs the folder, when one is named. A pipeline that needs nothing brought in or out stays as it is. */
export async function openWorkspace(pipeline: CompiledPipeline, options: WorkspaceOptions): Promise<Workspace> {
  const { flags, isEmbedded, cwd, say } = options;
  const withArtifacts = stepsOf(pipeline.plan).filter((step) => step.container !== '' && step.artifacts.length > 0);
  if (flags.workspace === undefined && withArtifacts.length === 0) {
    return { pipeline, hooks: () => ({}), end: async () => undefined };
  }
  const folder = await mkdtemp(join(tmpdir(), 'podwright-workspace-'));
  const archive = join(folder, 'sources.tar.gz');
  if (flags.workspace !== undefined) {
    try {
      const count = await packFolder(resolve(cwd, flags.workspace), archive);
      const { size } = await stat(archive);
      say(`${flags.workspace}: ${counted(count, 'file')}, ${Math.ceil(size / 1024)} KiB`);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }
  const state = { flags, folder, archive: flags.workspace === undefined ? undefined : archive, cwd, say };
  return isEmbedded ? new SharedDisk(pipeline, withArtifacts, state) : new ThroughExec(pipeline, state);
}

interface State {
  readonly flags: WorkspaceOptions['flags'];
  readonly folder: string;
  /** Undefined when nothing is brought in. */
  readonly archive: string | undefined;
  readonly cwd: string;
  readonly say: (text: string) => void;
}

/** So that a step of any user may write there. */
const openToAll = 'chmod -R a+rwX .';

function helper(name: string, image: string, script: string): ContainerSpecRequest {
  return { name, image, script, role: 'service', environment: {} };
}

function withContainers(pipeline: CompiledPipeline, containers: readonly ContainerSpecRequest[]): CompiledPipeline {
  return { ...pipeline, spec: { ...pipeline.spec, containers: [...pipeline.spec.containers, ...containers] } };
}

/** A folder for each step, under the one the user named. */
function destinationOf({ flags, cwd }: State, step: PlannedStep): string {
  const name = (step.stage === '' ? step.name : `${step.stage}-${step.name}`).replace(/[^\w.-]+/g, '-');
  return resolve(cwd, flags.artifacts, name);
}

class ThroughExec implements Workspace {
  readonly pipeline: CompiledPipeline;
  readonly #state: State;
  #exec: Promise<Exec> | undefined;

  constructor(pipeline: CompiledPipeline, state: State) {
    this.#state = state;
    const wait = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done";
    this.pipeline = withContainers(pipeline, [helper(helperName, state.flags.workspaceImage, wait)]);
  }

  hooks(runtime: Runtime): Pick<ExecuteOptions, 'prepare' | 'collect'> {
    return {
      prepare: (build, signal) => this.#prepare(runtime, build, signal),
      collect: (build, step) => this.#collect(runtime, build, step),
    };
  }

  end(): Promise<void> {
    return rm(this.#state.folder, { recursive: true, force: true });
  }

  async #prepare(runtime: Runtime, build: Build, signal: AbortSignal): Promise<void> {
    const outcome = await runtime.runContainer(build, helperName);
    signal.throwIfAborted();
    if (outcome.outcome !== 'running') throw notStarted(this.#state.flags.workspaceImage, outcome.outcome);
    const { archive } = this.#state;
    if (archive === undefined) return;
    const { size } = await stat(archive);
    // The count of bytes ends the input: not every server can tell the command that it has ended.
    const script = `head -c ${size} | tar -xzof - && ${openToAll}`;
    await this.#run(runtime, build, script, { input: createReadStream(archive) }, signal);
  }

  async #collect(runtime: Runtime, build: Build, step: PlannedStep): Promise<void> {
    const packed = join(this.#state.folder, `artifacts-${step.number}.tar`);
    const output = createWriteStream(packed);
    // Listened to from the start: a disk that is full ends the collecting, not the process.
    const written = finished(output);
    written.catch(() => undefined);
    try {
      await this.#run(runtime, build, packScript(step.artifacts), { output }, AbortSignal.timeout(collectMs));
      output.end();
      await written;
      await deliver(this.#state, step, packed);
    } catch (error) {
      tellLost(this.#state, step, error);
    } finally {
      output.destroy();
    }
  }

  async #run(
    runtime: Runtime,
    build: Build,
    script: string,
    streams: Parameters<Exec>[2],
    signal: AbortSignal,
  ): Promise<void> {
    this.#exec ??= opener(this.#state.flags);
    const exec = await this.#exec;
    const { containerName: container } = runtime.inspectContainer(build, helperName);
    const target = { namespace: build.namespace, pod: build.podName, container };
    await exec(target, ['/bin/sh', '-e', '-c', script], streams, signal);
  }
}

const collectMs = 10 * 60_000;

/** One container that unpacks, and one for each step with artifacts that packs. */
class SharedDisk implements Workspace {
  readonly pipeline: CompiledPipeline;
  readonly #state: State;

  constructor(pipeline: CompiledPipeline, withArtifacts: readonly PlannedStep[], state: State) {
    this.#state = state;
    const { workspaceImage } = state.flags;
    const { archive } = state;
    this.pipeline = withContainers(pipeline, [
      ...(archive === undefined ? [] : [helper(helperName, workspaceImage, `tar -xzof '${archive}' && ${openToAll}`)]),
      ...withArtifacts.map((step) => {
        const script = `{ ${packScript(step.artifacts)}; } > '${this.#packed(step)}'`;
        return helper(artifactsName(step), workspaceImage, script);
      }),
    ]);
  }

  hooks(runtime: Runtime): Pick<ExecuteOptions, 'prepare' | 'collect'> {
    return {
      prepare: async (build, signal) => {
        if (this.#state.archive === undefined) return;
        try {
          await runToEnd(runtime, build, helperName, this.#state.flags.workspaceImage);
        } finally {
          // Whatever it ended with then was the cancel's doing.
          signal.throwIfAborted();
        }
      },
      collect: async (build, step) => {
        try {
          await runToEnd(runtime, build, artifactsName(step), this.#state.flags.workspaceImage);
          await deliver(this.#state, step, this.#packed(step));
        } catch (error) {
          tellLost(this.#state, step, error);
        }
      },
    };
  }

  end(): Promise<void> {
    return rm(this.#state.folder, { recursive: true, force: true });
  }

  #packed(step: PlannedStep): string {
    return join(this.#state.folder, `artifacts-${step.number}.tar`);
  }
}

function artifactsName(step: PlannedStep): string {
  return `${helperName}-${step.number}`;
}

/** Patterns are the shell's; one that matches nothing is left out. */
function packScript(patterns: readonly string[]): string {
  const quotedPatterns = patterns.map((pattern) => pattern.replace(/[^\w./*?[\]-]/g, '\\$&')).join(' ');
  return `set --; for file in ${quotedPatterns}; do if [ -e "$file" ]; then set -- "$@" "$file"; fi; done; [ $# -eq 0 ] || tar -cf - "$@"`;
}

async function runToEnd(runtime: Runtime, build: Build, name: string, image: string): Promise<void> {
  await runtime.runContainer(build, name);
  const outcome = await runtime.waitContainer(build, name);
  if (outcome.outcome === 'terminated' && outcome.exitCode === 0) return;
  if (outcome.outcome !== 'terminated') throw notStarted(image, outcome.outcome);
  throw new PodwrightError('ERR_PODWRIGHT_STATE', `the container that moves files ended with ${outcome.exitCode}`);
}

async function deliver(state: State, step: PlannedStep, packed: string): Promise<void> {
  const { size } = await stat(packed);
  if (size === 0) {
    state.say(`"${step.name}" left no artifacts: nothing is called ${step.artifacts.join(' or ')}`);
    return;
  }
  const destination = destinationOf(state, step);
  await unpackInto(packed, destination);
  state.say(`artifacts of "${step.name}" are in ${destination}`);
}

/** Whatever it is (a full disk, a cut connection): the verdict of the step stands, and the user is told. */
function tellLost(state: State, step: PlannedStep, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  state.say(`artifacts of "${step.name}" are lost: ${message}`);
}

function notStarted(image: string, how: string): PodwrightError {
  return new PodwrightError('ERR_PODWRIGHT_STATE', `the container that moves files (${image}) did not start: ${how}`, {
    remedy: 'Name an image with a shell and tar that the cluster can pull: --workspace-image IMAGE.',
  });
}
