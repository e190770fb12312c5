/** The Kubernetes Secret that holds a build's secret values, so that none of them is in the pod. */
import type { PlannedContainer } from './plan.ts';

/** Where one secret variable of one container is kept. */
export interface SecretVariable {
  /** `CONTAINER/VARIABLE` */
  readonly id: string;
  readonly key: string;
  readonly value: string;
}

export interface SecretManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Secret';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly type: 'Opaque';
  readonly stringData: Readonly<Record<string, string>>;
}

/** The API server refuses a Secret with more than this in its values. */
export const secretLimitBytes = 1024 * 1024;

export function secretName(podName: string): string {
  return `${podName}-secrets`;
}

/** In order of containers and variables. Keys are numbers: a variable's name may be none that a Secret takes. */
export function secretVariables(containers: readonly PlannedContainer[]): readonly SecretVariable[] {
  return containers.flatMap(({ containerName, request }, index) =>
    Object.entries(request.secrets ?? {}).map(([variable, value], position) => ({
      id: `${containerName}/${variable}`,
      key: `${index}.${position}`,
      value,
    })),
  );
}

/** Undefined when the build has no secrets of its own. */
export function buildSecret(
  where: { readonly namespace: string; readonly podName: string; readonly containers: readonly PlannedContainer[] },
  labels: Readonly<Record<string, string>>,
): SecretManifest | undefined {
  const variables = secretVariables(where.containers);
  if (variables.length === 0) return undefined;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName(where.podName), namespace: where.namespace, labels },
    type: 'Opaque',
    stringData: Object.fromEntries(variables.map(({ key, value }) => [key, value])),
  };
}
