/**
 * From a document to a `Pipeline`: short forms are expanded and defaults are set.
 *
 * It never fails: what has a wrong shape is left out, because the schema has told it already and further mistakes of
 * the file shall be told at the same time.
 */
import { type PullPolicy, pullPolicies } from '../image/policy.ts';
import type { Path, PipelineDocument } from './document.ts';
import {
  type Container,
  type ContainerKind,
  type Pipeline,
  type Rules,
  type Ruleset,
  ruleNames,
  type SecretDeclaration,
  type Service,
  type ServicePort,
  type Stage,
  type Step,
  type StepSecret,
  type StepVolume,
  type Ulimit,
} from './pipeline.ts';

export function normalize(document: PipelineDocument): Pipeline {
  const root = new Reader(document.value, document.texts, []);
  const metadata = root.get('metadata');
  const secrets = root.get('secrets').items();
  const plain = root.get('steps').items();
  const kinds = metadata.get('environment').texts();
  return {
    file: document.file,
    version: root.get('version').text() ?? '1',
    clone: metadata.get('clone').value !== false,
    environment: root.get('environment').environment(),
    environmentFor: containerKinds.filter((kind) => kinds.length === 0 || kinds.includes(kind)),
    worker: {
      ...optional('flavor', root.get('worker').get('flavor').text()),
      ...optional('platform', root.get('worker').get('platform').text()),
    },
    secrets: secrets.filter((secret) => secret.get('origin').isMissing).map(readSecret),
    secretPlugins: secrets
      .map((secret) => secret.get('origin'))
      .filter((origin) => !origin.isMissing)
      .map(readStep),
    services: root.get('services').items().map(readService),
    locate: (path) => document.valueAt(path),
    stages: [...(plain.length === 0 ? [] : [plainStage(plain)]), ...root.get('stages').entries().map(readStage)],
  };
}

const containerKinds: readonly ContainerKind[] = ['steps', 'services', 'secrets'];

function plainStage(steps: readonly Reader[]): Stage {
  return { name: '', needs: [], independent: false, environment: {}, steps: steps.map(readStep), path: ['steps'] };
}

function readStage([key, stage]: readonly [string, Reader]): Stage {
  return {
    name: stage.get('name').text() ?? key,
    needs: stage.get('needs').texts(),
    independent: stage.get('independent').value === true,
    environment: stage.get('environment').environment(),
    steps: stage.get('steps').items().map(readStep),
    path: stage.path,
  };
}

function readStep(step: Reader): Step {
  return {
    ...readContainer(step),
    commands: step.get('commands').texts(),
    secrets: readStepSecrets(step.get('secrets')),
    parameters: step.get('parameters').tree(),
    ruleset: readRuleset(step.get('ruleset')),
    detach: step.get('detach').value === true,
    privileged: step.get('privileged').value === true,
    volumes: step.get('volumes').list().flatMap(readVolume),
    ...optional('reportAs', step.get('report_as').text()),
    ...optional('idRequest', step.get('id_request').text()),
    ...optional('template', step.get('template').get('name').text()),
    artifacts: step.get('artifacts').get('paths').texts(),
  };
}

function readService(service: Reader): Service {
  return { ...readContainer(service), ports: service.get('ports').list().flatMap(readPort) };
}

function readContainer(container: Reader): Container {
  return {
    name: container.get('name').text() ?? '',
    image: container.get('image').text() ?? '',
    pull: readPull(container.get('pull').value),
    entrypoint: container.get('entrypoint').texts(),
    environment: container.get('environment').environment(),
    ulimits: container.get('ulimits').list().flatMap(readUlimit),
    ...optional('user', container.get('user').text()),
    path: container.path,
  };
}

function readSecret(secret: Reader): SecretDeclaration {
  return {
    name: secret.get('name').text() ?? '',
    ...optional('key', secret.get('key').text()),
    engine: secret.get('engine').text() ?? 'native',
    type: secret.get('type').text() ?? 'repo',
    pull: secret.get('pull').text() === 'step_start' ? 'step_start' : 'build_start',
    path: secret.path,
  };
}

function readPull(value: unknown): PullPolicy {
  if (value === true) return 'always';
  return pullPolicies.find((policy) => policy === value) ?? 'not_present';
}

/** A name alone is the variable of that name in capitals. */
function readStepSecrets(secrets: Reader): readonly StepSecret[] {
  return secrets.list().flatMap((secret) => {
    const name = secret.text();
    if (name !== undefined) return [{ source: name, target: name.toUpperCase() }];
    const source = secret.get('source').text();
    const target = secret.get('target').text();
    return source === undefined || target === undefined ? [] : [{ source, target: target.toUpperCase() }];
  });
}

function readUlimit(ulimit: Reader): readonly Ulimit[] {
  const short = /^([a-z]+)=(-?\d+)(?::(-?\d+))?$/.exec(ulimit.text() ?? '');
  if (short !== null) {
    const [, name = '', soft = '', hard = soft] = short;
    return [{ name, soft: Number(soft), hard: Number(hard) }];
  }
  const name = ulimit.get('name').text();
  if (name === undefined) return [];
  const soft = Number(ulimit.get('soft').text() ?? 0);
  return [{ name, soft, hard: Number(ulimit.get('hard').text() ?? soft) }];
}

function readVolume(volume: Reader): readonly StepVolume[] {
  const short = volume.text();
  const [source, destination, mode] =
    short === undefined
      ? [volume.get('source').text(), volume.get('destination').text(), volume.get('access_mode').text()]
      : short.split(':');
  if (source === undefined) return [];
  return [{ source, destination: destination ?? source, mode: mode === 'rw' ? 'rw' : 'ro' }];
}

/** `HOST:CONTAINER`: a pod has one address for all, so only the container's port counts. */
function readPort(port: Reader): readonly ServicePort[] {
  const match = /^(?:\d+:)?(\d+)(?:\/(tcp|udp))?$/.exec(port.text() ?? '');
  if (match === null) return [];
  return [{ port: Number(match[1]), protocol: match[2] === 'udp' ? 'udp' : 'tcp' }];
}

/** Rules written beside `if` belong to it. */
function readRuleset(ruleset: Reader): Ruleset {
  const outer = readRules(ruleset);
  const inner = readRules(ruleset.get('if'), outer);
  const patterns = { ...outer.patterns };
  for (const name of ruleNames) {
    const both = [...(inner.patterns[name] ?? []), ...(outer.patterns[name] ?? [])];
    if (both.length > 0) patterns[name] = both;
  }
  return {
    if: { ...outer, ...inner, patterns },
    unless: readRules(ruleset.get('unless'), outer),
    continue: ruleset.get('continue').value === true,
  };
}

function readRules(rules: Reader, around?: Rules): Rules {
  const patterns: Partial<Record<(typeof ruleNames)[number], readonly string[]>> = {};
  for (const name of ruleNames) {
    const texts = rules.get(name).texts();
    if (texts.length > 0) patterns[name] = name === 'event' ? texts.flatMap(expandEvent) : texts;
  }
  const operator = rules.get('operator').text() ?? around?.operator;
  const matcher = rules.get('matcher').text() ?? around?.matcher;
  return {
    patterns,
    ...optional('eval', rules.get('eval').text()),
    operator: operator === 'or' ? 'or' : 'and',
    matcher: matcher === 'regexp' ? 'regexp' : 'filepath',
  };
}

/** What an event without an action stands for. */
const eventActions: Readonly<Record<string, readonly string[]>> = {
  pull_request: ['pull_request:opened', 'pull_request:synchronize', 'pull_request:reopened'],
  comment: ['comment:created', 'comment:edited'],
  deployment: ['deployment:created'],
};

function expandEvent(event: string): readonly string[] {
  return (Object.hasOwn(eventActions, event) ? eventActions[event] : undefined) ?? [event];
}

function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

/** A value of the document in both of its readings. Asking for what is not there gives a missing one. */
class Reader {
  readonly value: unknown;
  readonly path: Path;
  readonly #text: unknown;

  constructor(value: unknown, text: unknown, path: Path) {
    this.value = value;
    this.#text = text;
    this.path = path;
  }

  get isMissing(): boolean {
    return this.value === undefined || this.value === null;
  }

  get(key: string): Reader {
    return new Reader(member(this.value, key), member(this.#text, key), [...this.path, key]);
  }

  /** Of a mapping, in the order of the file. */
  entries(): readonly (readonly [string, Reader])[] {
    return isMapping(this.value) ? Object.keys(this.value).map((key) => [key, this.get(key)] as const) : [];
  }

  items(): readonly Reader[] {
    if (!Array.isArray(this.value)) return [];
    const texts: readonly unknown[] = Array.isArray(this.#text) ? this.#text : [];
    return this.value.map((value, index) => new Reader(value, texts[index], [...this.path, index]));
  }

  /** The items of a list; anything else stands for a list of one. */
  list(): readonly Reader[] {
    if (Array.isArray(this.value)) return this.items();
    return this.isMissing ? [] : [this];
  }

  /** A scalar as it was written. */
  text(): string | undefined {
    if (this.isMissing || typeof this.value === 'object') return undefined;
    return typeof this.#text === 'string' ? this.#text : String(this.value);
  }

  /** Of a scalar or a list of scalars. */
  texts(): readonly string[] {
    return this.list().flatMap((item) => item.text() ?? []);
  }

  /** Of a mapping, or of a list of NAME=value. A name without a value is empty. */
  environment(): Readonly<Record<string, string>> {
    const pairs = Array.isArray(this.value)
      ? this.texts().map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const)
      : this.entries().map(([key, value]) => [key, value.text() ?? ''] as const);
    return Object.fromEntries(pairs.filter(([key]) => key !== ''));
  }

  /** A mapping of anything, its scalars as they were written. */
  tree(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(this.entries().map(([key, value]) => [key, value.#anything()]));
  }

  #anything(): unknown {
    if (Array.isArray(this.value)) return this.items().map((item) => item.#anything());
    if (isMapping(this.value)) return this.tree();
    return typeof this.value === 'string' ? this.text() : typedScalar(this.value, this.text());
  }
}

/** Null and booleans as they are; numbers in their own spelling. */
function typedScalar(value: unknown, text: string | undefined): unknown {
  return typeof value === 'number' ? text : value;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function member(value: unknown, key: string): unknown {
  return isMapping(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}
