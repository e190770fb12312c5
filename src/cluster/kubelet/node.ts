/** The Node object as the kubelet registers and refreshes it. */
import type { Profile } from '../profile.ts';
import { timestamp } from '../times.ts';

/** Those that were recorded. */
export type ContainerdVersion = '1.6' | '2.2';

const containerdReleases: Readonly<Record<ContainerdVersion, string>> = { '1.6': '1.6.20', '2.2': '2.2.9' };

export interface NodeDescription {
  readonly name: string;
  /** Told as hostIP; nothing listens there. */
  readonly address: string;
  readonly cpu: string;
  readonly memory: string;
  readonly 'ephemeral-storage': string;
  readonly containerd: ContainerdVersion;
}

export function nodeObject(node: NodeDescription, profile: Profile, now: number): Record<string, unknown> {
  const amounts = { cpu: node.cpu, memory: node.memory, pods: '110', 'ephemeral-storage': node['ephemeral-storage'] };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      name: node.name,
      labels: {
        'kubernetes.io/hostname': node.name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
      },
    },
    spec: {},
    status: {
      capacity: amounts,
      allocatable: amounts,
      conditions: [readyCondition(true, now)],
      addresses: [
        { type: 'InternalIP', address: node.address },
        { type: 'Hostname', address: node.name },
      ],
      nodeInfo: {
        kubeletVersion: profile.gitVersion,
        containerRuntimeVersion: `containerd://${containerdReleases[node.containerd]}`,
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  };
}

export function readyCondition(ready: boolean, now: number): Record<string, unknown> {
  return {
    type: 'Ready',
    status: ready ? 'True' : 'Unknown',
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: timestamp(now),
    reason: ready ? 'KubeletReady' : 'NodeStatusUnknown',
    message: ready ? 'kubelet is posting ready status' : 'Kubelet stopped posting node status.',
  };
}
