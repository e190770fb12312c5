/**
 * Containers as processes of this machine: for a quick start without Kubernetes.
 *
 * A step's command runs as this user, in a scratch folder, without its image and without any isolation; each is its own
 * process group, ended with the container. Volumes are scratch folders too: where a container's paths stand in its
 * arguments, environment and working directory, the folders' paths are put in their place. What cannot be run so is
 * refused by name. A process that leaves its group (`setsid`) is not found again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { join } from 'node:path';
import { kill } from 'node:process';
import type { Clock } from '../../clock.ts';
import { texts } from '../texts.ts';
import type { PodObject } from '../types.ts';
import {
  type Backend,
  type ExecResult,
  type ImageRecord,
  type NetworkRequest,
  type PullOutcome,
  type RunningContainer,
  StartFailure,
  type StartRequest,
} from './backend.ts';
import { execFailed, execProcess, notFoundCode } from './exec.ts';
import { LineSplitter } from './line-splitter.ts';
import { connectTo } from './network.ts';
import { type PlaceholderImage, placeholderCode } from './placeholders.ts';
import { prepareScratch, type Scratch } from './scratch.ts';

export interface ProcessBackendOptions {
  readonly clock: Clock;
  /** Scratch folders are made here. */
  readonly directory: string;
  readonly placeholders: readonly PlaceholderImage[];
  /** The PATH of steps. */
  readonly path: string;
  /** Images that the node does not have, and the text with which their pull fails. */
  readonly missingImages: ReadonlyMap<string, string>;
  /** Told once, before the first step runs. */
  readonly warn: (message: string) => void;
}

const unisolatedWarning =
  'steps run as local processes: unisolated, as this user, and without their image (it is named, not pulled)';

/** After the process has ended, its output may be held open by others for so long. */
const outputGraceMs = 1_000;

export class ProcessBackend implements Backend {
  readonly #options: ProcessBackendOptions;
  readonly #children = new Set<Child>();
  #warned = false;

  constructor(options: ProcessBackendOptions) {
    this.#options = options;
  }

  refusePod({ spec }: PodObject): string | undefined {
    const refuse = (what: string): string => `the process back-end of the embedded cluster cannot run ${what}`;
    for (const { name, securityContext } of [...(spec.initContainers ?? []), ...spec.containers]) {
      if (securityContext?.privileged === true) return refuse(`the privileged container "${name}"`);
    }
    if (spec.hostNetwork === true || spec.hostPID === true || spec.hostIPC === true) {
      return refuse('a pod in the namespaces of its host (hostNetwork, hostPID, hostIPC)');
    }
    const supported = ['name', 'emptyDir', 'secret', 'configMap', 'projected'];
    for (const volume of spec.volumes ?? []) {
      const source = Object.keys(volume).find((key) => !supported.includes(key));
      if (source !== undefined) return refuse(`a pod with a ${source} volume ("${volume.name}")`);
    }
    return undefined;
  }

  image(reference: string): ImageRecord | undefined {
    if (this.#options.missingImages.has(reference)) return undefined;
    return { imageID: `sha256:${createHash('sha256').update(reference).digest('hex')}`, bytes: 0 };
  }

  async pull(reference: string): Promise<PullOutcome> {
    const text = this.#options.missingImages.get(reference);
    const image = this.image(reference);
    if (text !== undefined || image === undefined) return { ok: false, text: text ?? 'not found' };
    return { ok: true, image };
  }

  removeImages(): void {
    // Nothing was pulled, nothing is lost.
  }

  async start(request: StartRequest): Promise<RunningContainer> {
    const code = placeholderCode(request.image, this.#options.placeholders);
    return code === undefined ? this.#startProcess(request) : waitingContainer(request, code);
  }

  async removePod(uid: string): Promise<void> {
    await rm(this.#podDirectory(uid), { recursive: true, force: true });
  }

  async dispose(): Promise<void> {
    const children = [...this.#children];
    for (const child of children) child.kill();
    await Promise.all(children.map((child) => child.ended));
  }

  async #startProcess(request: StartRequest): Promise<RunningContainer> {
    const { container, pod, image } = request;
    const { clock, path, warn } = this.#options;
    const [file, ...args] = [...(container.command ?? []), ...(container.args ?? [])];
    if (file === undefined) {
      throw new StartFailure(
        `the process back-end of the embedded cluster cannot run container "${container.name}": it has neither command nor args, and those of its image "${image}" are not known without the image`,
      );
    }
    if (!this.#warned) warn(unisolatedWarning);
    this.#warned = true;
    const scratch = await prepareScratch(this.#podDirectory(pod.metadata.uid), request);
    const child = new Child(request, scratch, {
      file: scratch.inside(file),
      args: args.map(scratch.inside),
      path,
      clock,
    });
    await child.started;
    this.#children.add(child);
    void child.ended.finally(() => this.#children.delete(child));
    return child;
  }

  #podDirectory(uid: string): string {
    return join(this.#options.directory, 'pods', uid);
  }
}

/** Nothing of the container's command runs. */
function waitingContainer({ exited }: StartRequest, exitCode: number): RunningContainer {
  return {
    terminate: () => queueMicrotask(() => exited({ exitCode })),
    kill: () => queueMicrotask(() => exited({ exitCode: 137 })),
    // There is nothing in it but what waits.
    exec: ([file = '']) =>
      Promise.resolve({ exitCode: notFoundCode, output: execFailed(file, 'executable file not found in $PATH') }),
    connect: (request) => Promise.resolve({ exitCode: 1, output: texts.networkRefused(request) }),
  };
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly path: string;
  readonly clock: Clock;
}

class Child implements RunningContainer {
  /** Rejects with StartFailure. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #request: StartRequest;
  readonly #scratch: Scratch;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #gone = new AbortController();

  constructor(request: StartRequest, scratch: Scratch, { file, args, path, clock }: Command) {
    this.#request = request;
    this.#scratch = scratch;
    this.#environment = { PATH: path, HOSTNAME: request.pod.metadata.name, ...scratch.environment };
    this.#child = spawn(file, args, {
      cwd: scratch.workingDirectory,
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that all of it can be ended.
      detached: true,
    });
    this.started = new Promise((resolve, reject) => {
      this.#child.once('spawn', resolve);
      this.#child.once('error', (error) => reject(startFailure(file, error)));
    });
    this.ended = this.#follow(scratch, clock);
  }

  /** As a runtime does it: the first process is told, not the group. */
  terminate(): void {
    this.#child.kill('SIGTERM');
  }

  kill(): void {
    this.#signalGroup('SIGKILL');
  }

  exec(command: readonly string[], signal: AbortSignal): Promise<ExecResult> {
    const { workingDirectory, inside } = this.#scratch;
    const request = { command: command.map(inside), workingDirectory, environment: this.#environment };
    return execProcess(request, AbortSignal.any([signal, this.#gone.signal]));
  }

  connect(request: NetworkRequest, signal: AbortSignal): Promise<ExecResult> {
    return connectTo(request, AbortSignal.any([signal, this.#gone.signal]));
  }

  /** Resolves when the container has ended, also when it never started. */
  async #follow(scratch: Scratch, clock: Clock): Promise<void> {
    const outputs = [this.#child.stdout, this.#child.stderr].flatMap((stream) => {
      if (stream === null) return [];
      const splitter = new LineSplitter(this.#request.output);
      stream.on('data', (bytes: Buffer) => splitter.push(bytes));
      return [new Promise<void>((resolve) => stream.once('close', () => resolve(splitter.end())))];
    });
    const end = await new Promise<number | undefined>((resolve) => {
      this.#child.once('error', () => resolve(undefined));
      this.#child.once('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 0)));
    });
    if (end === undefined) return;
    // With the first process its whole group goes, as in a PID namespace.
    this.#signalGroup('SIGKILL');
    this.#gone.abort();
    const late = clock.schedule(outputGraceMs, () => {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    });
    await Promise.all(outputs);
    late.cancel();
    const message = await readFile(scratch.terminationLog, 'utf8').catch(() => '');
    this.#request.exited({ exitCode: end, ...(message !== '' && { message }) });
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      kill(-pid, signal);
    } catch {
      // The group is empty: that is what was wanted.
    }
  }
}

function startFailure(file: string, error: NodeJS.ErrnoException): StartFailure {
  const why = error.code === 'ENOENT' ? `stat ${file}: no such file or directory` : error.message;
  return new StartFailure(
    `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "${file}": ${why}: unknown`,
  );
}
