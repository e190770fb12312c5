/** What a pod asks of a node in all (k8s `PodRequests`), in whole units: thousandths of a CPU, bytes. */
import { parseQuantity } from './quantity.ts';
import type { Container, PodSpec } from './types.ts';

export const countedResources = ['cpu', 'memory', 'ephemeral-storage'] as const;

export type CountedResource = (typeof countedResources)[number];

export function amountOf(quantity: string | undefined, resource: CountedResource): number {
  return Math.ceil(Number((parseQuantity(quantity ?? '0') * (resource === 'cpu' ? 1000 : 1)).toFixed(3)));
}

/** Init containers run one after the other, sidecars beside all that come after them. */
export function podRequest({ containers, initContainers = [] }: PodSpec, resource: CountedResource): number {
  const asked = ({ resources }: Container): number => amountOf(resources?.requests?.[resource], resource);
  let sidecars = 0;
  let highest = 0;
  for (const container of initContainers) {
    highest = Math.max(highest, sidecars + asked(container));
    if (container.restartPolicy === 'Always') sidecars += asked(container);
  }
  return Math.max(
    highest,
    containers.reduce((sum, one) => sum + asked(one), sidecars),
  );
}
