/** The flags about the pod of a build: what it may use, how long it may take, and what the cluster must allow it. */
import type { Command } from 'commander';
import { PodwrightError } from '../errors.ts';
import type { CompiledPipeline } from '../executor/compile.ts';
import type { ExecuteOptions } from '../executor/execute.ts';
import type { ContainerResources, PhaseTimeouts, PodOptions } from '../pod/build-spec.ts';
import { parseDuration } from './durations.ts';
import { collect } from './pipeline-flags.ts';

export interface PodFlags {
  readonly timeout?: number;
  readonly scheduleTimeout?: number;
  readonly startTimeout?: number;
  readonly pullTimeout?: number;
  readonly retries?: number;
  readonly keep?: boolean;
  readonly memory?: string;
  readonly cpu?: string;
  readonly imagePullSecret?: readonly string[];
  readonly serviceAccount?: string;
  readonly nodeSelector?: readonly string[];
  readonly hostPath?: readonly string[];
  readonly privilegedImage?: readonly string[];
}

export function addPodOptions(command: Command): Command {
  return command
    .optionsGroup('How long it may take, and what happens then:')
    .option('--timeout <duration>', 'limit of all steps together, such as 30m (default: none)', parseDuration)
    .option('--schedule-timeout <duration>', 'limit until a node takes the pod (default: 10m)', parseDuration)
    .option('--start-timeout <duration>', 'limit until its containers wait (default: 5m)', parseDuration)
    .option('--pull-timeout <duration>', 'limit of the pull of one image (default: 15m)', parseDuration)
    .option('--retries <count>', 'run the build again so often when the infrastructure ended it', parseCount)
    .option('--keep', 'leave the pod on the cluster when the build has ended')
    .optionsGroup('What the pod is:')
    .option('--memory <quantity>', 'memory of each container, such as 512Mi')
    .option('--cpu <quantity>', 'processors of each container, such as 500m')
    .option('--image-pull-secret <name>', 'Secret for private images; may be repeated', collect)
    .option('--service-account <name>', 'service account of the pod (default: that of the namespace)')
    .option('--node-selector <key=value>', 'a label the node must have; may be repeated', collect)
    .option('--host-path <path>', 'a folder of the node that steps may mount; may be repeated', collect)
    .option('--privileged-image <pattern>', 'an image that may run privileged; may be repeated', collect)
    .optionsGroup('Options:');
}

/** What `execute` takes of them. */
export function executeOptions(
  flags: PodFlags,
): Pick<ExecuteOptions, 'timeoutMs' | 'timeouts' | 'pod' | 'retries' | 'keep'> {
  const timeouts: PhaseTimeouts = {
    ...(flags.scheduleTimeout === undefined ? {} : { scheduleMs: flags.scheduleTimeout }),
    ...(flags.startTimeout === undefined ? {} : { startMs: flags.startTimeout }),
    ...(flags.pullTimeout === undefined ? {} : { pullMs: flags.pullTimeout }),
  };
  const pod: PodOptions = {
    ...(flags.imagePullSecret === undefined ? {} : { imagePullSecrets: flags.imagePullSecret }),
    ...(flags.serviceAccount === undefined ? {} : { serviceAccountName: flags.serviceAccount }),
    ...(flags.nodeSelector === undefined ? {} : { nodeSelector: labelsOf(flags.nodeSelector) }),
  };
  return {
    timeouts,
    pod,
    ...(flags.timeout === undefined ? {} : { timeoutMs: flags.timeout }),
    ...(flags.retries === undefined ? {} : { retries: flags.retries }),
    ...(flags.keep === undefined ? {} : { keep: flags.keep }),
  };
}

/** The same limits for every container; what is limited is also requested. */
export function withResources(compiled: CompiledPipeline, flags: PodFlags): CompiledPipeline {
  const amounts = {
    ...(flags.memory === undefined ? {} : { memory: flags.memory }),
    ...(flags.cpu === undefined ? {} : { cpu: flags.cpu }),
  };
  if (Object.keys(amounts).length === 0) return compiled;
  for (const [name, amount] of Object.entries(amounts)) checkQuantity(`--${name}`, amount);
  const resources: ContainerResources = { limits: amounts, requests: amounts };
  const containers = compiled.spec.containers.map((container) => ({ ...container, resources }));
  return { ...compiled, spec: { ...compiled.spec, containers } };
}

/** Kubernetes' own grammar: k8s.io/apimachinery, pkg/api/resource/quantity.go. */
function checkQuantity(flag: string, text: string): void {
  if (/^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e\d+)?$/.test(text)) return;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no quantity`, {
    remedy: `Write it as Kubernetes does: ${flag} 512Mi, ${flag} 2, ${flag} 500m.`,
  });
}

function parseCount(text: string): number {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${text}" is no count`, { remedy: 'Write a number from 0 to 999.' });
}

function labelsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const equals = pair.indexOf('=');
      if (equals > 0) return [pair.slice(0, equals), pair.slice(equals + 1)];
      throw new PodwrightError('ERR_PODWRIGHT_USAGE', `"${pair}" is no label`, { remedy: 'Write KEY=VALUE.' });
    }),
  );
}
