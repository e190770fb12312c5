/** What a sync has to do to bring a pod's containers to its spec (k8s `computePodActions`). */
import type { Container, PodObject } from '../types.ts';
import { isSidecar, shouldRestart } from './restart.ts';
import type { InstanceView, Sandbox } from './runtime.ts';

export interface Actions {
  readonly createSandbox: boolean;
  /** Stop everything: nothing of the pod is to go on. */
  readonly killPod: boolean;
  /** Running with another image than the spec names. */
  readonly kill: readonly Container[];
  /** In spec order. */
  readonly start: readonly Container[];
}

const nothing: Actions = { createSandbox: false, killPod: false, kill: [], start: [] };

export function computeActions(
  pod: PodObject,
  instances: readonly InstanceView[],
  sandbox: Sandbox | undefined,
): Actions {
  const newest = (name: string): InstanceView | undefined => instances.filter((one) => one.name === name).at(-1);
  const { containers, initContainers = [] } = pod.spec;
  const createSandbox = sandbox === undefined;
  if (sandbox?.ready === false) {
    // A pod that may not restart does not survive its sandbox.
    if (instances.length > 0 && pod.spec.restartPolicy === 'Never') return { ...nothing, killPod: true };
    return { ...nothing, createSandbox: true, start: [...initContainers.slice(0, 1), ...containers].slice(0, 1) };
  }
  const started = containers.some(({ name }) => newest(name) !== undefined);
  const init = started ? { open: false, start: [] } : nextInit(pod, initContainers, newest);
  const sidecars = initContainers.filter((one) => isSidecar(pod, one) && isChanged(one, newest(one.name)));
  if (init.open) return { createSandbox, killPod: false, kill: [], start: init.start };
  const changed = containers.filter((container) => isChanged(container, newest(container.name)));
  const start = containers.filter(
    (container) => changed.includes(container) || shouldRestart(pod, container, newest(container.name)),
  );
  const kept = containers.filter(
    (container) => newest(container.name)?.state === 'running' && !changed.includes(container),
  );
  if (start.length === 0 && kept.length === 0) return { ...nothing, killPod: true };
  return { createSandbox, killPod: false, kill: [...changed, ...sidecars], start: [...sidecars, ...start] };
}

/** An image patched in counts whatever the restart policy says. */
function isChanged(container: Container, newest: InstanceView | undefined): boolean {
  return newest?.state === 'running' && newest.image !== container.image;
}

function nextInit(
  pod: PodObject,
  containers: readonly Container[],
  newest: (name: string) => InstanceView | undefined,
): { open: boolean; start: readonly Container[] } {
  for (const container of containers) {
    const last = newest(container.name);
    if (isSidecar(pod, container)) {
      if (last?.state === 'running') continue;
      return { open: true, start: [container] };
    }
    if (last?.state === 'exited' && last.exitCode === 0) continue;
    const restarts = shouldRestart(pod, container, last) && last?.state !== 'running';
    return { open: true, start: restarts ? [container] : [] };
  }
  return { open: false, start: [] };
}
