/** The API objects that the cluster's own parts read, as far as they read them. */

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ApiObject {
  kind: string;
  apiVersion: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    secretKeyRef?: { name: string; key: string; optional?: boolean };
    configMapKeyRef?: { name: string; key: string; optional?: boolean };
    resourceFieldRef?: { resource: string };
  };
}

export interface RestartRule {
  action: string;
  exitCodes?: { operator: 'In' | 'NotIn'; values?: number[] };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  ports?: { name?: string; containerPort: number }[];
  env?: EnvVar[];
  envFrom?: { prefix?: string; secretRef?: NamedReference; configMapRef?: NamedReference }[];
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  restartPolicyRules?: RestartRule[];
  resources?: { limits?: Record<string, string>; requests?: Record<string, string> };
  securityContext?: { privileged?: boolean; runAsUser?: number; runAsNonRoot?: boolean };
  volumeMounts?: { name: string; mountPath: string; subPath?: string; readOnly?: boolean }[];
  terminationMessagePath?: string;
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  lifecycle?: { postStart?: LifecycleHandler; preStop?: LifecycleHandler };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
}

export interface Handler {
  exec?: { command?: string[] };
  httpGet?: {
    port: number | string;
    host?: string;
    path?: string;
    scheme?: string;
    httpHeaders?: { name: string; value: string }[];
  };
  tcpSocket?: { port: number | string; host?: string };
}

export interface LifecycleHandler extends Handler {
  sleep?: { seconds: number };
}

export interface Probe extends Handler {
  /** Refused on create. */
  grpc?: object;
  initialDelaySeconds?: number;
  timeoutSeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  failureThreshold?: number;
  terminationGracePeriodSeconds?: number;
}

export interface NamedReference {
  name: string;
  optional?: boolean;
}

export interface Volume {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  secret?: { secretName: string; optional?: boolean; items?: KeyToPath[]; defaultMode?: number };
  configMap?: { name: string; optional?: boolean; items?: KeyToPath[]; defaultMode?: number };
  downwardAPI?: unknown;
  projected?: { sources?: VolumeSource[]; defaultMode?: number };
  [source: string]: unknown;
}

/** One of the parts of a projected volume. */
export interface VolumeSource {
  secret?: { name: string; optional?: boolean; items?: KeyToPath[] };
  configMap?: { name: string; optional?: boolean; items?: KeyToPath[] };
}

export interface KeyToPath {
  key: string;
  path: string;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  restartPolicy: 'Always' | 'OnFailure' | 'Never';
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  schedulerName?: string;
  schedulingGates?: { name: string }[];
  tolerations?: Toleration[];
  imagePullSecrets?: { name: string }[];
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  hostUsers?: boolean;
  [field: string]: unknown;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt: string };
  terminated?: TerminatedState;
}

export interface TerminatedState {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt: string | null;
  finishedAt: string | null;
  containerID?: string;
}

export interface ContainerStatus {
  name: string;
  state: ContainerState;
  lastState: ContainerState;
  ready: boolean;
  restartCount: number;
  image: string;
  imageID: string;
  containerID?: string;
  started?: boolean;
  resources?: Record<string, unknown>;
  allocatedResources?: Record<string, unknown>;
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean; recursiveReadOnly?: string }[];
  user?: object;
}

export interface PodCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  observedGeneration?: number;
  lastProbeTime?: null;
  lastTransitionTime?: string | null;
  reason?: string;
  message?: string;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';

export interface PodStatus {
  observedGeneration?: number;
  phase: PodPhase;
  conditions?: PodCondition[];
  message?: string;
  reason?: string;
  nominatedNodeName?: string;
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  qosClass?: string;
  resources?: Record<string, unknown>;
  allocatedResources?: Record<string, unknown>;
}

export interface PodObject extends ApiObject {
  spec: PodSpec;
  status: PodStatus;
}

export interface ObjectReference {
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  apiVersion?: string;
  resourceVersion?: string;
  fieldPath?: string;
}
