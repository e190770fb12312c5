/** What a cluster is started with, and what is given back. */
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { TokenUser } from './api/access.ts';
import type { RequestLog } from './api/request-log.ts';
import type { PlaceholderImage } from './backend/placeholders.ts';
import type { ImageScript, MatchedLife, Played } from './backend/script.ts';
import type { FaultControl } from './faults/control.ts';
import type { FaultRule } from './faults/rules.ts';
import type { ContainerdVersion } from './kubelet/node.ts';
import type { NodeControl } from './node-control.ts';
import type { ProfileName } from './profile.ts';
import type { Timings } from './timings.ts';
import type { TlsFiles } from './tls.ts';
import type { Transport } from './transport.ts';

export interface ClusterOptions {
  /** `process` (default) runs steps as local processes, unisolated; `scripted` plays lives given as data. */
  readonly backend?: 'process' | 'scripted';
  /** The Kubernetes version to stand for. Default 1.36. */
  readonly profile?: ProfileName;
  /**
   * `http` (default), or `memory`: no port, no file, requests are calls of `transport`. With a virtual clock only
   * `memory` gives the same bytes for the same seed.
   */
  readonly transport?: 'http' | 'memory';
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. Anyone who can reach it can run commands as this user. */
  readonly host?: string;
  /** Images known as placeholders, besides `registry.k8s.io/pause` and those of the lab. */
  readonly placeholders?: readonly PlaceholderImage[];
  /** `process` only: images whose pull fails, and with which text. */
  readonly missingImages?: Readonly<Record<string, string>>;
  /** `process` only: the PATH of steps. Default: that of most images. */
  readonly path?: string;
  /** `scripted` only: images that can be pulled or are there, and what they do. The first match counts. */
  readonly images?: readonly ImageScript[];
  /** `scripted` only: what containers do, before the lives of their images. The first match counts. */
  readonly lives?: readonly MatchedLife[];
  /** `scripted` only: told what containers really do, as they do it. */
  readonly onPlayed?: (played: Played) => void;
  /** Namespaces made at the start, besides `default` and `kube-system`. */
  readonly namespaces?: readonly string[];
  /** With any token given, requests need one; a user without rights in Roles may do nothing. */
  readonly tokens?: readonly TokenUser[];
  /**
   * Serves HTTPS. Clients built on client-go, kubectl among them, send tokens over nothing else. The certificate must
   * name the host; without an authority, clients are told not to verify it.
   */
  readonly tls?: TlsFiles;
  /** In force from the start. */
  readonly faults?: readonly FaultRule[];
  readonly nodeName?: string;
  /** The container runtime to stand for, where it shows. Default 1.6. */
  readonly containerd?: ContainerdVersion;
  /** What the node offers. Default 64 CPUs, 256Gi. */
  readonly nodeCapacity?: { readonly cpu: string; readonly memory: string };
  /** Those that differ from the back-end's own. */
  readonly timings?: Partial<Timings>;
  /** The source of all chance: names, jitter, order of kills. */
  readonly seed?: number;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Called once for each thing a user should know, e.g. that steps run unisolated. Also kept in `warnings`. */
  readonly onWarning?: (message: string) => void;
}

export interface EmbeddedCluster {
  /** `http://127.0.0.1:PORT`, or `https:`; `memory:` for a cluster in memory. */
  readonly url: string;
  /** The path of a kubeconfig file for it; removed by `stop`. Empty for a cluster in memory. */
  readonly kubeConfig: string;
  /** Requests as calls, past HTTP. */
  readonly transport: Transport;
  readonly node: NodeControl;
  /** Lets things go wrong; also over HTTP, at `/podwright/faults`. */
  readonly faults: FaultControl;
  /** Every request, the scheduler's and the kubelet's (user agents `podwright-cluster/…`) among them. */
  readonly requests: RequestLog;
  readonly warnings: readonly string[];
  /** Forgets old revisions: watches and lists from before now get 410. */
  compact(): void;
  /** Breaks every open connection, as a proxy that is restarted does. */
  dropConnections(): void;
  /** The server goes down: streams end, requests are refused. */
  stopApiServer(): void;
  /** It comes back with its state, and with watch caches that begin now. */
  startApiServer(): void;
  /**
   * Kills what still runs and leaves nothing behind. Idempotent. Rejects with ERR_PODWRIGHT_ASSERTION, when all that is
   * done, if the cluster has shown of a pod what no real one shows: nothing that was seen on it is worth anything then.
   */
  stop(): Promise<void>;
}
