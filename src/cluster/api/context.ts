/** What every handler of the API server is given. */
import type { Logger } from '../../logger.ts';
import type { ApiRequest } from '../transport.ts';
import type { PodObject } from '../types.ts';
import type { User } from './access.ts';
import type { RequestInfo } from './request-info.ts';
import type { ResourceDefinition } from './resources.ts';
import type { StrategyContext } from './strategy.ts';

/** The kubelet's own server, as far as the API server asks it. */
export interface NodeApi {
  containerLogs(pod: PodObject, container: string, options: LogOptions, signal: AbortSignal): Promise<LogAnswer>;
}

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly sinceSeconds?: number;
  /** Milliseconds since the epoch. */
  readonly sinceTime?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
}

export type LogAnswer =
  | { readonly kind: 'stream'; readonly body: AsyncIterable<Uint8Array> }
  /** Refused before the first byte: the API server passes it on as a 400. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The node does not know the pod. */
  | { readonly kind: 'unknownPod' };

export interface ServerContext extends StrategyContext {
  readonly logger: Logger;
  /** The kubelet of a node; undefined when it cannot be reached. */
  readonly nodeApi: (nodeName: string) => NodeApi | undefined;
  /** Why the nodes' back-end could never run this pod; undefined when it can. */
  readonly refusePod: (pod: PodObject) => string | undefined;
}

/** One request for a resource that is served, by a user who may. */
export interface Call {
  readonly context: ServerContext;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly definition: ResourceDefinition;
  readonly user: User;
  /** Texts for `Warning` headers of the answer. */
  readonly warnings: string[];
}

/** `namespace/name`, or the name of what has no namespace. */
export function keyOf(definition: ResourceDefinition, namespace: string | undefined, name: string): string {
  return definition.namespaced ? `${namespace ?? ''}/${name}` : name;
}

/** All keys of the namespace asked for begin with it. */
export function prefixOf({ definition, info }: Pick<Call, 'definition' | 'info'>): string {
  return definition.namespaced && info.namespace !== undefined ? `${info.namespace}/` : '';
}
