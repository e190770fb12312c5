/**
 * Whether a build's objects are small enough for the cluster, told before anything is sent and with what to do, instead
 * of as `etcdserver: request is too large`.
 */
import { PodwrightError } from '../errors.ts';
import { buildPod } from './build-pod.ts';
import type { BuildPlan } from './plan.ts';
import { secretLimitBytes, secretVariables } from './secrets.ts';
import type { StartStrategy } from './start-strategy.ts';

/**
 * etcd takes 1.5 MiB in one request by default. The server adds defaults, managed fields and the status of each
 * container to what is sent, in all about as much again as the containers have.
 */
const podLimitBytes = 700 * 1024;
/** All annotations of an object together (apimachinery, `TotalAnnotationSizeLimitB`). */
const annotationsLimitBytes = 256 * 1024;

/** Throws `ERR_PODWRIGHT_USAGE`. */
export function checkSize(plan: BuildPlan, strategy: StartStrategy): void {
  const pod = buildPod(plan, strategy, '');
  const faults = [
    tooLarge('its pod', bytesOf(pod), podLimitBytes, 'use fewer steps, or less environment and arguments'),
    tooLarge('the annotations of its pod', bytesOf(pod.metadata.annotations), annotationsLimitBytes, 'use fewer steps'),
    tooLarge('its secrets', secretBytes(plan), secretLimitBytes, 'put large files into Secrets of your own (volumes)'),
  ].filter((fault) => fault !== undefined);
  if (faults.length === 0) return;
  throw new PodwrightError('ERR_PODWRIGHT_USAGE', `The build "${plan.spec.id}" is too large: ${faults.join('; ')}`, {
    remedy: 'Split it into several builds, or make it smaller; nothing was created.',
    details: { build: plan.spec.id, containers: plan.containers.length },
  });
}

function tooLarge(what: string, bytes: number, limit: number, remedy: string): string | undefined {
  if (bytes <= limit) return undefined;
  return `${what} would have ${Math.ceil(bytes / 1024)} KiB of ${limit / 1024} (${remedy})`;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function secretBytes(plan: BuildPlan): number {
  return secretVariables(plan.containers).reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
}
