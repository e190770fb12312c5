/** All that a pod's status is made of. */
import type { Profile } from '../profile.ts';
import type { Container, PodObject, PodStatus } from '../types.ts';
import type { Health } from './prober.ts';
import type { InstanceView, Sandbox } from './runtime.ts';

/** Why the last try to start a container failed. */
export interface StartError {
  readonly reason: string;
  readonly message: string;
}

export interface StatusInput {
  readonly pod: PodObject;
  /** What the kubelet said last. */
  readonly old: PodStatus;
  readonly instances: readonly InstanceView[];
  readonly sandbox: Sandbox | undefined;
  /** Of the sandbox, as last seen. */
  readonly address: string | undefined;
  /** What probes say of an instance. */
  readonly health: (container: Container, instance: InstanceView) => Health;
  readonly startErrors: ReadonlyMap<string, StartError>;
  /** Nothing will be started any more. */
  readonly terminal: boolean;
  readonly startTime: number;
  readonly now: number;
  readonly hostIP: string;
  /** Tells as whom a container runs, as containerd 2 does. */
  readonly tellsUser: boolean;
  readonly profile: Profile;
  /** The pod is over its deadline: whatever its containers did, it failed. */
  readonly overDeadline: boolean;
}
