/**
 * The parts of a Pod and of a core/v1 Event that podwright reads, as plain JSON: times are the server's strings.
 * Everything may be missing: what an API server sends is input, not a promise.
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface ContainerStateWaiting {
  readonly reason?: string;
  readonly message?: string;
}
export interface ContainerStateRunning {
  readonly startedAt?: string | null;
}
export interface ContainerStateTerminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string | null;
  readonly finishedAt?: string | null;
  readonly containerID?: string;
}
export interface ContainerState {
  readonly waiting?: ContainerStateWaiting;
  readonly running?: ContainerStateRunning;
  readonly terminated?: ContainerStateTerminated;
}
export interface ContainerStatus {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly image?: string;
  readonly imageID?: string;
  readonly containerID?: string;
}
export interface RestartPolicyRule {
  readonly action: string;
  readonly exitCodes?: { readonly operator: string; readonly values: readonly number[] };
}
export interface ContainerSpec {
  readonly name: string;
  readonly image?: string;
  readonly imagePullPolicy?: string;
  readonly restartPolicy?: string;
  readonly restartPolicyRules?: readonly RestartPolicyRule[];
}
export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}
export interface PodStatus {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly startTime?: string;
  readonly podIP?: string;
  readonly hostIP?: string;
  readonly observedGeneration?: number;
  readonly conditions?: readonly PodCondition[];
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  readonly ephemeralContainerStatuses?: readonly ContainerStatus[];
}
export interface Pod {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly terminationGracePeriodSeconds?: number;
    readonly activeDeadlineSeconds?: number;
    readonly containers?: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
  };
  readonly status?: PodStatus;
}

/** A core/v1 Event. The scheduler's have `eventTime`, and neither `count` nor first/lastTimestamp (kubernetes.md §1.1). */
export interface KubeEvent {
  readonly metadata: ObjectMeta;
  readonly involvedObject: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly fieldPath?: string;
  };
  readonly reason?: string;
  readonly message?: string;
  readonly type?: string;
  readonly count?: number;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly reportingComponent?: string;
  readonly source?: { readonly component?: string; readonly host?: string };
}
