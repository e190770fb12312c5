/** The class by which a node chooses what to evict first. */
import type { Container, PodSpec } from '../../types.ts';

const counted = ['cpu', 'memory'] as const;

export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  if (!containers.some(asksForAnything)) return 'BestEffort';
  return containers.every(isGuaranteed) ? 'Guaranteed' : 'Burstable';
}

function asksForAnything({ resources = {} }: Container): boolean {
  return counted.some((name) => resources.limits?.[name] !== undefined || resources.requests?.[name] !== undefined);
}

function isGuaranteed({ resources = {} }: Container): boolean {
  return counted.every((name) => {
    const limit = resources.limits?.[name];
    return limit !== undefined && (resources.requests?.[name] ?? limit) === limit;
  });
}
