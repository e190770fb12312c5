/** The schema of pods. */
import { typed } from '../meta-kind.ts';
import {
  any,
  boolean,
  integer,
  intOrString,
  list,
  map,
  type ObjectSchema,
  object,
  quantity,
  string,
  time,
} from '../schema.ts';
import { affinity, topologySpreadConstraint } from './placement-kind.ts';

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

const execAction = object('ExecAction', { command: list(string) });

const httpGetAction = object('HTTPGetAction', {
  path: string,
  port: intOrString,
  host: string,
  scheme: string,
  httpHeaders: list(object('HTTPHeader', { name: string, value: string })),
});

const tcpSocketAction = object('TCPSocketAction', { port: intOrString, host: string });

const probe = object('Probe', {
  exec: execAction,
  httpGet: httpGetAction,
  tcpSocket: tcpSocketAction,
  grpc: any,
  initialDelaySeconds: integer,
  timeoutSeconds: integer,
  periodSeconds: integer,
  successThreshold: integer,
  failureThreshold: integer,
  terminationGracePeriodSeconds: integer,
});

const lifecycleHandler = object('LifecycleHandler', {
  exec: execAction,
  httpGet: httpGetAction,
  tcpSocket: tcpSocketAction,
  sleep: object('SleepAction', { seconds: integer }, { seconds: 0 }),
});

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
  lifecycle: object('Lifecycle', { postStart: lifecycleHandler, preStop: lifecycleHandler, stopSignal: string }),
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

const projection = (type: string): ObjectSchema =>
  object(type, { name: string, items: list(keyToPath), optional: boolean });

const volumeProjection = object('VolumeProjection', {
  secret: projection('SecretProjection'),
  configMap: projection('ConfigMapProjection'),
  downwardAPI: any,
  serviceAccountToken: any,
  clusterTrustBundle: any,
  podCertificate: any,
});

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
  projected: object('ProjectedVolumeSource', { sources: list(volumeProjection), defaultMode: integer }),
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

const podSpec = object(
  'PodSpec',
  {
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
    affinity,
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
    topologySpreadConstraints: list(topologySpreadConstraint, 'topologyKey'),
    setHostnameAsFQDN: boolean,
    os: any,
    hostUsers: boolean,
    schedulingGates: list(object('PodSchedulingGate', { name: string }), 'name'),
    resourceClaims: list(any, 'name'),
    resources,
    hostnameOverride: string,
    workloadRef: any,
    schedulingGroup: any,
  },
  { containers: [] },
);

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

export const podKind = object(
  'Pod',
  { ...typed, spec: podSpec, status: podStatus },
  { spec: { containers: [] }, status: {} },
);
