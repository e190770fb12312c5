/**
 * What of a pod a real cluster would act on and this one cannot: refused by name, so that nobody takes silence for a yes.
 */
import type { Container, PodObject } from '../../types.ts';

/** Why the pod is refused; undefined when all it asks for is there. */
export function unbuilt({ spec }: PodObject): string | undefined {
  const refuse = (what: string): string => `the embedded cluster does not have ${what}`;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const handler = networkHandler(container);
    if (handler !== undefined) return refuse(`a network to the pod, as the ${handler} needs: use exec`);
  }
  const affinity = (spec['affinity'] ?? {}) as Readonly<Record<string, object | undefined>>;
  for (const kind of ['podAffinity', 'podAntiAffinity']) {
    if (affinity[kind] !== undefined && required in affinity[kind]) return refuse(`a scheduler for a required ${kind}`);
  }
  const constraints = (spec['topologySpreadConstraints'] ?? []) as readonly { whenUnsatisfiable?: string }[];
  if (constraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway')) {
    return refuse('a scheduler for topologySpreadConstraints that must be satisfied');
  }
  if (isFilled(spec['resourceClaims'])) return refuse('a driver for resourceClaims');
  return undefined;
}

const required = 'requiredDuringSchedulingIgnoredDuringExecution';

function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

const networks = ['httpGet', 'tcpSocket', 'grpc'] as const;

function networkHandler(container: Container): string | undefined {
  const { lifecycle = {}, name } = container;
  const handlers = {
    startupProbe: container.startupProbe,
    livenessProbe: container.livenessProbe,
    readinessProbe: container.readinessProbe,
    postStart: lifecycle.postStart,
    preStop: lifecycle.preStop,
  };
  for (const [what, handler] of Object.entries(handlers)) {
    const network = networks.find((kind) => handler !== undefined && kind in handler);
    if (network !== undefined) return `${network} of ${what} in container "${name}"`;
  }
  return undefined;
}
