// Pipelines as projects have them, from the text to the end of their build: what is planned, which pod is made of it,
// and what happens when it runs on the embedded cluster.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { compile } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { execute } from '../../src/executor/execute.ts';
import { type BuildFacts, buildEnvironment, defaultFacts } from '../../src/executor/facts.ts';
import { planMermaid, planText } from '../../src/executor/plan-views.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { SecretValue } from '../../src/executor/variables.ts';
import { buildPod, planBuild } from '../../src/pod/build-pod.ts';
import { defaultPlaceholder, placeholderStrategy } from '../../src/pod/start-strategy.ts';
import type { Runtime } from '../../src/runtime/contract.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';

const folder = new URL('pipelines/', import.meta.url);
const names = readdirSync(folder)
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

const secrets: ReadonlyMap<string, SecretValue> = new Map([
  ['api_token', { value: 'tOkEn-of-the-api' }],
  ['team_key', { value: 'line one\nline two' }],
  ['vault_token', { value: 's.vault-token' }],
  ['docker_username', { value: 'hub-robot' }],
  ['docker_password', { value: 'correct horse' }],
]);

const compiled = (name: string) => {
  const text = readFileSync(new URL(`${name}.yml`, folder), 'utf8');
  const known = { ...facts, ...overrides[name] };
  return { known, ...compile(parsePipeline(text, `${name}.yml`), { facts: known, secrets }) };
};

/** The pod's spec for a reader: variables as a mapping, those that every container has left out. */
function podText(spec: object, known: BuildFacts): string {
  const common = buildEnvironment(known);
  const { containers, ...rest } = spec as { readonly containers: readonly { readonly env: readonly EnvVar[] }[] };
  const shown = containers.map(({ env, ...container }) => {
    for (const [name, value] of Object.entries(common)) expect(env).toContainEqual({ name, value });
    const own = env.filter(({ name }) => !(name in common) && name !== 'SHELL');
    return {
      ...container,
      env: Object.fromEntries(own.map(({ name, value, valueFrom }) => [name, value ?? valueFrom])),
    };
  });
  return stringify({ ...rest, containers: shown }, { lineWidth: 0 });
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: object;
}

describe('what is planned and which pod is made', () => {
  test.each(names)('%s', async (name) => {
    const { plan, spec, known } = compiled(name);
    await expect(`${planText(plan, known)}\n${planMermaid(plan)}`).toMatchFileSnapshot(
      `pipelines/${name}.plan.golden.txt`,
    );
    const where = { owner: 'golden', namespace: 'builds', placeholder: defaultPlaceholder };
    const pod = buildPod(planBuild({ ...spec, id: name }, where), placeholderStrategy(), 'a1');
    await expect(podText(pod.spec, known)).toMatchFileSnapshot(`pipelines/${name}.pod.golden.yml`);
    const text = JSON.stringify(pod);
    for (const [, secret] of secrets) if ('value' in secret) expect(text).not.toContain(secret.value);
  });
});

describe('what happens on the embedded cluster', { timeout: 60_000 }, () => {
  let cluster: EmbeddedCluster;
  let runtime: Runtime;
  beforeAll(async () => {
    cluster = await startCluster();
    runtime = await createRuntime({ kubeConfig: cluster.kubeConfig, namespace: 'default' });
  });
  afterAll(async () => {
    await runtime.close();
    await cluster.stop();
  });

  test.concurrent.for(names)('%s', async (name, { expect }) => {
    const { known: _, ...pipeline } = compiled(name);
    const logs = new Map<string, string[]>();
    const on = (event: ExecutorEvent): void => {
      if (event.type !== 'step.log') return;
      const lines = logs.get(event.step.container) ?? [];
      logs.set(event.step.container, [...lines, event.line]);
    };
    const result = await execute(pipeline, { runtime, id: name, on });
    const lines = [`build ${result.outcome}`];
    for (const step of result.steps) {
      const verdict = step.outcome?.outcome === 'terminated' ? ` ${step.outcome.cause} ${step.outcome.exitCode}` : '';
      lines.push(
        '',
        `${step.kind} ${step.stage}/${step.name}: ${step.status}${verdict}${step.reason === null ? '' : ` (${step.reason})`}`,
      );
      const container = step.stage === '' ? step.name : `${step.stage}/${step.name}`;
      lines.push(...(logs.get(container) ?? []).map((line) => `  | ${line}`));
    }
    await expect(
      `${lines.join('\n')}\n`.replaceAll(/\/tmp\/podwright-cluster-\S+?(?=\/vela|\s|"|')/g, '<scratch>'),
    ).toMatchFileSnapshot(`pipelines/${name}.run.golden.txt`);
  });
});

test('the pipelines use every key of the schema', async () => {
  const { pipelineSchema } = await import('../../src/executor/check-schema.ts');
  const { keysOf, usedKeys } = await import('./schema-coverage.ts');
  const { readDocument } = await import('../../src/executor/document.ts');
  const used = new Set<string>();
  for (const name of names) {
    const document = readDocument(readFileSync(new URL(`${name}.yml`, folder), 'utf8'), name);
    if ('value' in document) for (const key of usedKeys(document.value, pipelineSchema)) used.add(key);
  }
  const unused = keysOf(pipelineSchema).filter((key) => !used.has(key));
  // Templates are refused, so no pipeline that runs can have them.
  const refused = (key: string): boolean => key.startsWith('template.') || key === 'stepTemplate.vars';
  expect(unused.filter((key) => !refused(key))).toEqual(['pipeline.templates', 'step.template']);
});
