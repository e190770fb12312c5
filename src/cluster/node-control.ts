/** What can be done to the node from outside: everything that happens to nodes and to what runs on them. */
import type { Kubelet } from './kubelet/kubelet.ts';
import type { ContainerRuntime } from './kubelet/runtime.ts';
import { texts } from './texts.ts';

export interface NodeControl {
  /** As `kill -9` of the kubelet: containers go on, and nobody tells. */
  stopKubelet(): Promise<void>;
  /** A new kubelet: its counts, back-offs and reasons begin anew. */
  startKubelet(): Promise<void>;
  /** SIGKILL to a container of a pod from outside; false when it does not run. */
  killContainer(podUid: string, container: string): boolean;
  /** SIGKILL to the pod's sandbox. */
  killSandbox(podUid: string): boolean;
  /** The kubelet evicts the pod: phase Failed, reason Evicted. False when it does not know the pod. */
  evict(podUid: string, message: string): boolean;
  /** Graceful shutdown of the node: its pods end as Failed, reason Terminated. */
  shutDown(): void;
  /** The machine goes down and comes back: what ran is lost. */
  reboot(): Promise<void>;
}

export interface NodeControlOptions {
  readonly runtime: ContainerRuntime;
  readonly kubelet: () => Kubelet | undefined;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const evictionGraceMs = 1_000;

export function nodeControl({ runtime, kubelet, start, stop }: NodeControlOptions): NodeControl {
  return {
    stopKubelet: stop,
    startKubelet: start,
    killContainer(podUid, container) {
      const running = runtime.list(podUid).find(({ name, state }) => name === container && state === 'running');
      if (running === undefined) return false;
      runtime.kill(running);
      return true;
    },
    killSandbox(podUid) {
      const sandbox = runtime.sandbox(podUid);
      if (sandbox?.ready !== true) return false;
      sandbox.ready = false;
      return true;
    },
    evict: (podUid, message) => kubelet()?.endPod(podUid, 'Evicted', { ...evicted, message }, evictionGraceMs) ?? false,
    shutDown() {
      const verdict = { reason: 'Terminated', message: texts.nodeShutdown, disruption: 'TerminationByKubelet' };
      for (const uid of kubelet()?.podUids() ?? []) kubelet()?.shutDownPod(uid, verdict);
    },
    async reboot() {
      await stop();
      runtime.reboot();
      await start();
    },
  };
}

const evicted = { reason: 'Evicted', disruption: 'TerminationByKubelet' } as const;
