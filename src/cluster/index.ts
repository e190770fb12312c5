/**
 * The embedded cluster: a Kubernetes API server in this process, with a scheduler and a kubelet as its clients.
 *
 * It promises that a client cannot tell it from a real one by what it reads over the pod and Event APIs, and that
 * `stop` leaves no process, timer, socket or folder behind. It isolates nothing: see the `process` back-end.
 */

export type { TokenUser } from './api/access.ts';
export type { RequestFilter, RequestLog, RequestRecord } from './api/request-log.ts';
export type { PlaceholderImage } from './backend/placeholders.ts';
export type { ClusterOptions, EmbeddedCluster } from './cluster.ts';
export { startCluster } from './cluster.ts';
export type { ProfileName } from './profile.ts';
export { profileNames } from './profile.ts';
