/**
 * A pipeline as it was written, in one shape: every short form is expanded, every default of the format is set.
 *
 * Variables are not substituted and rules are not decided here; that needs the facts of a build.
 */
import type { PullPolicy } from '../image/policy.ts';
import type { Path, Position } from './document.ts';

export interface Pipeline {
  /** As the user named it, for messages. */
  readonly file: string;
  readonly version: string;
  /** Whether the format would put a clone step before the others. */
  readonly clone: boolean;
  readonly environment: Readonly<Record<string, string>>;
  /** Which containers get `environment`. */
  readonly environmentFor: readonly ContainerKind[];
  readonly worker: { readonly flavor?: string; readonly platform?: string };
  readonly secrets: readonly SecretDeclaration[];
  /** Plugins that fetch secrets; they run before the first step. */
  readonly secretPlugins: readonly Step[];
  readonly services: readonly Service[];
  /** A pipeline of plain steps is one stage without a name. */
  readonly stages: readonly Stage[];
  /** Where something of the pipeline stands in its file. */
  readonly locate: (path: Path) => Position;
}

export type ContainerKind = 'steps' | 'services' | 'secrets';

export interface SecretDeclaration {
  readonly name: string;
  readonly key?: string;
  readonly engine: string;
  readonly type: string;
  readonly pull: 'build_start' | 'step_start';
  readonly path: Path;
}

export interface Stage {
  /** Empty for the steps of a pipeline without stages. */
  readonly name: string;
  readonly needs: readonly string[];
  readonly independent: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
  readonly path: Path;
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly pull: PullPolicy;
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly ulimits: readonly Ulimit[];
  readonly user?: string;
  /** Where it stands in the file. */
  readonly path: Path;
}

export interface Step extends Container {
  readonly commands: readonly string[];
  readonly secrets: readonly StepSecret[];
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly ruleset: Ruleset;
  readonly detach: boolean;
  readonly privileged: boolean;
  readonly volumes: readonly StepVolume[];
  readonly reportAs?: string;
  readonly idRequest?: string;
  /** Name of the template it would be replaced by. */
  readonly template?: string;
  readonly artifacts: readonly string[];
}

export interface Service extends Container {
  readonly ports: readonly ServicePort[];
}

/** The port the service listens on; all containers share one address. */
export interface ServicePort {
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** The secret `source` becomes the variable `target`. */
export interface StepSecret {
  readonly source: string;
  readonly target: string;
}

export interface Ulimit {
  readonly name: string;
  readonly soft: number;
  readonly hard: number;
}

export interface StepVolume {
  readonly source: string;
  readonly destination: string;
  readonly mode: 'ro' | 'rw';
}

export interface Ruleset {
  readonly if: Rules;
  readonly unless: Rules;
  /** Whether the build goes on, and stays a success, when the step fails. */
  readonly continue: boolean;
}

export const ruleNames = [
  'branch',
  'comment',
  'event',
  'path',
  'repo',
  'sender',
  'status',
  'tag',
  'target',
  'label',
  'instance',
] as const;
export type RuleName = (typeof ruleNames)[number];

export interface Rules {
  /** Patterns by rule; a rule that is not there asks for nothing. */
  readonly patterns: Readonly<Partial<Record<RuleName, readonly string[]>>>;
  readonly eval?: string;
  readonly operator: 'and' | 'or';
  readonly matcher: 'filepath' | 'regexp';
}
