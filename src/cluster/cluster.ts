/** Puts the embedded cluster together, and takes it apart again. */
import type { Clock } from '../clock.ts';
import { PodwrightError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { RequestLog } from './api/request-log.ts';
import type { ProfileName } from './profile.ts';

/** An image that only waits until its container is switched to another image. */
export interface PlaceholderImage {
  /** A reference as in the pod's spec. A trailing `*` stands for any tag or digest. */
  readonly image: string;
  /** The exit code on SIGTERM. Default 0. */
  readonly exitCode?: number;
}

export interface ClusterOptions {
  /** `process` (default) runs steps as local processes, unisolated; `scripted` plays lives given as data. */
  readonly backend?: 'process' | 'scripted';
  /** The Kubernetes version to stand for. Default 1.36. */
  readonly profile?: ProfileName;
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. Anyone who can reach it can run commands as this user. */
  readonly host?: string;
  /** Images known as placeholders, besides `registry.k8s.io/pause:*` and those of the lab. */
  readonly placeholders?: readonly PlaceholderImage[];
  /** Namespaces made at the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  readonly nodeName?: string;
  /** The source of all chance: names, jitter, order of kills. */
  readonly seed?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called once for each thing a user should know, e.g. that steps run unisolated. Also kept in `warnings`. */
  readonly onWarning?: (message: string) => void;
}

export interface EmbeddedCluster {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  /** The path of a kubeconfig file for it; removed by `stop`. */
  readonly kubeConfig: string;
  /** Every request, the scheduler's and the kubelet's (user agents `podwright-cluster/…`) among them. */
  readonly requests: RequestLog;
  readonly warnings: readonly string[];
  /** Kills what still runs and leaves nothing behind. Idempotent. */
  stop(): Promise<void>;
}

/** Starts a cluster that is ready: its node is there, its namespaces exist, creates are scheduled. */
export async function startCluster(_options: ClusterOptions = {}): Promise<EmbeddedCluster> {
  throw new PodwrightError('ERR_PODWRIGHT_STATE', 'the embedded cluster is not built yet');
}
