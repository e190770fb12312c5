/** What the API server fills into a pod on create (k8s `pkg/apis/core/v1/defaults.go` and its admission plugins). */
import type { Container, PodObject, PodSpec, Toleration, Volume } from '../../types.ts';
import type { StrategyContext } from '../strategy.ts';

const tokenMountPath = '/var/run/secrets/kubernetes.io/serviceaccount';

export function applyPodDefaults({ spec }: PodObject, { profile, random }: StrategyContext): void {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  mountToken(spec, containers, random.suffix());
  for (const container of containers) {
    applyContainerDefaults(container);
    if (profile.restartRules) continue;
    delete container.restartPolicyRules;
    if (spec.containers.includes(container)) delete container.restartPolicy;
  }
  for (const volume of spec.volumes ?? []) applyVolumeDefaults(volume);
  spec.restartPolicy ??= 'Always';
  spec.terminationGracePeriodSeconds ??= 30;
  // A negative grace counts as the shortest there is.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  setMissing(spec, {
    dnsPolicy: 'ClusterFirst',
    serviceAccountName: 'default',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
  spec['serviceAccount'] = spec['serviceAccountName'];
  spec.tolerations = [...(spec.tolerations ?? []), ...missingTolerations(spec.tolerations ?? [])];
}

function applyContainerDefaults(container: Container): void {
  container.resources ??= {};
  const { limits, requests } = container.resources;
  if (limits !== undefined) container.resources.requests = { ...limits, ...requests };
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  container.imagePullPolicy ??= defaultPullPolicy(container.image);
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef !== undefined) setMissing(valueFrom.fieldRef, { apiVersion: 'v1' });
  }
  for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
    if (probe !== undefined) setMissing(probe, probeDefaults);
  }
  const { postStart, preStop } = container.lifecycle ?? {};
  for (const handler of [
    container.startupProbe,
    container.livenessProbe,
    container.readinessProbe,
    postStart,
    preStop,
  ]) {
    if (handler?.httpGet !== undefined) setMissing(handler.httpGet, { path: '/', scheme: 'HTTP' });
  }
  const { ['ports']: ports } = container as { ports?: Record<string, unknown>[] };
  for (const port of ports ?? []) setMissing(port, { protocol: 'TCP' });
}

const probeDefaults = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

/** By the tag of the image given at create; an image patched in later does not change it. */
function defaultPullPolicy(image = ''): 'Always' | 'IfNotPresent' {
  if (image.includes('@')) return 'IfNotPresent';
  const tag = image.slice(image.lastIndexOf('/') + 1).split(':')[1];
  return tag === undefined || tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function applyVolumeDefaults(volume: Volume): void {
  if (Object.keys(volume).length === 1) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap]) if (source !== undefined) source.defaultMode ??= 0o644;
}

function mountToken(spec: PodSpec, containers: readonly Container[], suffix: string): void {
  if (spec['automountServiceAccountToken'] === false) return;
  const bare = containers.filter((one) => !one.volumeMounts?.some(({ mountPath }) => mountPath === tokenMountPath));
  if (bare.length === 0) return;
  const name = `kube-api-access-${suffix}`;
  const sources = [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
    },
  ];
  spec.volumes = [...(spec.volumes ?? []), { name, projected: { sources, defaultMode: 0o644 } }];
  for (const container of bare) {
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: tokenMountPath }];
  }
}

/** A pod stays five minutes on a node that is lost, unless it says otherwise. */
function missingTolerations(own: readonly Toleration[]): Toleration[] {
  const keys = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'];
  const covers = (toleration: Toleration, key: string): boolean =>
    (toleration.key === key || (toleration.key === undefined && toleration.operator === 'Exists')) &&
    (toleration.effect === undefined || toleration.effect === 'NoExecute');
  return keys
    .filter((key) => !own.some((toleration) => covers(toleration, key)))
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
}

function setMissing(target: object, values: Readonly<Record<string, unknown>>): void {
  const record = target as Record<string, unknown>;
  for (const [key, value] of Object.entries(values)) record[key] ??= value;
}
