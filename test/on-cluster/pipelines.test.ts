// The same pipelines as on the embedded cluster, on a real one: the same is seen of them.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { execute } from '../../src/executor/execute.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { Runtime } from '../../src/runtime/contract.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { compiled, folder, textOf } from '../executor/golden-pipelines.ts';
import { runText } from '../executor/run-golden.ts';
import { images, kubeConfig, type Lab, openLab } from './lab.ts';

let lab: Lab;
let runtime: Runtime;
beforeAll(async () => {
  lab = await openLab('pipelines');
  const { namespace } = lab;
  runtime = await createRuntime({ kubeConfig: kubeConfig ?? '', namespace, placeholder: images.placeholder213 });
});
afterAll(async () => {
  await runtime.close();
  await lab.end();
});

const names = [
  '02-go-build-and-test',
  '03-stages',
  '06-secrets-to-steps',
  '08-service',
  '09-status-rules',
  '13-multi-line-commands',
  '18-independent-stages',
];

describe('on a real cluster the same is seen', () => {
  test.each(names)('%s', async (name) => {
    const text = textOf(name)
      .replaceAll(/image: [^\s,}]+/g, `image: ${images.base}`)
      .replaceAll(/pull: always/g, 'pull: not_present');
    const seen = await runText(compiled(name, text), { runtime, id: name, serviceReadyMs: 2_000 });
    const golden = readFileSync(new URL(`${name}.run.golden.txt`, folder), 'utf8');
    expect(seen).toBe(golden);
  });

  test('the first step waits for the port of a service', async () => {
    const pipeline = parsePipeline(
      `services: [{ name: echo, image: "${images.base}", entrypoint: [/bin/sh, -c, "sleep 3; exec nc -lk -p 7000 -e cat"], ports: [7000] }]
steps: [{ name: ask, image: "${images.base}", commands: ["echo hello | nc -w 2 echo 7000"] }]
`,
      'service.yml',
    );
    const events: ExecutorEvent[] = [];
    const result = await execute(compile(pipeline, { facts: defaultFacts }), {
      runtime,
      id: 'service',
      on: (event) => events.push(event),
    });
    expect(result.outcome).toBe('succeeded');
    expect(events).toContainEqual(expect.objectContaining({ type: 'service.ready', isReady: true }));
    expect(events).toContainEqual(expect.objectContaining({ type: 'step.log', line: 'hello' }));
  });
});
