/**
 * Every text that the scheduler and the kubelet write, as measured on real clusters (kubernetes.md §1 and the
 * recordings). Nothing else in the cluster spells out what Kubernetes says.
 */
import type { ExecResult, NetworkRequest } from './backend/backend.ts';
import type { Profile } from './profile.ts';
import type { Handler } from './types.ts';

const networkAddress = ({ host = '127.0.0.1', port }: NetworkRequest): string => `${host}:${port}`;

export function networkTarget(request: NetworkRequest): string {
  const { scheme = 'HTTP', path = '/' } = request;
  return `${scheme.toLowerCase()}://${networkAddress(request)}${path.startsWith('/') ? path : `/${path}`}`;
}

/** Longer outputs are cut in Events. */
const probeOutputMax = 1024;

const goList = (values: readonly string[]): string => `[${values.join(' ')}]`;
const quoted = (value: string): string => JSON.stringify(value);

export const texts = {
  scheduled: (pod: string, node: string): string => `Successfully assigned ${pod} to ${node}`,
  /** `more`: what else was tried, and did not help. */
  unschedulable(nodes: number, reasons: ReadonlyMap<string, number>, more: string): string {
    if (nodes === 0) return 'no nodes available to schedule pods';
    const list = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
    return `0/${nodes} nodes are available: ${list.join(', ')}.${more === '' ? '' : ` ${more}`}`;
  },
  noClaims: 'no new claims to deallocate, ',
  /** `crowded` of the nodes have no room because of pods that are as important. */
  noPreemption(nodes: number, crowded: number): string {
    const list = [
      ...(crowded > 0 ? [`${crowded} No preemption victims found for incoming pod`] : []),
      ...(nodes > crowded ? [`${nodes - crowded} Preemption is not helpful for scheduling`] : []),
    ];
    return `preemption: 0/${nodes} nodes are available: ${list.join(', ')}.`;
  },
  neverPreempts: 'preemption: not eligible due to preemptionPolicy=Never.',
  preempting: 'default-scheduler: preempting to accommodate a higher priority pod',
  preempted: (preemptorUid: string, node: string): string => `Preempted by pod ${preemptorUid} on node ${node}`,

  pulling: (image: string): string => `Pulling image ${quoted(image)}`,
  pulled: (image: string, took: string, whole: string, bytes: number): string =>
    `Successfully pulled image ${quoted(image)} in ${took} (${whole} including waiting). Image size: ${bytes} bytes.`,
  present: (image: string, { pulledAccessText }: Profile): string =>
    `Container image ${quoted(image)} already present on machine${pulledAccessText ? ' and can be accessed by the pod' : ''}`,
  pullFailed: (image: string, why: string): string => `Failed to pull image ${quoted(image)}: ${why}`,
  pullBackOff: (image: string): string => `Back-off pulling image ${quoted(image)}`,
  neverPull: (image: string): string => `Container image ${quoted(image)} is not present with pull policy of Never`,
  invalidName: (image: string, why: string): string =>
    `Failed to apply default image tag ${quoted(image)}: couldn't parse image name ${quoted(image)}: ${why}`,
  inspectFailed: (why: string): string => `Failed to inspect image "": ${why}`,
  error: (reason: string): string => `Error: ${reason}`,

  created: (container: string, { namelessEvents }: Profile): string =>
    namelessEvents ? 'Container created' : `Created container: ${container}`,
  started: (container: string, { namelessEvents }: Profile): string =>
    namelessEvents ? 'Container started' : `Started container ${container}`,
  stopping: (container: string): string => `Stopping container ${container}`,
  definitionChanged: (container: string): string => `Container ${container} definition changed, will be restarted`,
  crashBackOffEvent: (container: string, pod: string, namespace: string, uid: string): string =>
    `Back-off restarting failed container ${container} in pod ${pod}_${namespace}(${uid})`,
  crashBackOff: (seconds: number, container: string, pod: string, namespace: string, uid: string): string =>
    `back-off ${goSeconds(seconds)} restarting failed container=${container} pod=${pod}_${namespace}(${uid})`,
  postStartFailed: 'PostStartHook failed',
  postStartKill: 'FailedPostStartHook',
  preStopFailed: 'PreStopHook failed',
  hookFailed({ exec, httpGet }: Handler, container: string, pod: string, failure: ExecResult): string {
    const { command = [] } = exec ?? {};
    const [kind, what] = exec === undefined ? ['HTTP', httpGet?.path ?? '/'] : ['Exec', goList(command)];
    const where = `${kind} lifecycle hook (${what}) for Container ${quoted(container)} in Pod ${quoted(pod)}`;
    if (exec === undefined) return `${where} failed - error: ${failure.output}, message: ""`;
    const why = `command '${command.join(' ')}' exited with ${failure.exitCode}: ${failure.output}`;
    return `${where} failed - error: ${why}, message: ${quoted(failure.output)}`;
  },
  networkRefused(request: NetworkRequest): string {
    const dial = `dial tcp ${networkAddress(request)}: connect: connection refused`;
    return request.kind === 'tcpSocket' ? dial : `Get ${quoted(networkTarget(request))}: ${dial}`;
  },
  networkTimedOut: (request: NetworkRequest): string =>
    request.kind === 'tcpSocket'
      ? `dial tcp ${networkAddress(request)}: i/o timeout`
      : `Get ${quoted(networkTarget(request))}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  httpProbeFailed: (status: number): string => `HTTP probe failed with statuscode: ${status}`,
  probeFailed: (kind: string, output: string): string =>
    `${kind.charAt(0).toUpperCase()}${kind.slice(1)} probe failed: ${output.slice(0, probeOutputMax)}`,
  commandTimedOut: (command: readonly string[]): string => `command ${quoted(command.join(' '))} timed out`,
  unhealthy: (container: string, kind: string, restarts: boolean): string =>
    `Container ${container} failed ${kind} probe${restarts ? ', will be restarted' : ''}`,
  secretNotFound: (name: string): string => `secret ${quoted(name)} not found`,
  configMapNotFound: (name: string): string => `configmap ${quoted(name)} not found`,
  noSecretKey: (key: string, place: string): string => `couldn't find key ${key} in Secret ${place}`,
  noConfigMapKey: (key: string, place: string): string => `couldn't find key ${key} in ConfigMap ${place}`,
  mountFailed: (volume: string, why: string): string =>
    `MountVolume.SetUp failed for volume ${quoted(volume)} : ${why}`,
  mountTimeout: (volume: string): string =>
    `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[]: timed out waiting for the condition`,
  noKeyToMount: (kind: 'Secret' | 'ConfigMap', key: string): string =>
    `references non-existent ${kind === 'Secret' ? 'secret' : 'config'} key: ${key}`,
  sandboxChanged: 'Pod sandbox changed, it will be killed and re-created.',

  statusUnknownDeleted:
    'The container could not be located when the pod was deleted.  The container used to be Running',
  statusUnknownTerminated: 'The container could not be located when the pod was terminated',
  deadlineExceeded: 'Pod was active on the node longer than the specified deadline',
  nodeShutdown: 'Pod was terminated in response to imminent node shutdown.',
  podRejected: (why: string): string => `Pod was rejected: ${why}`,
  outOf: (resource: string, requested: number, used: number, capacity: number): string =>
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  emptyDirEvicted: (volume: string, limit: string): string =>
    `Usage of EmptyDir volume ${quoted(volume)} exceeds the limit ${quoted(limit)}. `,
  storageEvicted: (container: string, limit: string): string =>
    `Container ${container} exceeded its local ephemeral storage limit ${quoted(limit)}. `,
  admissionFailed: 'Allocate failed due to no devices left that are healthy, which is unexpected',
  sandboxFailed: (why: string): string => `Failed to create pod sandbox: ${why}`,
  noSandboxNetwork:
    'rpc error: code = Unknown desc = failed to setup network for sandbox: plugin type="bridge" failed (add): no IP addresses available in range set',
  nodeNotReady: 'Node is not ready',
  sandboxNotReadyReason: 'PodSandboxNotReady',
  noSandbox: 'no pod sandbox exists',
  sandboxNotReady: 'pod sandbox is not ready',
  taintDeletion: 'Taint manager: deleting due to NoExecute taint',
  markedForDeletion: (pod: string): string => `Marking for deletion Pod ${pod}`,

  waitingToStart: (container: string, pod: string, why: string): string =>
    `container ${quoted(container)} in pod ${quoted(pod)} is waiting to start: ${why}`,
  noLogsYet: (container: string, pod: string): string =>
    `container ${quoted(container)} in pod ${quoted(pod)} is waiting to start - no logs yet`,
  noPreviousLogs: (container: string, pod: string): string =>
    `previous terminated container ${quoted(container)} in pod ${quoted(pod)} not found`,
  noLogsTerminated: (container: string, pod: string): string =>
    `container ${quoted(container)} in pod ${quoted(pod)} is terminated`,
  noLogs: (container: string, pod: string): string =>
    `container ${quoted(container)} in pod ${quoted(pod)} is not available`,
  logsGone: (id: string): string => `unable to retrieve container logs for ${id}`,
} as const;

/** As Go prints a duration of whole seconds. */
function goSeconds(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds % 60}s`;
}

/** As Go prints a duration rounded to milliseconds. */
export function goDuration(ms: number): string {
  const rounded = Math.round(ms);
  if (rounded < 1_000) return `${rounded}ms`;
  const seconds = rounded / 1_000;
  const minutes = Math.floor(seconds / 60);
  const rest = Number((seconds - minutes * 60).toFixed(3));
  return minutes === 0 ? `${rest}s` : `${minutes}m${rest}s`;
}
