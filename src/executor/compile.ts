/**
 * From a pipeline and the facts of a build to its plan and to what the runtime is given.
 *
 * Pure: the same input gives the same output, and nothing is sent anywhere. Throws
 * `ERR_PODWRIGHT_PIPELINE_INVALID` for mistakes that only show with the facts: an image that no variable completes, a
 * secret that nobody gave.
 */
import { isPodwrightError } from '../errors.ts';
import { parseImageReference } from '../image/reference.ts';
import type {
  BuildSpec,
  ContainerSpecRequest,
  MountRequest,
  ReadinessRequest,
  VolumeRequest,
} from '../pod/build-spec.ts';
import { implicitStages } from './check.ts';
import { withClone } from './clone.ts';
import type { Path } from './document.ts';
import { ExpressionError } from './expression.ts';
import { type BuildFacts, buildEnvironment, stepEnvironment, workspacePath } from './facts.ts';
import type { Container, ContainerKind, Pipeline, Service, Stage, Step } from './pipeline.ts';
import type { Plan, PlannedService, PlannedStage, PlannedStep } from './plan.ts';
import { type Problem, pipelineInvalid } from './problems.ts';
import { decide } from './rules.ts';
import { buildScript, canLimit } from './script.ts';
import { substitute, substituteCommand } from './substitute.ts';
import { parameterEnvironment, resolveVariables, type SecretValue, type Variables } from './variables.ts';

export interface CompileOptions {
  readonly facts: BuildFacts;
  /** By the name that steps ask for. */
  readonly secrets?: ReadonlyMap<string, SecretValue>;
  /** Variables for every container, over all others. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Shell commands by the name of the service: the first step waits until each ends with 0 in its service. */
  readonly readiness?: ReadonlyMap<string, string>;
  /** The image of the clone step. Without it, clone steps are left out: the workspace comes from somewhere else. */
  readonly cloneImage?: string;
}

export interface CompiledPipeline {
  readonly plan: Plan;
  /** All but the id of the build. */
  readonly spec: Omit<BuildSpec, 'id'>;
  /** Values that must not be shown. */
  readonly masked: readonly string[];
}

export function compile(pipeline: Pipeline, options: CompileOptions): CompiledPipeline {
  return new Compiler(withClone(pipeline, options.cloneImage), options).compile();
}

/** Memory, so that what a plugin fetched is never on a disk. */
const secretsVolume: VolumeRequest = { name: 'secrets', emptyDir: { medium: 'Memory' } };
const secretsMount: MountRequest = { volume: 'secrets', mountPath: '/vela/secrets' };

class Compiler {
  readonly #pipeline: Pipeline;
  readonly #options: CompileOptions;
  readonly #problems: Problem[] = [];
  readonly #notes: string[];
  readonly #containers: ContainerSpecRequest[] = [];
  readonly #names = new Set<string>();
  readonly #volumes = new Map<string, VolumeRequest>();
  readonly #masked = new Set<string>();
  readonly #build: Readonly<Record<string, string>>;
  #number = 0;

  constructor({ pipeline, notes }: { pipeline: Pipeline; notes: readonly string[] }, options: CompileOptions) {
    this.#pipeline = pipeline;
    this.#options = options;
    this.#notes = [...notes];
    this.#build = buildEnvironment(options.facts);
  }

  compile(): CompiledPipeline {
    const { secretPlugins, services, stages } = this.#pipeline;
    // Services first: their plain names are host names that steps use.
    const plannedServices = services.map((service) => this.#service(service));
    const plugins = secretPlugins.map((plugin) => this.#step(plugin, undefined));
    const planned = stages.map((stage) => this.#stage(stage));
    if (this.#containers.length === 0 && this.#problems.length === 0) {
      this.#notes.push('No step is left to run: each is skipped by its rules.');
    }
    if (this.#problems.length > 0) throw pipelineInvalid(this.#problems);
    const usesSecrets = secretPlugins.length > 0;
    return {
      plan: { plugins, services: plannedServices, stages: planned, notes: this.#notes },
      spec: {
        containers: usesSecrets ? this.#containers.map(withSecretsMount) : this.#containers,
        workspace: { mountPath: workspacePath(this.#options.facts) },
        volumes: [...(usesSecrets ? [secretsVolume] : []), ...this.#volumes.values()],
      },
      masked: [...this.#masked],
    };
  }

  #stage(stage: Stage): PlannedStage {
    const names = this.#pipeline.stages.map((other) => other.name);
    // Every stage comes after the one that brings the sources, as in the format.
    const implicit = implicitStages.includes(stage.name) ? [] : implicitStages.filter((name) => name === 'clone');
    const needs = new Set([...stage.needs, ...implicit].filter((need) => names.includes(need)));
    return {
      name: stage.name,
      needs: [...needs],
      independent: stage.independent,
      steps: stage.steps.map((step) => this.#step(step, stage)),
    };
  }

  #step(step: Step, stage: Stage | undefined): PlannedStep {
    const number = ++this.#number;
    const kind = stage === undefined ? 'secrets' : 'steps';
    const own = {
      name: step.name,
      image: step.image,
      number,
      stage: stage?.name ?? '',
      reportAs: step.reportAs ?? '',
    };
    const layers = [
      ...this.#layers(kind, step, stage),
      stepEnvironment(own),
      parameterEnvironment(step.parameters),
      this.#options.environment ?? {},
    ];
    const when = this.#decide(step, layers);
    const isLeftOut = when.runs === 'never';
    // Secrets of a step that never runs are not asked for.
    const variables = resolveVariables(layers, isLeftOut ? new Map() : this.#secretsOf(step));
    const planned = {
      ...own,
      container: isLeftOut ? '' : this.#uniqueName(step, stage),
      image: this.#image(step, variables, isLeftOut),
      when,
      detach: step.detach,
      continues: step.ruleset.continue,
      artifacts: step.artifacts.map((path) => substitute(path, variables.lookup)),
    };
    if (!isLeftOut) this.#containers.push(this.#request(step, planned, variables));
    if (!isLeftOut && step.detach && step.artifacts.length > 0) {
      this.#notes.push(
        `"${step.name}": its artifacts are not copied back; nobody waits for the end of a detached step.`,
      );
    }
    const { reportAs: _, ...result } = planned;
    return result;
  }

  #service(service: Service): PlannedService {
    const layers = [...this.#layers('services', service, undefined), this.#options.environment ?? {}];
    const variables = resolveVariables(layers, new Map());
    const container = this.#uniqueName(service, undefined);
    const image = this.#image(service, variables, false);
    this.#noteLimits(service, service.ulimits);
    const ports = service.ports.filter(({ protocol }) => protocol === 'tcp').map(({ port }) => port);
    const readiness = readinessOf(this.#options.readiness?.get(service.name), ports);
    this.#containers.push({
      ...this.#common(service, container, image, variables),
      role: 'service',
      ...(readiness === undefined ? {} : { readiness }),
      ...(service.ports.length === 0
        ? {}
        : {
            ports: service.ports.map(({ port, protocol }) => ({
              port,
              protocol: protocol === 'udp' ? ('UDP' as const) : ('TCP' as const),
            })),
          }),
    });
    return { name: service.name, container, image, ports, readiness: readinessText(readiness) };
  }

  #request(step: Step, planned: PlannedStep, variables: Variables): ContainerSpecRequest {
    const mounts = step.volumes.map(({ source, destination, mode }) => ({
      volume: this.#hostVolume(substitute(source, variables.lookup)),
      mountPath: substitute(destination, variables.lookup),
      readOnly: mode === 'ro',
    }));
    const hasScript = step.commands.length > 0;
    const limits = hasScript ? step.ulimits.filter(canLimit) : [];
    this.#noteLimits(
      step,
      step.ulimits.filter((limit) => !limits.includes(limit)),
    );
    const script = hasScript
      ? {
          script: buildScript(
            step.commands.map((command) => substituteCommand(command, variables.lookup)),
            limits,
          ),
        }
      : {};
    const { entrypoint: _, ...withoutEntrypoint } = this.#common(step, planned.container, planned.image, variables);
    return {
      // Commands take the place of an entrypoint, as in the format.
      ...(hasScript ? withoutEntrypoint : this.#common(step, planned.container, planned.image, variables)),
      ...script,
      role: 'step',
      ...(step.detach ? { detach: true } : {}),
      ...(step.privileged ? { privileged: true } : {}),
      ...(mounts.length === 0 ? {} : { mounts }),
    };
  }

  /** What steps and services share. */
  #common(container: Container, name: string, image: string, variables: Variables) {
    for (const value of Object.values(variables.secrets)) this.#masked.add(value);
    const entrypoint = container.entrypoint.map((part) => substitute(part, variables.lookup));
    const user = container.user === undefined ? undefined : userContext(substitute(container.user, variables.lookup));
    return {
      name,
      image,
      pull: container.pull,
      environment: { SHELL: '/bin/sh', ...variables.plain },
      ...(Object.keys(variables.secrets).length === 0 ? {} : { secrets: variables.secrets }),
      ...(Object.keys(variables.refs).length === 0 ? {} : { secretRefs: variables.refs }),
      ...(entrypoint.length === 0 ? {} : { entrypoint }),
      ...(user === undefined ? {} : { securityContext: user }),
    };
  }

  #layers(
    kind: ContainerKind,
    container: Container,
    stage: Stage | undefined,
  ): readonly Readonly<Record<string, string>>[] {
    const everyone = this.#pipeline.environmentFor.includes(kind) ? this.#pipeline.environment : {};
    return [everyone, stage?.environment ?? {}, container.environment, this.#build];
  }

  #decide(step: Step, layers: readonly Readonly<Record<string, string>>[]): PlannedStep['when'] {
    const environment = Object.assign({}, ...layers) as Readonly<Record<string, string>>;
    try {
      return decide(step.ruleset, { facts: this.#options.facts, environment });
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      this.#tell([...step.path, 'ruleset'], `the eval rule of step "${step.name}": ${error.message}`, 'Correct it.');
      return { runs: 'success' };
    }
  }

  #secretsOf(step: Step): ReadonlyMap<string, SecretValue> {
    const found = new Map<string, SecretValue>();
    for (const { source, target } of step.secrets) {
      const secret = this.#options.secrets?.get(source);
      if (secret !== undefined) found.set(target, secret);
      else {
        const remedy = `Give it: --secret ${source}=VALUE, or --secret ${source} with the value in the environment.`;
        this.#tell(
          [...step.path, 'secrets'],
          `step "${step.name}" asks for the secret "${source}", which was not given`,
          remedy,
        );
      }
    }
    return found;
  }

  #image(container: Container, variables: Variables, isLeftOut: boolean): string {
    const image = substitute(container.image, variables.lookup);
    if (isLeftOut) return image;
    try {
      parseImageReference(image);
    } catch (error) {
      if (!isPodwrightError(error)) throw error;
      this.#tell([...container.path, 'image'], `"${container.name}": ${error.message}`, error.remedy ?? 'Correct it.');
    }
    return image;
  }

  #hostVolume(source: string): string {
    const known = this.#volumes.get(source);
    if (known !== undefined) return known.name;
    const name = `host-${this.#volumes.size + 1}`;
    this.#volumes.set(source, { name, hostPath: source });
    return name;
  }

  #noteLimits(container: Container, ignored: readonly { readonly name: string }[]): void {
    if (ignored.length === 0) return;
    const names = ignored.map((limit) => limit.name).join(', ');
    this.#notes.push(
      `"${container.name}": the limits ${names} are not set; Kubernetes has none, and no shell can set them.`,
    );
  }

  #uniqueName(container: Container, stage: Stage | undefined): string {
    const base = stage === undefined || stage.name === '' ? container.name : `${stage.name}/${container.name}`;
    let name = base;
    for (let count = 2; this.#names.has(name); count++) name = `${base} (${count})`;
    this.#names.add(name);
    return name;
  }

  #tell(path: Path, message: string, remedy: string): void {
    this.#problems.push({ file: this.#pipeline.file, ...this.#pipeline.locate(path), message, remedy });
  }
}

function withSecretsMount(container: ContainerSpecRequest): ContainerSpecRequest {
  return { ...container, mounts: [...(container.mounts ?? []), secretsMount] };
}

/** A command says more than a port. The kubelet asks about one thing only: the first port. */
function readinessOf(command: string | undefined, ports: readonly number[]): ReadinessRequest | undefined {
  if (command !== undefined) return { command: ['/bin/sh', '-c', command] };
  const [tcpPort] = ports;
  return tcpPort === undefined ? undefined : { tcpPort };
}

function readinessText(readiness: ReadinessRequest | undefined): string | null {
  if (readiness === undefined) return null;
  return 'tcpPort' in readiness
    ? `port ${readiness.tcpPort} accepts connections`
    : `"${readiness.command.at(-1)}" succeeds`;
}

/** `1000`, `1000:1000`, `root`. */
function userContext(user: string): { readonly runAsUser: number; readonly runAsGroup?: number } {
  const [uid = '', gid] = (user === 'root' ? '0' : user).split(':');
  return { runAsUser: Number(uid), ...(gid === undefined ? {} : { runAsGroup: Number(gid) }) };
}
