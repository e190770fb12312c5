/**
 * The protobuf messages of core/v1 (k8s.io/api v0.36.3) below Pod, Event and Binding: number, JSON name and kind of each
 * field. `[]` is a list of messages, `~` a message whose fields are those of its parent, `!` keeps zero values.
 */
export const coreMessages: Readonly<Record<string, string>> = {
  Pod: '1 metadata ObjectMeta, 2 spec PodSpec, 3 status PodStatus',
  PodSpec:
    '1 volumes []Volume, 20 initContainers []Container, 2 containers []Container, 34 ephemeralContainers []EphemeralContainer, 3 restartPolicy string, 4 terminationGracePeriodSeconds int!, 5 activeDeadlineSeconds int!, 6 dnsPolicy string, 7 nodeSelector textMap, 8 serviceAccountName string, 9 serviceAccount string, 21 automountServiceAccountToken bool!, 10 nodeName string, 11 hostNetwork bool, 12 hostPID bool, 13 hostIPC bool, 27 shareProcessNamespace bool!, 14 securityContext PodSecurityContext, 15 imagePullSecrets []LocalObjectReference, 16 hostname string, 17 subdomain string, 18 affinity Affinity, 19 schedulerName string, 22 tolerations []Toleration, 23 hostAliases []HostAlias, 24 priorityClassName string, 25 priority int!, 26 dnsConfig PodDNSConfig, 28 readinessGates []PodReadinessGate, 29 runtimeClassName string!, 30 enableServiceLinks bool!, 31 preemptionPolicy string!, 32 overhead quantityMap, 33 topologySpreadConstraints []TopologySpreadConstraint, 35 setHostnameAsFQDN bool!, 36 os PodOS, 37 hostUsers bool!, 38 schedulingGates []PodSchedulingGate, 39 resourceClaims []PodResourceClaim, 40 resources ResourceRequirements, 41 hostnameOverride string!, 43 schedulingGroup PodSchedulingGroup',
  Volume: '1 name string, 2 ~VolumeSource',
  VolumeSource:
    '1 hostPath HostPathVolumeSource, 2 emptyDir EmptyDirVolumeSource, 3 gcePersistentDisk GCEPersistentDiskVolumeSource, 4 awsElasticBlockStore AWSElasticBlockStoreVolumeSource, 5 gitRepo GitRepoVolumeSource, 6 secret SecretVolumeSource, 7 nfs NFSVolumeSource, 8 iscsi ISCSIVolumeSource, 9 glusterfs GlusterfsVolumeSource, 10 persistentVolumeClaim PersistentVolumeClaimVolumeSource, 11 rbd RBDVolumeSource, 12 flexVolume FlexVolumeSource, 13 cinder CinderVolumeSource, 14 cephfs CephFSVolumeSource, 15 flocker FlockerVolumeSource, 16 downwardAPI DownwardAPIVolumeSource, 17 fc FCVolumeSource, 18 azureFile AzureFileVolumeSource, 19 configMap ConfigMapVolumeSource, 20 vsphereVolume VsphereVirtualDiskVolumeSource, 21 quobyte QuobyteVolumeSource, 22 azureDisk AzureDiskVolumeSource, 23 photonPersistentDisk PhotonPersistentDiskVolumeSource, 26 projected ProjectedVolumeSource, 24 portworxVolume PortworxVolumeSource, 25 scaleIO ScaleIOVolumeSource, 27 storageos StorageOSVolumeSource, 28 csi CSIVolumeSource, 29 ephemeral EphemeralVolumeSource, 30 image ImageVolumeSource',
  HostPathVolumeSource: '1 path string, 2 type string!',
  EmptyDirVolumeSource: '1 medium string, 2 sizeLimit quantity',
  GCEPersistentDiskVolumeSource: '1 pdName string, 2 fsType string, 3 partition int, 4 readOnly bool',
  AWSElasticBlockStoreVolumeSource: '1 volumeID string, 2 fsType string, 3 partition int, 4 readOnly bool',
  GitRepoVolumeSource: '1 repository string, 2 revision string, 3 directory string',
  SecretVolumeSource: '1 secretName string, 2 items []KeyToPath, 3 defaultMode int!, 4 optional bool!',
  KeyToPath: '1 key string, 2 path string, 3 mode int!',
  NFSVolumeSource: '1 server string, 2 path string, 3 readOnly bool',
  ISCSIVolumeSource:
    '1 targetPortal string, 2 iqn string, 3 lun int!, 4 iscsiInterface string, 5 fsType string, 6 readOnly bool, 7 portals strings, 8 chapAuthDiscovery bool, 11 chapAuthSession bool, 10 secretRef LocalObjectReference, 12 initiatorName string!',
  LocalObjectReference: '1 name string',
  GlusterfsVolumeSource: '1 endpoints string, 2 path string, 3 readOnly bool',
  PersistentVolumeClaimVolumeSource: '1 claimName string, 2 readOnly bool',
  RBDVolumeSource:
    '1 monitors strings, 2 image string, 3 fsType string, 4 pool string, 5 user string, 6 keyring string, 7 secretRef LocalObjectReference, 8 readOnly bool',
  FlexVolumeSource:
    '1 driver string, 2 fsType string, 3 secretRef LocalObjectReference, 4 readOnly bool, 5 options textMap',
  CinderVolumeSource: '1 volumeID string, 2 fsType string, 3 readOnly bool, 4 secretRef LocalObjectReference',
  CephFSVolumeSource:
    '1 monitors strings, 2 path string, 3 user string, 4 secretFile string, 5 secretRef LocalObjectReference, 6 readOnly bool',
  FlockerVolumeSource: '1 datasetName string, 2 datasetUUID string',
  DownwardAPIVolumeSource: '1 items []DownwardAPIVolumeFile, 2 defaultMode int!',
  DownwardAPIVolumeFile:
    '1 path string, 2 fieldRef ObjectFieldSelector, 3 resourceFieldRef ResourceFieldSelector, 4 mode int!',
  ObjectFieldSelector: '1 apiVersion string, 2 fieldPath string',
  ResourceFieldSelector: '1 containerName string, 2 resource string, 3 divisor quantity',
  FCVolumeSource: '1 targetWWNs strings, 2 lun int!, 3 fsType string, 4 readOnly bool, 5 wwids strings',
  AzureFileVolumeSource: '1 secretName string, 2 shareName string, 3 readOnly bool',
  ConfigMapVolumeSource: '1 ~LocalObjectReference, 2 items []KeyToPath, 3 defaultMode int!, 4 optional bool!',
  VsphereVirtualDiskVolumeSource:
    '1 volumePath string, 2 fsType string, 3 storagePolicyName string, 4 storagePolicyID string',
  QuobyteVolumeSource:
    '1 registry string, 2 volume string, 3 readOnly bool, 4 user string, 5 group string, 6 tenant string',
  AzureDiskVolumeSource:
    '1 diskName string, 2 diskURI string, 3 cachingMode string!, 4 fsType string!, 5 readOnly bool!, 6 kind string!',
  PhotonPersistentDiskVolumeSource: '1 pdID string, 2 fsType string',
  ProjectedVolumeSource: '1 sources []VolumeProjection, 2 defaultMode int!',
  VolumeProjection:
    '1 secret SecretProjection, 2 downwardAPI DownwardAPIProjection, 3 configMap ConfigMapProjection, 4 serviceAccountToken ServiceAccountTokenProjection, 5 clusterTrustBundle ClusterTrustBundleProjection, 6 podCertificate PodCertificateProjection',
  SecretProjection: '1 ~LocalObjectReference, 2 items []KeyToPath, 4 optional bool!',
  DownwardAPIProjection: '1 items []DownwardAPIVolumeFile',
  ConfigMapProjection: '1 ~LocalObjectReference, 2 items []KeyToPath, 4 optional bool!',
  ServiceAccountTokenProjection: '1 audience string, 2 expirationSeconds int!, 3 path string',
  ClusterTrustBundleProjection:
    '1 name string!, 2 signerName string!, 3 labelSelector LabelSelector, 5 optional bool!, 4 path string',
  PodCertificateProjection:
    '1 signerName string, 2 keyType string, 3 maxExpirationSeconds int!, 4 credentialBundlePath string, 5 keyPath string, 6 certificateChainPath string, 7 userAnnotations textMap',
  PortworxVolumeSource: '1 volumeID string, 2 fsType string, 3 readOnly bool',
  ScaleIOVolumeSource:
    '1 gateway string, 2 system string, 3 secretRef LocalObjectReference, 4 sslEnabled bool, 5 protectionDomain string, 6 storagePool string, 7 storageMode string, 8 volumeName string, 9 fsType string, 10 readOnly bool',
  StorageOSVolumeSource:
    '1 volumeName string, 2 volumeNamespace string, 3 fsType string, 4 readOnly bool, 5 secretRef LocalObjectReference',
  CSIVolumeSource:
    '1 driver string, 2 readOnly bool!, 3 fsType string!, 4 volumeAttributes textMap, 5 nodePublishSecretRef LocalObjectReference',
  EphemeralVolumeSource: '1 volumeClaimTemplate PersistentVolumeClaimTemplate',
  PersistentVolumeClaimTemplate: '1 metadata ObjectMeta, 2 spec PersistentVolumeClaimSpec',
  PersistentVolumeClaimSpec:
    '1 accessModes strings, 4 selector LabelSelector, 2 resources VolumeResourceRequirements, 3 volumeName string, 5 storageClassName string!, 6 volumeMode string!, 7 dataSource TypedLocalObjectReference, 8 dataSourceRef TypedObjectReference, 9 volumeAttributesClassName string!',
  VolumeResourceRequirements: '1 limits quantityMap, 2 requests quantityMap',
  TypedLocalObjectReference: '1 apiGroup string!, 2 kind string, 3 name string',
  TypedObjectReference: '1 apiGroup string!, 2 kind string, 3 name string, 4 namespace string!',
  ImageVolumeSource: '1 reference string, 2 pullPolicy string',
  Container:
    '1 name string, 2 image string, 3 command strings, 4 args strings, 5 workingDir string, 6 ports []ContainerPort, 19 envFrom []EnvFromSource, 7 env []EnvVar, 8 resources ResourceRequirements, 23 resizePolicy []ContainerResizePolicy, 24 restartPolicy string!, 25 restartPolicyRules []ContainerRestartRule, 9 volumeMounts []VolumeMount, 21 volumeDevices []VolumeDevice, 10 livenessProbe Probe, 11 readinessProbe Probe, 22 startupProbe Probe, 12 lifecycle Lifecycle, 13 terminationMessagePath string, 20 terminationMessagePolicy string, 14 imagePullPolicy string, 15 securityContext SecurityContext, 16 stdin bool, 17 stdinOnce bool, 18 tty bool',
  ContainerPort: '1 name string, 2 hostPort int, 3 containerPort int!, 4 protocol string, 5 hostIP string',
  EnvFromSource: '1 prefix string, 2 configMapRef ConfigMapEnvSource, 3 secretRef SecretEnvSource',
  ConfigMapEnvSource: '1 ~LocalObjectReference, 2 optional bool!',
  SecretEnvSource: '1 ~LocalObjectReference, 2 optional bool!',
  EnvVar: '1 name string, 2 value string, 3 valueFrom EnvVarSource',
  EnvVarSource:
    '1 fieldRef ObjectFieldSelector, 2 resourceFieldRef ResourceFieldSelector, 3 configMapKeyRef ConfigMapKeySelector, 4 secretKeyRef SecretKeySelector, 5 fileKeyRef FileKeySelector',
  ConfigMapKeySelector: '1 ~LocalObjectReference, 2 key string, 3 optional bool!',
  SecretKeySelector: '1 ~LocalObjectReference, 2 key string, 3 optional bool!',
  FileKeySelector: '1 volumeName string, 2 path string, 3 key string, 4 optional bool!',
  ResourceRequirements: '1 limits quantityMap, 2 requests quantityMap, 3 claims []ResourceClaim',
  ResourceClaim: '1 name string, 2 request string',
  ContainerResizePolicy: '1 resourceName string, 2 restartPolicy string',
  ContainerRestartRule: '1 action string, 2 exitCodes ContainerRestartRuleOnExitCodes',
  ContainerRestartRuleOnExitCodes: '1 operator string, 2 values ints',
  VolumeMount:
    '1 name string, 2 readOnly bool, 7 recursiveReadOnly string!, 3 mountPath string, 4 subPath string, 5 mountPropagation string!, 6 subPathExpr string',
  VolumeDevice: '1 name string, 2 devicePath string',
  Probe:
    '1 ~ProbeHandler, 2 initialDelaySeconds int, 3 timeoutSeconds int, 4 periodSeconds int, 5 successThreshold int, 6 failureThreshold int, 7 terminationGracePeriodSeconds int!',
  ProbeHandler: '1 exec ExecAction, 2 httpGet HTTPGetAction, 3 tcpSocket TCPSocketAction, 4 grpc GRPCAction',
  ExecAction: '1 command strings',
  HTTPGetAction: '1 path string, 2 port intOrString, 3 host string, 4 scheme string, 5 httpHeaders []HTTPHeader',
  HTTPHeader: '1 name string, 2 value string',
  TCPSocketAction: '1 port intOrString, 2 host string',
  GRPCAction: '1 port int!, 2 service string!',
  Lifecycle: '1 postStart LifecycleHandler, 2 preStop LifecycleHandler, 3 stopSignal string!',
  LifecycleHandler: '1 exec ExecAction, 2 httpGet HTTPGetAction, 3 tcpSocket TCPSocketAction, 4 sleep SleepAction',
  SleepAction: '1 seconds int!',
  SecurityContext:
    '1 capabilities Capabilities, 2 privileged bool!, 3 seLinuxOptions SELinuxOptions, 10 windowsOptions WindowsSecurityContextOptions, 4 runAsUser int!, 8 runAsGroup int!, 5 runAsNonRoot bool!, 6 readOnlyRootFilesystem bool!, 7 allowPrivilegeEscalation bool!, 9 procMount string!, 11 seccompProfile SeccompProfile, 12 appArmorProfile AppArmorProfile',
  Capabilities: '1 add strings, 2 drop strings',
  SELinuxOptions: '1 user string, 2 role string, 3 type string, 4 level string',
  WindowsSecurityContextOptions:
    '1 gmsaCredentialSpecName string!, 2 gmsaCredentialSpec string!, 3 runAsUserName string!, 4 hostProcess bool!',
  SeccompProfile: '1 type string, 2 localhostProfile string!',
  AppArmorProfile: '1 type string, 2 localhostProfile string!',
  EphemeralContainer: '1 ~EphemeralContainerCommon, 2 targetContainerName string',
  EphemeralContainerCommon:
    '1 name string, 2 image string, 3 command strings, 4 args strings, 5 workingDir string, 6 ports []ContainerPort, 19 envFrom []EnvFromSource, 7 env []EnvVar, 8 resources ResourceRequirements, 23 resizePolicy []ContainerResizePolicy, 24 restartPolicy string!, 25 restartPolicyRules []ContainerRestartRule, 9 volumeMounts []VolumeMount, 21 volumeDevices []VolumeDevice, 10 livenessProbe Probe, 11 readinessProbe Probe, 22 startupProbe Probe, 12 lifecycle Lifecycle, 13 terminationMessagePath string, 20 terminationMessagePolicy string, 14 imagePullPolicy string, 15 securityContext SecurityContext, 16 stdin bool, 17 stdinOnce bool, 18 tty bool',
  PodSecurityContext:
    '1 seLinuxOptions SELinuxOptions, 8 windowsOptions WindowsSecurityContextOptions, 2 runAsUser int!, 6 runAsGroup int!, 3 runAsNonRoot bool!, 4 supplementalGroups ints, 12 supplementalGroupsPolicy string!, 5 fsGroup int!, 7 sysctls []Sysctl, 9 fsGroupChangePolicy string!, 10 seccompProfile SeccompProfile, 11 appArmorProfile AppArmorProfile, 13 seLinuxChangePolicy string!',
  Sysctl: '1 name string, 2 value string',
  Affinity: '1 nodeAffinity NodeAffinity, 2 podAffinity PodAffinity, 3 podAntiAffinity PodAntiAffinity',
  NodeAffinity:
    '1 requiredDuringSchedulingIgnoredDuringExecution NodeSelector, 2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm',
  NodeSelector: '1 nodeSelectorTerms []NodeSelectorTerm',
  NodeSelectorTerm: '1 matchExpressions []NodeSelectorRequirement, 2 matchFields []NodeSelectorRequirement',
  NodeSelectorRequirement: '1 key string, 2 operator string, 3 values strings',
  PreferredSchedulingTerm: '1 weight int!, 2 preference NodeSelectorTerm',
  PodAffinity:
    '1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm',
  PodAffinityTerm:
    '1 labelSelector LabelSelector, 2 namespaces strings, 3 topologyKey string, 4 namespaceSelector LabelSelector, 5 matchLabelKeys strings, 6 mismatchLabelKeys strings',
  WeightedPodAffinityTerm: '1 weight int!, 2 podAffinityTerm PodAffinityTerm',
  PodAntiAffinity:
    '1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm, 2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm',
  Toleration: '1 key string, 2 operator string, 3 value string, 4 effect string, 5 tolerationSeconds int!',
  HostAlias: '1 ip string, 2 hostnames strings',
  PodDNSConfig: '1 nameservers strings, 2 searches strings, 3 options []PodDNSConfigOption',
  PodDNSConfigOption: '1 name string, 2 value string!',
  PodReadinessGate: '1 conditionType string',
  TopologySpreadConstraint:
    '1 maxSkew int!, 2 topologyKey string, 3 whenUnsatisfiable string, 4 labelSelector LabelSelector, 5 minDomains int!, 6 nodeAffinityPolicy string!, 7 nodeTaintsPolicy string!, 8 matchLabelKeys strings',
  PodOS: '1 name string',
  PodSchedulingGate: '1 name string',
  PodResourceClaim: '1 name string, 3 resourceClaimName string!, 4 resourceClaimTemplateName string!',
  PodSchedulingGroup: '1 podGroupName string!',
  PodStatus:
    '17 observedGeneration int, 1 phase string, 2 conditions []PodCondition, 3 message string, 4 reason string, 11 nominatedNodeName string, 5 hostIP string, 16 hostIPs []HostIP, 6 podIP string, 12 podIPs []PodIP, 7 startTime time, 10 initContainerStatuses []ContainerStatus, 8 containerStatuses []ContainerStatus, 9 qosClass string, 13 ephemeralContainerStatuses []ContainerStatus, 14 resize string, 15 resourceClaimStatuses []PodResourceClaimStatus, 18 extendedResourceClaimStatus PodExtendedResourceClaimStatus, 19 allocatedResources quantityMap, 20 resources ResourceRequirements, 21 nodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus',
  PodCondition:
    '1 type string, 7 observedGeneration int, 2 status string, 3 lastProbeTime time, 4 lastTransitionTime time, 5 reason string, 6 message string',
  HostIP: '1 ip string',
  PodIP: '1 ip string',
  ContainerStatus:
    '1 name string, 2 state ContainerState, 3 lastState ContainerState, 4 ready bool!, 5 restartCount int!, 6 image string, 7 imageID string, 8 containerID string, 9 started bool!, 10 allocatedResources quantityMap, 11 resources ResourceRequirements, 12 volumeMounts []VolumeMountStatus, 13 user ContainerUser, 14 allocatedResourcesStatus []ResourceStatus, 15 stopSignal string!',
  ContainerState:
    '1 waiting ContainerStateWaiting, 2 running ContainerStateRunning, 3 terminated ContainerStateTerminated',
  ContainerStateWaiting: '1 reason string, 2 message string',
  ContainerStateRunning: '1 startedAt time',
  ContainerStateTerminated:
    '1 exitCode int!, 2 signal int, 3 reason string, 4 message string, 5 startedAt time, 6 finishedAt time, 7 containerID string',
  VolumeMountStatus:
    '1 name string, 2 mountPath string, 3 readOnly bool, 4 recursiveReadOnly string!, 5 volumeStatus VolumeStatus',
  VolumeStatus: '1 image ImageVolumeStatus',
  ImageVolumeStatus: '1 imageRef string',
  ContainerUser: '1 linux LinuxContainerUser',
  LinuxContainerUser: '1 uid int!, 2 gid int!, 3 supplementalGroups ints',
  ResourceStatus: '1 name string, 2 resources []ResourceHealth',
  ResourceHealth: '1 resourceID string, 2 health string, 6 message string!',
  PodResourceClaimStatus: '1 name string, 2 resourceClaimName string!',
  PodExtendedResourceClaimStatus: '1 requestMappings []ContainerExtendedResourceRequest, 2 resourceClaimName string',
  ContainerExtendedResourceRequest: '1 containerName string, 2 resourceName string, 3 requestName string',
  NodeAllocatableResourceClaimStatus: '1 resourceClaimName string, 2 containers strings, 3 resources quantityMap',
  Event:
    '1 metadata ObjectMeta, 2 involvedObject ObjectReference, 3 reason string, 4 message string, 5 source EventSource, 6 firstTimestamp time, 7 lastTimestamp time, 8 count int, 9 type string, 10 eventTime microTime, 11 series EventSeries, 12 action string, 13 related ObjectReference, 14 reportingComponent string, 15 reportingInstance string',
  ObjectReference:
    '1 kind string, 2 namespace string, 3 name string, 4 uid string, 5 apiVersion string, 6 resourceVersion string, 7 fieldPath string',
  EventSource: '1 component string, 2 host string',
  EventSeries: '1 count int, 2 lastObservedTime microTime',
  Binding: '1 metadata ObjectMeta, 2 target ObjectReference',
};
