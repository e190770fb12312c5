/**
 * The embedded cluster: a Kubernetes API server in this process, with a scheduler and a kubelet as its clients.
 *
 * It promises that a client cannot tell it from a real one by what it reads over the pod and Event APIs, and that
 * `stop` leaves no process, timer, socket or folder behind. It isolates nothing: see the `process` back-end.
 */

export type { TokenUser } from './api/access.ts';
export type { RequestFilter, RequestLog, RequestRecord } from './api/request-log.ts';
export { labImages, labLives } from './backend/lab.ts';
export type { PlaceholderImage } from './backend/placeholders.ts';
export type {
  ImageScript,
  LifeMatch,
  LifeScript,
  MatchedLife,
  OutputScript,
  Played,
  PullScript,
  TermScript,
} from './backend/script.ts';
export { startCluster } from './cluster.ts';
export type { FaultControl } from './faults/control.ts';
export type { ClusterFault, Fault, FaultMatch, FaultRule } from './faults/rules.ts';
export { parseFaultRules } from './faults/rules.ts';
export type { NodeControl } from './node-control.ts';
export type { ClusterOptions, EmbeddedCluster } from './options.ts';
export type { ProfileName } from './profile.ts';
export { profileNames } from './profile.ts';
export type { Timings } from './timings.ts';
export type { TlsFiles } from './tls.ts';
export type { ApiRequest, ApiResponse, Transport } from './transport.ts';
export { passTime, passTimeUntil, settled } from './virtual-time.ts';
