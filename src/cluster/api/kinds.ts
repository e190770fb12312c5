/** The schemas of the kinds that the cluster serves. */
import {
  any,
  boolean,
  bytes,
  integer,
  intOrString,
  list,
  map,
  type ObjectSchema,
  object,
  quantity,
  string,
  time,
} from './schema.ts';

const ownerReference = object('OwnerReference', {
  apiVersion: string,
  kind: string,
  name: string,
  uid: string,
  controller: boolean,
  blockOwnerDeletion: boolean,
});

export const objectMeta = object('ObjectMeta', {
  name: string,
  generateName: string,
  namespace: string,
  selfLink: string,
  uid: string,
  resourceVersion: string,
  generation: integer,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: integer,
  labels: map(string),
  annotations: map(string),
  ownerReferences: list(ownerReference, 'uid'),
  finalizers: list(string, 'set'),
  managedFields: list(any),
});

const typed = { kind: string, apiVersion: string, metadata: objectMeta };

/** A kind of which only the metadata matters here. */
const kept = (type: string, fields: Readonly<Record<string, typeof any>>): ObjectSchema =>
  object(type, { ...typed, ...fields });

const keyReference = (type: string): ObjectSchema => object(type, { name: string, key: string, optional: boolean });
const nameReference = (type: string): ObjectSchema => object(type, { name: string, optional: boolean });

const envVar = object('EnvVar', {
  name: string,
  value: string,
  valueFrom: object('EnvVarSource', {
    fieldRef: object('ObjectFieldSelector', { apiVersion: string, fieldPath: string }),
    resourceFieldRef: object('ResourceFieldSelector', { containerName: string, resource: string, divisor: quantity }),
    configMapKeyRef: keyReference('ConfigMapKeySelector'),
    secretKeyRef: keyReference('SecretKeySelector'),
    fileKeyRef: any,
  }),
});

const resources = object('ResourceRequirements', {
  limits: map(quantity),
  requests: map(quantity),
  claims: list(any, 'name'),
});

const probe = any;

const containerFields = {
  name: string,
  image: string,
  command: list(string),
  args: list(string),
  workingDir: string,
  ports: list(
    object('ContainerPort', {
      name: string,
      hostPort: integer,
      containerPort: integer,
      protocol: string,
      hostIP: string,
    }),
    'containerPort',
  ),
  envFrom: list(
    object('EnvFromSource', {
      prefix: string,
      configMapRef: nameReference('ConfigMapEnvSource'),
      secretRef: nameReference('SecretEnvSource'),
    }),
  ),
  env: list(envVar, 'name'),
  resources,
  resizePolicy: list(any),
  restartPolicy: string,
  restartPolicyRules: list(
    object('ContainerRestartRule', {
      action: string,
      exitCodes: object('ContainerRestartRuleOnExitCodes', { operator: string, values: list(integer) }),
    }),
  ),
  volumeMounts: list(
    object('VolumeMount', {
      name: string,
      readOnly: boolean,
      recursiveReadOnly: string,
      mountPath: string,
      subPath: string,
      mountPropagation: string,
      subPathExpr: string,
    }),
    'mountPath',
  ),
  volumeDevices: list(any, 'devicePath'),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  lifecycle: any,
  terminationMessagePath: string,
  terminationMessagePolicy: string,
  imagePullPolicy: string,
  securityContext: object('SecurityContext', {
    capabilities: any,
    privileged: boolean,
    seLinuxOptions: any,
    windowsOptions: any,
    runAsUser: integer,
    runAsGroup: integer,
    runAsNonRoot: boolean,
    readOnlyRootFilesystem: boolean,
    allowPrivilegeEscalation: boolean,
    procMount: string,
    seccompProfile: any,
    appArmorProfile: any,
  }),
  stdin: boolean,
  stdinOnce: boolean,
  tty: boolean,
};

const container = object('Container', containerFields, { resources: {} });

const keyToPath = object('KeyToPath', { key: string, path: string, mode: integer });

const volume = object('Volume', {
  name: string,
  hostPath: any,
  emptyDir: object('EmptyDirVolumeSource', { medium: string, sizeLimit: quantity }),
  secret: object('SecretVolumeSource', {
    secretName: string,
    items: list(keyToPath),
    defaultMode: integer,
    optional: boolean,
  }),
  configMap: object('ConfigMapVolumeSource', {
    name: string,
    items: list(keyToPath),
    defaultMode: integer,
    optional: boolean,
  }),
  downwardAPI: any,
  projected: any,
  persistentVolumeClaim: any,
  ephemeral: any,
  image: any,
  csi: any,
  nfs: any,
  iscsi: any,
  fc: any,
  awsElasticBlockStore: any,
  gcePersistentDisk: any,
  azureDisk: any,
  azureFile: any,
  cephfs: any,
  cinder: any,
  flexVolume: any,
  flocker: any,
  gitRepo: any,
  glusterfs: any,
  photonPersistentDisk: any,
  portworxVolume: any,
  quobyte: any,
  rbd: any,
  scaleIO: any,
  storageos: any,
  vsphereVolume: any,
});

const toleration = object('Toleration', {
  key: string,
  operator: string,
  value: string,
  effect: string,
  tolerationSeconds: integer,
});

const podSpec = object('PodSpec', {
  volumes: list(volume, 'name'),
  initContainers: list(container, 'name'),
  containers: list(container, 'name'),
  ephemeralContainers: list(any, 'name'),
  restartPolicy: string,
  terminationGracePeriodSeconds: integer,
  activeDeadlineSeconds: integer,
  dnsPolicy: string,
  nodeSelector: map(string),
  serviceAccountName: string,
  serviceAccount: string,
  automountServiceAccountToken: boolean,
  nodeName: string,
  hostNetwork: boolean,
  hostPID: boolean,
  hostIPC: boolean,
  shareProcessNamespace: boolean,
  securityContext: any,
  imagePullSecrets: list(object('LocalObjectReference', { name: string }), 'name'),
  hostname: string,
  subdomain: string,
  affinity: any,
  schedulerName: string,
  tolerations: list(toleration),
  hostAliases: list(any, 'ip'),
  priorityClassName: string,
  priority: integer,
  dnsConfig: any,
  readinessGates: list(any),
  runtimeClassName: string,
  enableServiceLinks: boolean,
  preemptionPolicy: string,
  overhead: map(quantity),
  topologySpreadConstraints: list(any, 'topologyKey'),
  setHostnameAsFQDN: boolean,
  os: any,
  hostUsers: boolean,
  schedulingGates: list(object('PodSchedulingGate', { name: string }), 'name'),
  resourceClaims: list(any, 'name'),
  resources,
  hostnameOverride: string,
  workloadRef: any,
  schedulingGroup: any,
});

const terminated = object(
  'ContainerStateTerminated',
  {
    exitCode: integer,
    signal: integer,
    reason: string,
    message: string,
    startedAt: time,
    finishedAt: time,
    containerID: string,
  },
  { exitCode: 0, startedAt: null, finishedAt: null },
);

const containerState = object('ContainerState', {
  waiting: object('ContainerStateWaiting', { reason: string, message: string }),
  running: object('ContainerStateRunning', { startedAt: time }, { startedAt: null }),
  terminated,
});

const containerStatus = object(
  'ContainerStatus',
  {
    name: string,
    state: containerState,
    lastState: containerState,
    ready: boolean,
    restartCount: integer,
    image: string,
    imageID: string,
    containerID: string,
    started: boolean,
    allocatedResources: map(quantity),
    resources,
    volumeMounts: list(any),
    user: any,
    allocatedResourcesStatus: list(any),
    stopSignal: string,
  },
  { name: '', state: {}, lastState: {}, ready: false, restartCount: 0, image: '', imageID: '' },
);

const podCondition = object(
  'PodCondition',
  {
    type: string,
    observedGeneration: integer,
    status: string,
    lastProbeTime: time,
    lastTransitionTime: time,
    reason: string,
    message: string,
  },
  { lastProbeTime: null, lastTransitionTime: null },
);

const ip = object('PodIP', { ip: string });

const podStatus = object('PodStatus', {
  observedGeneration: integer,
  phase: string,
  conditions: list(podCondition, 'type'),
  message: string,
  reason: string,
  nominatedNodeName: string,
  hostIP: string,
  hostIPs: list(ip, 'ip'),
  podIP: string,
  podIPs: list(ip, 'ip'),
  startTime: time,
  initContainerStatuses: list(containerStatus),
  containerStatuses: list(containerStatus),
  qosClass: string,
  ephemeralContainerStatuses: list(containerStatus),
  resize: string,
  resourceClaimStatuses: list(any),
  allocatedResources: map(quantity),
  resources,
});

export const pod = object(
  'Pod',
  { ...typed, spec: podSpec, status: podStatus },
  { spec: { containers: [] }, status: {} },
);

const objectReference = object('ObjectReference', {
  kind: string,
  namespace: string,
  name: string,
  uid: string,
  apiVersion: string,
  resourceVersion: string,
  fieldPath: string,
});

const eventSource = object('EventSource', { component: string, host: string });
const eventSeries = object('EventSeries', { count: integer, lastObservedTime: time });

export const event = object(
  'Event',
  {
    ...typed,
    involvedObject: objectReference,
    reason: string,
    message: string,
    source: eventSource,
    firstTimestamp: time,
    lastTimestamp: time,
    count: integer,
    type: string,
    eventTime: time,
    series: eventSeries,
    action: string,
    related: objectReference,
    reportingComponent: string,
    reportingInstance: string,
  },
  {
    involvedObject: {},
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: '',
    reportingInstance: '',
  },
);

export const groupedEvent = object(
  'Event',
  {
    ...typed,
    eventTime: time,
    series: eventSeries,
    reportingController: string,
    reportingInstance: string,
    action: string,
    reason: string,
    regarding: objectReference,
    related: objectReference,
    note: string,
    type: string,
    deprecatedSource: eventSource,
    deprecatedFirstTimestamp: time,
    deprecatedLastTimestamp: time,
    deprecatedCount: integer,
  },
  {
    eventTime: null,
    regarding: {},
    deprecatedSource: {},
    deprecatedFirstTimestamp: null,
    deprecatedLastTimestamp: null,
  },
);

export const namespace = object(
  'Namespace',
  {
    ...typed,
    spec: object('NamespaceSpec', { finalizers: list(string) }),
    status: object('NamespaceStatus', { phase: string, conditions: list(any, 'type') }),
  },
  { spec: {}, status: {} },
);

export const node = object(
  'Node',
  {
    ...typed,
    spec: object('NodeSpec', {
      podCIDR: string,
      podCIDRs: list(string, 'set'),
      providerID: string,
      unschedulable: boolean,
      taints: list(object('Taint', { key: string, value: string, effect: string, timeAdded: time })),
    }),
    status: object('NodeStatus', {
      capacity: map(quantity),
      allocatable: map(quantity),
      phase: string,
      conditions: list(any, 'type'),
      addresses: list(any, 'type'),
      daemonEndpoints: any,
      nodeInfo: any,
      images: list(any),
    }),
  },
  { spec: {}, status: {} },
);

export const secret = object('Secret', {
  ...typed,
  immutable: boolean,
  data: map(bytes),
  stringData: map(string),
  type: string,
});

export const configMap = object('ConfigMap', {
  ...typed,
  immutable: boolean,
  data: map(string),
  binaryData: map(bytes),
});

export const serviceAccount = kept('ServiceAccount', {
  secrets: any,
  imagePullSecrets: any,
  automountServiceAccountToken: any,
});

const policyRule = object('PolicyRule', {
  verbs: list(string),
  apiGroups: list(string),
  resources: list(string),
  resourceNames: list(string),
  nonResourceURLs: list(string),
});
const subject = object('Subject', { kind: string, apiGroup: string, name: string, namespace: string });
const roleReference = object('RoleRef', { apiGroup: string, kind: string, name: string });

export const role = object('Role', { ...typed, rules: list(policyRule) });
export const clusterRole = object('ClusterRole', { ...typed, rules: list(policyRule), aggregationRule: any });
export const roleBinding = object('RoleBinding', { ...typed, subjects: list(subject), roleRef: roleReference });
export const clusterRoleBinding = object('ClusterRoleBinding', roleBinding.fields);

export const podDisruptionBudget = object(
  'PodDisruptionBudget',
  {
    ...typed,
    spec: object('PodDisruptionBudgetSpec', {
      minAvailable: intOrString,
      selector: any,
      maxUnavailable: intOrString,
      unhealthyPodEvictionPolicy: string,
    }),
    status: any,
  },
  { spec: {} },
);

export const lease = kept('Lease', { spec: any });

/** Of kinds of which there is nothing. */
export const unserved = kept('Object', { spec: any, status: any });
