/** `podwright doctor`: whether builds can run on a cluster, and what to do where they cannot. */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { type Clock, systemClock } from '../../clock.ts';
import { isPodwrightError, type PodwrightError } from '../../errors.ts';
import { checkAccess, roleText } from '../../kube/access.ts';
import type { KubeClient } from '../../kube/client.ts';
import { defaultPlaceholder, type PlaceholderOption } from '../../pod/start-strategy.ts';
import type { Pod } from '../../pod/types.ts';
import type { Build, Runtime } from '../../runtime/contract.ts';
import { createRuntime } from '../../runtime/runtime.ts';
import { addClusterOptions, type ClusterFlags } from '../cluster-flags.ts';
import { type Connection, withConnection } from '../connect.ts';
import { exitCodes } from '../exit-codes.ts';
import { listenForInterrupt } from '../interrupt.ts';
import { explainOutcome, pulledText } from '../output/words.ts';
import type { Terminal } from '../terminal.ts';

interface DoctorFlags extends ClusterFlags {
  readonly image: string;
  readonly probe: boolean;
}

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .description('Check whether builds can run on a cluster: contact, version, rights, restart rules, registry, clock.')
    .option('--image <reference>', 'image that the probe pod pulls and runs', 'busybox:1.36')
    .option('--no-probe', 'create no pod')
    .addHelpText(
      'after',
      '\nExample:\n  podwright doctor --kubeconfig ~/.kube/config --namespace builds --image registry.example.com/tools/base:1\n',
    );
  addClusterOptions(command).action((flags: DoctorFlags) =>
    withConnection(flags, async (connection) => {
      const isWell = await new Doctor(connection, flags, terminal, systemClock).examine();
      process.exitCode = isWell ? exitCodes.succeeded : exitCodes.infrastructure;
    }),
  );
}

/** Below this the placeholder's image cannot be exchanged reliably; older servers are not tested. */
const oldestMinor = 31;
/** Above this, ages and deadlines that are told look wrong. */
const toleratedSkewMs = 5_000;

class Doctor {
  readonly #connection: Connection;
  readonly #flags: DoctorFlags;
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  #isWell = true;

  constructor(connection: Connection, flags: DoctorFlags, terminal: Terminal, clock: Clock) {
    this.#connection = connection;
    this.#flags = flags;
    this.#terminal = terminal;
    this.#clock = clock;
  }

  async examine(): Promise<boolean> {
    const { client, namespace } = this.#connection;
    if (!(await this.#contact(client))) return false;
    const mayRun = await this.#rights(client, namespace);
    if (this.#flags.probe && mayRun) await this.#probe();
    return this.#isWell;
  }

  /** Gives whether there is any use in going on. */
  async #contact(client: KubeClient): Promise<boolean> {
    try {
      const { gitVersion, minor } = await client.version({ retryForMs: 0 });
      this.#good(`${client.server} answers`);
      const isNew = Number.parseInt(minor, 10) >= oldestMinor;
      const remedy = `Versions from 1.${oldestMinor} on are tested; this one may work.`;
      if (isNew) this.#good(`Kubernetes ${gitVersion}`);
      else this.#warn(`Kubernetes ${gitVersion} is old`, remedy);
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  async #rights(client: KubeClient, namespace: string): Promise<boolean> {
    const { missing, unknown } = await checkAccess(client, namespace);
    if (unknown.length > 0) this.#warn('the server does not tell what is allowed', 'The probe shows it.');
    for (const right of missing) {
      const text = `not allowed in "${namespace}": ${right.verb} ${right.resource}${right.subresource === undefined ? '' : `/${right.subresource}`}, needed to ${right.purpose}`;
      if (right.isEssential) this.#bad(text);
      else this.#warn(text);
    }
    if (missing.length === 0 && unknown.length === 0) this.#good(`all rights that are needed in "${namespace}"`);
    else if (missing.length > 0)
      this.#terminal.out(`${indent(`Apply this Role and bind it (kubectl apply -f -):\n${roleText(namespace)}`)}\n`);
    return missing.every((right) => !right.isEssential);
  }

  /** A build of one step, from its pod to its log. Its pod is removed also when it is interrupted: that is thrown then. */
  async #probe(): Promise<void> {
    const { client, namespace } = this.#connection;
    const placeholder: PlaceholderOption = this.#flags.placeholder ?? defaultPlaceholder;
    let pod = 'nothing';
    const interrupt = listenForInterrupt({
      onFirst: () => this.#terminal.err('Removing the probe. Interrupt again to leave at once.\n'),
      onSecond: () => this.#terminal.err(`Left at once. Still there: ${pod}\n`),
    });
    const { signal } = interrupt;
    const runtime = await createRuntime({ client, namespace, placeholder });
    try {
      const build = await runtime.setupBuild({
        id: `doctor-${randomBytes(4).toString('hex')}`,
        containers: [{ name: 'probe', image: this.#flags.image, role: 'step', script: 'echo podwright-probe' }],
        timeouts: { scheduleMs: 60_000, startMs: 60_000, pullMs: 120_000, runMs: 60_000 },
      });
      pod = `pod ${namespace}/${build.podName}`;
      try {
        await this.#probeBuild(runtime, build, placeholder, signal);
      } finally {
        const report = await runtime.removeBuild(build);
        for (const what of report.remaining) this.#bad(`not removed: ${what}`);
      }
      signal.throwIfAborted();
    } catch (error) {
      signal.throwIfAborted();
      this.#failed(error);
    } finally {
      await runtime.close();
      interrupt.stop();
    }
  }

  async #probeBuild(
    runtime: Runtime,
    build: Build,
    placeholder: PlaceholderOption,
    signal: AbortSignal,
  ): Promise<void> {
    const before = this.#clock.now();
    await runtime.assembleBuild(build, { signal });
    this.#good(`a pod starts, its containers wait in ${placeholder.image}`);
    await this.#clockSkew(build, before);
    this.#restartRules(runtime, build, placeholder);
    const pull = new PullWitness(runtime, build);
    await runtime.runContainer(build, 'probe', { signal });
    const outcome = await runtime.waitContainer(build, 'probe', { signal });
    const wasPulled = await pull.end();
    signal.throwIfAborted();
    const { what, said, remedy } = explainOutcome(outcome);
    if (what !== 'succeeded')
      this.#bad(`${this.#flags.image}: ${said === null ? what : `${what}: ${said}`}`, remedy ?? undefined);
    else if (wasPulled) this.#good(`the registry gives ${this.#flags.image}, and it runs`);
    else
      this.#warn(
        `${this.#flags.image} runs, but was on the node already`,
        'Name one that is not there to see the registry: --image.',
      );
    if (what !== 'succeeded') return;
    for await (const line of runtime.tailContainer(build, 'probe', { signal })) {
      if (line.text === 'podwright-probe') this.#good('logs can be read');
      else if (line.gap !== undefined) this.#bad(`the log could not be read: ${line.gap.message ?? line.gap.reason}`);
    }
  }

  #restartRules(runtime: Runtime, build: Build, placeholder: PlaceholderOption): void {
    const { retriesPulls } = runtime.inspectBuild(build).pod;
    if (retriesPulls === true) {
      this.#good('restart rules are kept: a failed pull is tried again');
      return;
    }
    const hasCode = placeholder.entry === true || (placeholder.restartOn ?? 0) !== 0;
    const remedy = hasCode
      ? 'Kubernetes 1.35 and later keep them; verdicts are right without them too.'
      : 'The placeholder ends with no code of its own; make one that does: podwright placeholder build.';
    this.#warn('a pull that fails is not tried again', remedy);
  }

  /** The server stamped the pod between two moments of ours; it stamps whole seconds. */
  async #clockSkew(build: Build, before: number): Promise<void> {
    const { client } = this.#connection;
    const pod = await client.get<Pod>({ resource: 'pods', namespace: build.namespace, name: build.podName });
    const created = Date.parse(pod.metadata.creationTimestamp ?? '');
    const late = created - this.#clock.now();
    const early = before - 1_000 - created;
    const skew = Math.max(late, early, 0);
    if (skew <= toleratedSkewMs) this.#good('the clocks here and there agree');
    else this.#warn(`the clocks here and there differ by ${Math.round(skew / 1000)} s`, 'Synchronize them (NTP).');
  }

  #good(text: string): void {
    this.#terminal.out(`${this.#terminal.style('green', '✓')} ${text}\n`);
  }

  #warn(text: string, remedy?: string): void {
    this.#terminal.out(
      `${this.#terminal.style('yellow', '!')} ${text}\n${remedy === undefined ? '' : `${indent(remedy)}\n`}`,
    );
  }

  #bad(text: string, remedy?: string): void {
    this.#isWell = false;
    this.#terminal.out(
      `${this.#terminal.style('red', '✗')} ${text}\n${remedy === undefined ? '' : `${indent(remedy)}\n`}`,
    );
  }

  #failed(error: unknown): void {
    if (!isPodwrightError(error)) throw error;
    const { message, remedy }: PodwrightError = error;
    this.#bad(message, remedy);
  }
}

/** Whether the probe's image came from its registry. */
class PullWitness {
  readonly #end = new AbortController();
  readonly #seen: Promise<boolean>;

  constructor(runtime: Runtime, build: Build) {
    this.#seen = this.#watch(runtime, build);
  }

  end(): Promise<boolean> {
    this.#end.abort();
    return this.#seen;
  }

  async #watch(runtime: Runtime, build: Build): Promise<boolean> {
    let wasPulled = false;
    for await (const item of runtime.streamBuild(build, { signal: this.#end.signal })) {
      if (item.kind !== 'kubeEvent' || item.container !== 'probe') continue;
      wasPulled ||= pulledText(item.reason, item.message) !== undefined;
    }
    return wasPulled;
  }
}

function indent(text: string): string {
  return text.trimEnd().replace(/^/gm, '  ');
}
