// A whole executor in forty lines: node examples/executor.ts KUBECONFIG [NAMESPACE]. Steps one after the other, their
// logs as they come, the rest skipped after a failure, Ctrl-C cancels, and the pod is always removed.
// Outside of this repository it imports from 'podwright'.
import { type BuildSpec, createRuntime, isSuccess, type Runtime } from '../src/index.ts';

export async function execute(runtime: Runtime, spec: BuildSpec, print: (line: string) => void, signal?: AbortSignal) {
  const build = await runtime.setupBuild(spec, signal && { signal });
  let passed = true;
  try {
    await runtime.assembleBuild(build, { retries: 1 });
    for (const { name } of spec.containers) {
      if (!passed) print(`${name}: skipped`);
      else {
        await runtime.runContainer(build, name);
        for await (const line of runtime.tailContainer(build, name)) print(`${name} | ${line.text}`);
        const ended = await runtime.waitContainer(build, name);
        passed = isSuccess(ended);
        print(`${name}: ${ended.outcome === 'terminated' ? `${ended.cause} (${ended.exitCode})` : ended.outcome}`);
      }
    }
    return passed;
  } finally {
    for (const left of (await runtime.removeBuild(build)).remaining) print(`left behind: ${left}`);
  }
}

if (import.meta.main) {
  const [kubeConfig = 'kubeconfig', namespace = 'default'] = process.argv.slice(2);
  const interrupt = new AbortController();
  process.once('SIGINT', () => interrupt.abort());
  const runtime = await createRuntime({ kubeConfig, namespace });
  const step = (name: string, script: string) => ({ name, image: 'alpine:3', role: 'step', script }) as const;
  const containers = [step('hello', 'echo hello from "$(hostname)"'), step('fail', 'exit 3'), step('never', 'true')];
  const passed = await execute(runtime, { id: `example-${Date.now()}`, containers }, console.log, interrupt.signal);
  await runtime.close();
  process.exitCode = passed ? 0 : 1;
}
