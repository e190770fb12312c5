/** The pipelines of `test/executor/pipelines`, with the facts and secrets that their goldens were made with. */
import { readdirSync, readFileSync } from 'node:fs';
import { type CompiledPipeline, compile } from '../../src/executor/compile.ts';
import { type BuildFacts, defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { SecretValue } from '../../src/executor/variables.ts';

export const folder = new URL('pipelines/', import.meta.url);

export const names = readdirSync(folder)
  .filter((name) => name.endsWith('.yml') && !name.includes('.golden.'))
  .map((name) => name.replace(/\.yml$/, ''));

const facts: BuildFacts = {
  ...defaultFacts,
  commit: '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d',
  message: "Fix the parser's `edge` cases",
  author: 'octocat',
  authorEmail: 'octocat@example.com',
  sender: 'octocat',
  labels: ['ready'],
  paths: ['src/parser.go', 'README.md'],
  instance: 'https://vela.example.com',
  number: 42,
  repo: {
    host: 'github.com',
    org: 'octocat',
    name: 'hello-world',
    clone: 'https://github.com/octocat/hello-world.git',
    link: 'https://github.com/octocat/hello-world',
    branch: 'main',
  },
};

const overrides: Readonly<Record<string, Partial<BuildFacts>>> = {
  '11-pull-request': { event: 'pull_request', action: 'opened', pullRequest: '7', ref: 'refs/pull/7/head' },
  '20-deployment': { event: 'deployment', action: 'created', target: 'staging' },
  '21-schedule-and-comment': { event: 'comment', action: 'created', comment: 'run build please', pullRequest: '7' },
};

export const secrets: ReadonlyMap<string, { readonly value: string }> = new Map([
  ['api_token', { value: 'tOkEn-of-the-api' }],
  ['team_key', { value: 'line one\nline two' }],
  ['vault_token', { value: 's.vault-token' }],
  ['docker_username', { value: 'hub-robot' }],
  ['docker_password', { value: 'correct horse' }],
]);

export function textOf(name: string): string {
  return readFileSync(new URL(`${name}.yml`, folder), 'utf8');
}

/** `text` in place of the file's own, for a cluster with other images. */
export function compiled(name: string, text = textOf(name)): CompiledPipeline & { readonly known: BuildFacts } {
  const known = { ...facts, ...overrides[name] };
  const given: ReadonlyMap<string, SecretValue> = secrets;
  return { known, ...compile(parsePipeline(text, `${name}.yml`), { facts: known, secrets: given }) };
}
