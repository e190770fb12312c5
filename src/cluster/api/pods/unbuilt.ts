/**
 * What of a pod a real cluster would act on and this one cannot: refused by name, so that nobody takes silence for a yes.
 */
import type { Container, PodObject } from '../../types.ts';

/** Why the pod is refused; undefined when all it asks for is there. */
export function unbuilt({ spec }: PodObject): string | undefined {
  const refuse = (what: string): string => `the embedded cluster does not have ${what}`;
  for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
    const grpc = grpcProbe(container);
    if (grpc !== undefined) return refuse(grpc);
    if (container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') === true) {
      return refuse(`RestartAllContainers, which a rule of container "${container.name}" asks for`);
    }
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

function grpcProbe({ name, startupProbe, livenessProbe, readinessProbe }: Container): string | undefined {
  const probes = { startupProbe, livenessProbe, readinessProbe };
  const [what] = Object.entries(probes).find(([, probe]) => probe?.grpc !== undefined) ?? [];
  return what === undefined ? undefined : `grpc, which the ${what} of container "${name}" asks for`;
}
