/** The flags that tell what a build is about, and how a file becomes a compiled pipeline with them. */
import { dirname } from 'node:path';
import { type Command, Option } from 'commander';
import { PodwrightError } from '../errors.ts';
import type { CompileOptions } from '../executor/compile.ts';
import { type BuildFacts, eventNames, parseEvent } from '../executor/facts.ts';
import type { Pipeline } from '../executor/pipeline.ts';
import { parsePipeline } from '../executor/read-pipeline.ts';
import type { SecretValue } from '../executor/variables.ts';
import { readUserFile } from './files.ts';
import { gitFacts } from './git.ts';
import { readSecrets } from './secrets.ts';
import type { Terminal } from './terminal.ts';

export interface PipelineFlags {
  readonly event?: string;
  readonly branch?: string;
  readonly tag?: string;
  readonly comment?: string;
  readonly target?: string;
  readonly sender?: string;
  readonly repo?: string;
  readonly instance?: string;
  readonly pullRequest?: string;
  readonly path?: readonly string[];
  readonly label?: readonly string[];
  readonly env?: readonly string[];
  readonly secret?: readonly string[];
  readonly secretFile?: readonly string[];
  readonly secretRef?: readonly string[];
  readonly clone?: boolean | string;
  readonly ready?: readonly string[];
}

/** What clones where the format would. */
const defaultCloneImage = 'docker.io/target/vela-git-slim:v0.12.0';

export function addPipelineOptions(command: Command): Command {
  return command
    .optionsGroup('What the build is about (default: what the local git repository says):')
    .option('--event <event[:action]>', `what started the build: ${eventNames.join(', ')} (default: push)`)
    .option('--branch <name>', 'branch of the build')
    .option('--tag <name>', 'tag of the build; the event is then tag, if no other is given')
    .option('--comment <text>', 'comment that started the build')
    .option('--target <name>', 'environment of a deployment or schedule')
    .option('--sender <name>', 'who started the build')
    .option('--repo <org/name>', 'the repository')
    .option('--instance <url>', 'the server that rules may ask for')
    .option('--pull-request <number>', 'number of the pull request')
    .option('--path <path>', 'a file that was changed; may be repeated', collect)
    .option('--label <label>', 'a label of the pull request; may be repeated', collect)
    .optionsGroup('What steps get:')
    .option('-e, --env <name=value>', 'a variable for all containers; may be repeated', collect)
    .option('--secret <name[=value]>', 'a secret, by default from the variable of its name; may be repeated', collect)
    .option('--secret-file <path>', 'a file of lines NAME=value; may be repeated', collect)
    .option('--secret-ref <name=secret/key>', 'a secret that a Kubernetes Secret has; may be repeated', collect)
    .option(
      '--ready <service=command>',
      'the steps wait until this ends with 0 in the service; may be repeated',
      collect,
    )
    .addOption(
      new Option('--clone [image]', 'run the clone step; its image is used where the file has none').preset(
        defaultCloneImage,
      ),
    )
    .optionsGroup('Options:');
}

export interface LoadedPipeline {
  readonly pipeline: Pipeline;
  readonly facts: BuildFacts;
  readonly options: CompileOptions;
}

/** Reads the file, the repository around it and the secrets. Throws with every mistake in the file. */
export async function loadPipeline(file: string, flags: PipelineFlags, terminal: Terminal): Promise<LoadedPipeline> {
  const pipeline = parsePipeline(await readUserFile(file, 'Name a pipeline file, such as .vela.yml.'), file);
  const facts = applyFlags(await gitFacts(dirname(file)), flags);
  const secrets: ReadonlyMap<string, SecretValue> = await readSecrets(flags, terminal);
  const readiness = new Map(Object.entries(pairsOf(flags.ready ?? [], '--ready SERVICE=COMMAND')));
  for (const service of readiness.keys()) requireService(pipeline, service);
  const clone = flags.clone === undefined || flags.clone === false ? undefined : String(flags.clone);
  return {
    pipeline,
    facts,
    options: {
      facts,
      secrets,
      environment: pairsOf(flags.env ?? [], '--env NAME=VALUE'),
      readiness,
      ...(clone === undefined ? {} : { cloneImage: clone }),
    },
  };
}

/** Waiting for a service that nobody meant would be waiting for nothing. */
function requireService({ services }: Pipeline, name: string): void {
  if (services.some((service) => service.name === name)) return;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `there is no service "${name}" to wait for`, {
    remedy:
      services.length === 0
        ? 'The pipeline has no services; remove --ready.'
        : `The pipeline has: ${services.map((service) => service.name).join(', ')}.`,
  });
}

/** Facts of the flags over those of the repository. */
export function applyFlags(facts: BuildFacts, flags: PipelineFlags): BuildFacts {
  const event = eventOf(flags);
  const branch = flags.branch ?? facts.branch;
  const tag = flags.tag ?? facts.tag;
  return {
    ...facts,
    ...event,
    branch,
    tag,
    ref: refOf(facts, flags, branch, event.event),
    comment: flags.comment ?? facts.comment,
    target: flags.target ?? facts.target,
    sender: flags.sender ?? facts.sender,
    instance: flags.instance ?? facts.instance,
    pullRequest: flags.pullRequest ?? (event.event === 'pull_request' || event.event === 'comment' ? '1' : ''),
    paths: flags.path ?? facts.paths,
    labels: flags.label ?? facts.labels,
    repo: flags.repo === undefined ? facts.repo : { ...facts.repo, ...repoOfFlag(flags.repo) },
  };
}

function eventOf(flags: PipelineFlags): Pick<BuildFacts, 'event' | 'action'> {
  const implied = flags.tag === undefined ? 'push' : 'tag';
  const event = parseEvent(flags.event ?? (flags.comment === undefined ? implied : 'comment'));
  if (event !== undefined) return event;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `there is no event "${flags.event}"`, {
    remedy: `Use one of ${eventNames.join(', ')}, with an action where it has one: pull_request:opened.`,
  });
}

function refOf(facts: BuildFacts, flags: PipelineFlags, branch: string, event: BuildFacts['event']): string {
  if (event === 'tag' && flags.tag !== undefined) return `refs/tags/${flags.tag}`;
  if (event === 'pull_request') return `refs/pull/${flags.pullRequest ?? '1'}/head`;
  return flags.branch === undefined ? facts.ref : `refs/heads/${branch}`;
}

function repoOfFlag(repo: string): Pick<BuildFacts['repo'], 'org' | 'name'> {
  const [org = '', name = '', ...rest] = repo.split('/');
  if (/^[\w.-]+$/.test(org) && /^[\w.-]+$/.test(name) && rest.length === 0) return { org, name };
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${repo}" is no repository`, { remedy: 'Write --repo ORG/NAME.' });
}

function pairsOf(pairs: readonly string[], form: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)];
      throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${pair}" has no name before a "="`, {
        remedy: `Write ${form}.`,
      });
    }),
  );
}

/** For flags that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
