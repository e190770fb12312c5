/** `--debug STEP=RUNTIME:PORT`: writes the debug annotation of the build's pod. */
import { debugAnnotation, parseDebugOption, writeDebugAnnotation } from '../debug/annotation.ts';
import type { DebugConfig } from '../debug/types.ts';
import { PodwrightError } from '../errors.ts';
import type { CompiledPipeline } from '../executor/compile.ts';
import { stepsOf } from '../executor/plan.ts';
import { containerNames } from '../pod/labels.ts';

/**
 * The pipeline with these steps marked as debuggable. A step goes by its name or by that of its container.
 * Throws `ERR_PODWRIGHT_USAGE` for a step that is not there or is not the only one of its name.
 */
export function withDebug(compiled: CompiledPipeline, options: readonly string[]): CompiledPipeline {
  if (options.length === 0) return compiled;
  const { spec, plan } = compiled;
  const inPod = containerNames(spec.containers.map(({ name }) => name));
  const all = [...stepsOf(plan), ...plan.services];
  const configs = new Map<string, DebugConfig>();
  for (const option of options) {
    const { step, config } = parseDebugOption(option);
    const found = all.filter(({ name, container }) => name === step || container === step);
    const [only] = found;
    if (only === undefined || found.length > 1)
      throw noSuchStep(
        step,
        found.length,
        all.map(({ name }) => name),
      );
    const index = spec.containers.findIndex(({ name }) => name === only.container);
    const workingDir = spec.containers[index]?.workingDir ?? '';
    configs.set(inPod[index] ?? only.container, { ...config, artifact: only.image, workingDir });
  }
  const annotations = { ...spec.annotations, [debugAnnotation]: writeDebugAnnotation(configs) };
  return { ...compiled, spec: { ...spec, annotations } };
}

function noSuchStep(step: string, count: number, names: readonly string[]): PodwrightError {
  const message = count === 0 ? `there is no step "${step}" to debug` : `${count} steps are called "${step}"`;
  return new PodwrightError('ERR_PODWRIGHT_USAGE', message, {
    remedy:
      count === 0
        ? `The build has: ${names.join(', ')}.`
        : 'Name the container instead, as `podwright plan FILE --format json` shows it.',
    details: { step },
  });
}
