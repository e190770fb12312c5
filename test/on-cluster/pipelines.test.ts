// The same pipelines as on the embedded cluster, on a real one: the same is seen of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../../src/executor/compile.ts';
import type { ExecutorEvent } from '../../src/executor/events.ts';
import { execute } from '../../src/executor/execute.ts';
import { defaultFacts } from '../../src/executor/facts.ts';
import { parsePipeline } from '../../src/executor/read-pipeline.ts';
import type { Runtime } from '../../src/runtime/contract.ts';
import { createRuntime } from '../../src/runtime/runtime.ts';
import { Folder, podwright } from '../cli/podwright.ts';
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

  test('the first step waits until a command succeeds in the service', async () => {
    const pipeline = parsePipeline(
      `services: [{ name: slow, image: "${images.base}", entrypoint: [/bin/sh, -c, "sleep 10; touch /tmp/up; exec sleep 600"] }]
steps: [{ name: ask, image: "${images.base}", commands: ["echo asked"] }]
`,
      'service.yml',
    );
    const events: ExecutorEvent[] = [];
    // A port would do as well; but where the network answers for every address, as the lab's, each port looks open.
    const readiness = new Map([['slow', 'test -e /tmp/up']]);
    const result = await execute(compile(pipeline, { facts: defaultFacts, readiness }), {
      runtime,
      id: 'service',
      on: (event) => events.push(event),
    });
    expect(result.outcome).toBe('succeeded');
    const ready = events.find((event) => event.type === 'service.ready');
    expect(ready).toMatchObject({ isReady: true, readiness: '"test -e /tmp/up" succeeds' });
    // Much less than it takes: it is counted from when the service is seen running.
    expect(ready?.afterMs).toBeGreaterThan(2_000);
    const asked = events.findIndex((event) => event.type === 'step.started' && event.step.name === 'ask');
    expect(asked).toBeGreaterThan(ready === undefined ? asked : events.indexOf(ready));
  });

  test('a folder comes in and artifacts come out, through exec', async () => {
    const project = new Folder();
    try {
      project.file('source.txt', 'from here');
      const file = project.file(
        'workspace.yml',
        `steps: [{ name: copy, image: "${images.base}", user: "1000", commands: ["cat source.txt", "cp source.txt made.txt"], artifacts: { paths: "made*" } }]\n`,
      );
      const { code, out } = await podwright([
        ...['run', file, '--kubeconfig', kubeConfig ?? '', '--namespace', lab.namespace],
        ...['--placeholder', 'lab.local/placeholder213:1=213', '--workspace-image', images.base],
        ...['--workspace', project.path, '--artifacts', join(project.path, 'out')],
      ]);
      expect(code, out).toBe(0);
      expect(readFileSync(join(project.path, 'out/copy/made.txt'), 'utf8')).toBe('from here');
    } finally {
      project.end();
    }
  });
});
