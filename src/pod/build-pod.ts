/**
 * The pod of a build, made from its spec: pure, the same for the same input.
 *
 * What it promises: a spec that `checkSpec` accepted gives a pod that the API server's validation accepts as far as
 * podwright decides its parts; nothing of a step runs before it is asked for; no secret's value is in it; and what the
 * cluster grants is the least: no service-account token, no service links, the runtime's default seccomp profile.
 */

import { attachmentsOf } from './attachments.ts';
import type {
  BuildSpec,
  ContainerSpecRequest,
  JsonObject,
  JsonValue,
  PodOptions,
  ReadinessRequest,
} from './build-spec.ts';
import { annotations, buildLabels, containerNames, isDnsLabel, podName } from './labels.ts';
import { scriptMounts, scriptVolumes } from './long-scripts.ts';
import type { BuildPlan, PlaceholderOption, PlannedContainer } from './plan.ts';
import { type RecoveryPlan, writeRecoveryPlan } from './recovery.ts';
import { secretName, secretVariables } from './secrets.ts';
import { escapeReferences, mountsOf, type StartStrategy } from './start-strategy.ts';

export interface PodManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: JsonObject;
}

export const defaultWorkspace = '/workspace';
export const defaultGraceSeconds = 5;

export function planBuild(
  spec: BuildSpec,
  where: { readonly owner: string; readonly namespace: string; readonly placeholder: PlaceholderOption },
): BuildPlan {
  const names = containerNames(spec.containers.map((container) => container.name));
  const containers = spec.containers.map((request, index) => ({
    name: request.name,
    containerName: names[index] ?? request.name,
    index,
    request,
  }));
  return { spec, ...where, podName: podName(where.owner, spec.id), containers };
}

/** `assembly` names this attempt to create the pod. */
export function buildPod(plan: BuildPlan, strategy: StartStrategy, assembly: string): PodManifest {
  const { spec, owner } = plan;
  const parts = strategy.podParts();
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.podName,
      namespace: plan.namespace,
      labels: { ...spec.labels, ...buildLabels(owner, spec.id, assembly) },
      annotations: {
        ...undisturbed,
        ...spec.annotations,
        [annotations.owner]: owner,
        [annotations.buildId]: spec.id,
        [annotations.plan]: writeRecoveryPlan(recoveryPlan(plan)),
      },
    },
    spec: {
      restartPolicy: 'Never',
      ...podSettings(spec.pod ?? {}),
      ...hostAliases(plan),
      ...(parts.initContainers.length === 0 ? {} : { initContainers: parts.initContainers }),
      containers: plan.containers.map((container) => containerOf(plan, container, strategy)),
      volumes: [workspaceVolume(spec), ...(spec.volumes ?? []).map(volumeOf), ...parts.volumes, ...scriptVolumes(plan)],
    },
  };
}

/** A build does not survive being moved: what tidies up nodes is told to leave it alone. A caller may say otherwise. */
const undisturbed: Readonly<Record<string, string>> = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
};

function recoveryPlan(plan: BuildPlan): RecoveryPlan {
  const attachments = attachmentsOf(plan, {});
  return {
    version: 1,
    owner: plan.owner,
    buildId: plan.spec.id,
    placeholder: plan.placeholder,
    timeouts: plan.spec.timeouts ?? {},
    ...(attachments.length === 0 ? {} : { attachments: attachments.map(({ resource, name }) => ({ resource, name })) }),
    containers: plan.containers.map(({ name, containerName, request }) => ({
      name,
      containerName,
      image: request.image,
      role: request.role,
      ...(request.detach === undefined ? {} : { detach: request.detach }),
      ...(request.timeouts === undefined ? {} : { timeouts: request.timeouts }),
    })),
  };
}

function podSettings(options: PodOptions): JsonObject {
  const { imagePullSecrets, securityContext, hostAliases: _, ...asTheyAre } = options;
  return {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: defaultGraceSeconds,
    ...defined(asTheyAre),
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: 'RuntimeDefault' }, ...securityContext },
    ...(imagePullSecrets === undefined ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
  };
}

/** All containers share the pod's network, so a service's name is a name of the pod itself. */
function hostAliases(plan: BuildPlan): JsonObject {
  const names = new Set<string>();
  for (const { name, containerName, request } of plan.containers) {
    if (request.role !== 'service' && request.detach !== true) continue;
    names.add(containerName);
    if (isDnsLabel(name)) names.add(name);
  }
  for (const name of plan.spec.hostnames ?? []) names.add(name);
  const own = names.size === 0 ? [] : [{ ip: '127.0.0.1', hostnames: [...names] }];
  const all = [...own, ...(plan.spec.pod?.hostAliases ?? []).map(({ ip, hostnames }) => ({ ip, hostnames }))];
  return all.length === 0 ? {} : { hostAliases: all };
}

function containerOf(plan: BuildPlan, container: PlannedContainer, strategy: StartStrategy): JsonObject {
  const { request, containerName } = container;
  const parts = strategy.containerParts(container);
  const security = securityContext(request);
  return {
    name: containerName,
    ...parts,
    ...environment(plan, container),
    workingDir: request.workingDir ?? workspacePath(plan.spec),
    ...(request.resources === undefined ? {} : { resources: defined(request.resources) }),
    ...(request.ports === undefined ? {} : { ports: request.ports.map(portOf) }),
    ...(request.readiness === undefined ? {} : { readinessProbe: readinessProbe(request.readiness) }),
    ...(security === undefined ? {} : { securityContext: security }),
    volumeMounts: [
      { name: workspaceVolumeName, mountPath: workspacePath(plan.spec) },
      ...(request.mounts ?? []).map((mount) => mountOf(plan.spec, mount)),
      ...mountsOf(parts),
      ...scriptMounts(request),
    ],
  };
}

/** The placeholder fails it, which nobody asks about: a container that is not ready loses nothing in a pod without a Service. */
function readinessProbe(readiness: ReadinessRequest): JsonObject {
  const check: JsonObject =
    'tcpPort' in readiness ? { tcpSocket: { port: readiness.tcpPort } } : { exec: { command: [...readiness.command] } };
  return { ...check, periodSeconds: 1, timeoutSeconds: 1 };
}

function environment(plan: BuildPlan, container: PlannedContainer): JsonObject {
  const { request } = container;
  const secret = new Map(secretVariables(plan.containers).map((variable) => [variable.id, variable]));
  const taken = new Set([...Object.keys(request.secrets ?? {}), ...Object.keys(request.secretRefs ?? {})]);
  const env: JsonObject[] = [];
  for (const [name, value] of Object.entries(request.environment ?? {})) {
    if (!taken.has(name)) env.push({ name, value: escapeReferences(value) });
  }
  for (const [name, ref] of Object.entries(request.secretRefs ?? {})) {
    if (request.secrets?.[name] === undefined) env.push(fromSecret(name, ref.secret, ref.key));
  }
  for (const name of Object.keys(request.secrets ?? {})) {
    const key = secret.get(`${container.containerName}/${name}`)?.key;
    if (key !== undefined) env.push(fromSecret(name, secretName(plan.podName), key));
  }
  return env.length === 0 ? {} : { env };
}

function fromSecret(name: string, secret: string, key: string): JsonObject {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
}

function securityContext(request: ContainerSpecRequest): JsonObject | undefined {
  const { securityContext: context, privileged } = request;
  if (context === undefined && privileged !== true) return undefined;
  return { ...defined(context ?? {}), ...(privileged === true ? { privileged: true } : {}) };
}

const workspaceVolumeName = 'podwright-workspace';

function workspacePath(spec: BuildSpec): string {
  return spec.workspace?.mountPath ?? defaultWorkspace;
}

function workspaceVolume(spec: BuildSpec): JsonObject {
  const { claim, sizeLimit } = spec.workspace ?? {};
  if (claim !== undefined) return { name: workspaceVolumeName, persistentVolumeClaim: { claimName: claim } };
  return { name: workspaceVolumeName, emptyDir: sizeLimit === undefined ? {} : { sizeLimit } };
}

function volumeOf(volume: NonNullable<BuildSpec['volumes']>[number]): JsonObject {
  const { name, hostPath, claim, configMap, secret, emptyDir } = volume;
  if (hostPath !== undefined) return { name, hostPath: { path: hostPath } };
  if (claim !== undefined) return { name, persistentVolumeClaim: { claimName: claim } };
  if (configMap !== undefined) return { name, configMap: { name: configMap } };
  if (secret !== undefined) return { name, secret: { secretName: secret } };
  return { name, emptyDir: defined(emptyDir ?? {}) };
}

function mountOf(spec: BuildSpec, mount: NonNullable<ContainerSpecRequest['mounts']>[number]): JsonObject {
  const fromHost = spec.volumes?.find((volume) => volume.name === mount.volume)?.hostPath !== undefined;
  return {
    name: mount.volume,
    mountPath: mount.mountPath,
    readOnly: mount.readOnly ?? fromHost,
    ...(mount.subPath === undefined ? {} : { subPath: mount.subPath }),
  };
}

function portOf({ port, protocol }: NonNullable<ContainerSpecRequest['ports']>[number]): JsonObject {
  return { containerPort: port, ...(protocol === undefined ? {} : { protocol }) };
}

/** The object without its undefined members, as JSON. */
function defined(object: object): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
