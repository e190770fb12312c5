/**
 * What the runtime is given to build: one pod, its containers, and how long each part of its life may take.
 *
 * A `BuildSpec` speaks of steps and images, not of Kubernetes: names may be any text, values may hold any character,
 * secrets are marked as such. Everything that Kubernetes demands of them (valid names, escapes, Secret objects) is
 * made from it here in `src/pod`. It is plain data and never changed by the runtime; whoever prints one prints its `secrets` too.
 */

import type { PullPolicy } from '../image/policy.ts';

export interface BuildSpec {
  /** The caller's name for this build: any text, 1 to 253 characters. Two live builds of one owner differ in it. */
  readonly id: string;
  /** At least one. Names are unique. */
  readonly containers: readonly ContainerSpecRequest[];
  /** The folder that all containers share; `/workspace` in an emptyDir when absent. */
  readonly workspace?: WorkspaceRequest;
  /** Further volumes of the pod, mounted where the containers say. */
  readonly volumes?: readonly VolumeRequest[];
  /** Names that resolve to this pod in every container, besides those of its services and detached steps. */
  readonly hostnames?: readonly string[];
  /** How the pod is placed and what it may do. Safe where nothing is said. */
  readonly pod?: PodOptions;
  /** How long each phase may take; what is absent has the default of `defaultTimeouts`, 0 means no limit. */
  readonly timeouts?: PhaseTimeouts;
  /** Carried as labels and annotations of the pod; keys under `podwright.dev/` are refused. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * One container. What it runs is one of: `script`, `entrypoint` and `args`, or the image's own entrypoint (then with
 * `args` as its arguments).
 */
export interface ContainerSpecRequest {
  /** Any text, 1 to 253 characters: the pipeline's name of the step. Callers of the runtime use this name. */
  readonly name: string;
  /** The reference of the step's own image. It reaches the pod only when the step is asked to run. */
  readonly image: string;
  /** Run by `/bin/sh -e` of the step's image. Excludes `entrypoint` and `args`. */
  readonly script?: string;
  /**
   * Replaces the image's entrypoint, where the placeholder has the `entry` program; without it, becomes the arguments
   * of the image's own entrypoint, because a command would run in the placeholder too.
   */
  readonly entrypoint?: readonly string[];
  readonly args?: readonly string[];
  /** Given literally: `$(NAME)` and `$$` stay what they are. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Variables whose values go into a Kubernetes Secret and never into the pod. They win over `environment`. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Variables taken from Secrets that exist already: variable → Secret name and key. */
  readonly secretRefs?: Readonly<Record<string, SecretKeyRef>>;
  readonly workingDir?: string;
  /** Default `not_present`. It governs the placeholder of this container too: the field cannot be changed later. */
  readonly pull?: PullPolicy;
  /** A service is expected to run until the build is removed. */
  readonly role: 'step' | 'service';
  /** A step that nobody waits for before the next one; its name resolves inside the build as a service's does. */
  readonly detach?: boolean;
  /** Only for images that `PodOptions.privilegedImages` or the runtime's own allow-list names. */
  readonly privileged?: boolean;
  readonly resources?: ContainerResources;
  readonly mounts?: readonly MountRequest[];
  readonly securityContext?: ContainerSecurityContext;
  /** Ports the container listens on, for readers of the pod: `{ port: 5432 }`. */
  readonly ports?: readonly PortRequest[];
  /** What `readyContainer` waits for: a port that accepts connections, or a command that ends with 0. */
  readonly readiness?: ReadinessRequest;
  /** Overrides of the build's limits for this container. */
  readonly timeouts?: Pick<PhaseTimeouts, 'pullMs' | 'runMs'>;
}

/** Asked every second by the kubelet, from within the pod; the command runs in the container. */
export type ReadinessRequest = { readonly tcpPort: number } | { readonly command: readonly string[] };

export interface SecretKeyRef {
  readonly secret: string;
  readonly key: string;
}

export interface WorkspaceRequest {
  /** Absolute path in every container; it is also the working directory where a container names none. */
  readonly mountPath?: string;
  /** Kubernetes quantity, for example `10Gi`. Going over it evicts the pod. */
  readonly sizeLimit?: string;
  /** An existing PersistentVolumeClaim instead of an emptyDir. */
  readonly claim?: string;
}

/** A volume of the pod: from the host (only what the runtime's allow-list has), a claim, or memory or disk scratch. */
export interface VolumeRequest {
  readonly name: string;
  readonly hostPath?: string;
  readonly claim?: string;
  readonly configMap?: string;
  readonly secret?: string;
  readonly emptyDir?: { readonly medium?: 'Memory'; readonly sizeLimit?: string };
}

export interface MountRequest {
  readonly volume: string;
  readonly mountPath: string;
  /** Default true for host paths, false otherwise. */
  readonly readOnly?: boolean;
  readonly subPath?: string;
}

export interface PortRequest {
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP' | 'SCTP';
}

/** Kubernetes quantities: `{ limits: { memory: '1Gi', cpu: '2' } }`. */
export interface ContainerResources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export interface ContainerSecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
}

/** The pod around the containers. Parts given as `JsonObject` are Kubernetes' own types, passed through unread. */
export interface PodOptions {
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly affinity?: JsonObject;
  readonly tolerations?: readonly JsonObject[];
  readonly topologySpreadConstraints?: readonly JsonObject[];
  readonly securityContext?: JsonObject;
  readonly dnsPolicy?: 'ClusterFirst' | 'ClusterFirstWithHostNet' | 'Default' | 'None';
  readonly dnsConfig?: JsonObject;
  readonly serviceAccountName?: string;
  /** Default false: a step gets no token of the cluster. */
  readonly automountServiceAccountToken?: boolean;
  readonly imagePullSecrets?: readonly string[];
  /** Further entries of /etc/hosts. */
  readonly hostAliases?: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
  readonly runtimeClassName?: string;
  readonly priorityClassName?: string;
  readonly schedulerName?: string;
  /** A last resort against builds that nobody watches any more; the cluster ends the pod after it. */
  readonly activeDeadlineSeconds?: number;
  /** How long a container may take to end after SIGTERM. Default 5. A switch of an image waits for it too. */
  readonly terminationGracePeriodSeconds?: number;
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

/** Limits in milliseconds of the runtime's clock; 0 means none. */
export interface PhaseTimeouts {
  /** From the create's answer until the pod has a node. */
  readonly scheduleMs?: number;
  /** From the node until all containers wait for their step. */
  readonly startMs?: number;
  /** From the request of a step until its container runs. */
  readonly pullMs?: number;
  /** From running to terminated. No limit by default: whoever runs a build knows how long it may take. */
  readonly runMs?: number;
  /** From the first delete until the pod is gone; then it is forced. */
  readonly removeMs?: number;
}

export const defaultTimeouts: Required<PhaseTimeouts> = {
  scheduleMs: 10 * 60_000,
  startMs: 5 * 60_000,
  pullMs: 15 * 60_000,
  runMs: 0,
  removeMs: 60_000,
};
