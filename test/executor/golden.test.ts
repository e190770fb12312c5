// Pipelines as projects have them, from the text to the end of their build: what is planned, which pod is made of it,
// and what happens when it runs on the embedded cluster.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type EmbeddedCluster, startCluster } from '../../src/cluster/index.ts';
import { pipelineSchema } from '../../src/executor/check-schema.ts';
import { readDocument } from '../../src/executor/document.ts';
import { type BuildFacts, buildEnvironment } from '../../src/executor/facts.ts';
import { planMermaid, planText } from '../../src/executor/plan-views.ts';
import { buildPod, planBuild } from '../../src/pod/build-pod.ts';
import { defaultPlaceholder, placeholderStrategy } from '../../src/pod/start-strategy.ts';
import type { Runtime } from '../../src/runtime/contract.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { compiled, names, secrets, textOf } from './golden-pipelines.ts';
import { runText } from './run-golden.ts';
import { keysOf, usedKeys } from './schema-coverage.ts';

describe('what is planned and which pod is made', () => {
  test.each(names)('%s', async (name) => {
    const { plan, spec, known } = compiled(name);
    const views = `${planText(plan, known)}\n${planMermaid(plan)}`;
    await expect(views).toMatchFileSnapshot(`pipelines/${name}.plan.golden.txt`);
    const where = { owner: 'golden', namespace: 'builds', placeholder: defaultPlaceholder };
    const pod = buildPod(planBuild({ ...spec, id: name }, where), placeholderStrategy(), 'a1');
    await expect(podText(pod.spec, known)).toMatchFileSnapshot(`pipelines/${name}.pod.golden.yml`);
    const text = JSON.stringify(pod);
    for (const [, { value }] of secrets) expect(text).not.toContain(value);
  });
});

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
    // Nobody listens at the port that the service has: the steps start without it.
    const text = await runText(compiled(name), { runtime, id: name, serviceReadyMs: 1_000 });
    await expect(text).toMatchFileSnapshot(`pipelines/${name}.run.golden.txt`);
  });
});

test('the pipelines use every key of the schema', () => {
  const used = new Set<string>();
  for (const name of names) {
    const document = readDocument(textOf(name), name);
    if ('value' in document) for (const key of usedKeys(document.value, pipelineSchema)) used.add(key);
  }
  const unused = keysOf(pipelineSchema).filter((key) => !used.has(key));
  // Templates are refused, so no pipeline that runs can have them.
  const refused = (key: string): boolean => key.startsWith('template.') || key === 'stepTemplate.vars';
  expect(unused.filter((key) => !refused(key))).toEqual(['pipeline.templates', 'step.template']);
});
