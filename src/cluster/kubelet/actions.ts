/** What a sync has to do to bring a pod's containers to its spec (k8s `computePodActions`). */
import type { Container, PodObject } from '../types.ts';
import type { ProbeKind } from './prober.ts';
import { isSidecar, restartsOn, shouldRestart } from './restart.ts';
import type { InstanceView, Sandbox } from './runtime.ts';
import type { StatusInput } from './status-input.ts';

/** With which one ends that is killed. */
const killedCode = 137;

export interface Actions {
  readonly createSandbox: boolean;
  /** Stop everything: nothing of the pod is to go on. */
  readonly killPod: boolean;
  /** Running with another image than the spec names, or found ill by a probe. */
  readonly kill: readonly Replaced[];
  /** In spec order. */
  readonly start: readonly Container[];
}

export interface Replaced {
  readonly container: Container;
  /** The probe that failed; undefined when it is the image that changed. */
  readonly failed: ProbeKind | undefined;
  readonly restarts: boolean;
}

const nothing: Actions = { createSandbox: false, killPod: false, kill: [], start: [] };

export function computeActions(
  pod: PodObject,
  instances: readonly InstanceView[],
  sandbox: Sandbox | undefined,
  health: StatusInput['health'],
): Actions {
  const newest = (name: string): InstanceView | undefined => instances.filter((one) => one.name === name).at(-1);
  const { containers, initContainers = [] } = pod.spec;
  const createSandbox = sandbox === undefined;
  if (sandbox?.ready === false) return replaceSandbox(pod, instances, newest);
  // What ran in another sandbox has not prepared this one.
  const newestHere = (name: string): InstanceView | undefined =>
    instances.filter((one) => one.name === name && one.sandbox === sandbox).at(-1);
  const started = containers.some(({ name }) => newestHere(name) !== undefined);
  const init = started ? { open: false, start: [] } : nextInit(pod, initContainers, newestHere);
  const replaced = (container: Container): Replaced | undefined =>
    replacement(pod, container, newest(container.name), health);
  const sidecars = initContainers.filter((one) => isSidecar(pod, one)).flatMap((one) => replaced(one) ?? []);
  if (init.open) return { createSandbox, killPod: false, kill: [], start: init.start };
  const kill = containers.flatMap((one) => replaced(one) ?? []);
  const killed = (container: Container): Replaced | undefined => kill.find((one) => one.container === container);
  const start = containers.filter((one) => killed(one)?.restarts ?? shouldRestart(pod, one, newest(one.name)));
  const kept = containers.filter((one) => newest(one.name)?.state === 'running' && killed(one) === undefined);
  if (start.length === 0 && kept.length === 0) return { ...nothing, killPod: true };
  const again = sidecars.filter(({ restarts }) => restarts).map(({ container }) => container);
  return { createSandbox, killPod: false, kill: [...kill, ...sidecars], start: [...again, ...start] };
}

/** With its sandbox a pod loses everything: what may go on begins anew, init containers first. */
function replaceSandbox(
  pod: PodObject,
  instances: readonly InstanceView[],
  newest: (name: string) => InstanceView | undefined,
): Actions {
  const { containers, initContainers = [], restartPolicy } = pod.spec;
  if (instances.length > 0 && restartPolicy === 'Never') return { ...nothing, killPod: true };
  const succeeded = ({ name }: Container): boolean => newest(name)?.state === 'exited' && newest(name)?.exitCode === 0;
  const open = containers.filter((one) => restartPolicy === 'Always' || !succeeded(one));
  if (open.length === 0) return { ...nothing, killPod: true };
  const [firstInit] = initContainers;
  return { ...nothing, createSandbox: true, start: firstInit === undefined ? open : [firstInit] };
}

function replacement(
  pod: PodObject,
  container: Container,
  newest: InstanceView | undefined,
  health: StatusInput['health'],
): Replaced | undefined {
  // An image patched in counts whatever the restart policy says.
  if (isChanged(container, newest)) return { container, failed: undefined, restarts: true };
  const failed = newest?.state === 'running' ? health(container, newest).failed : undefined;
  return failed === undefined ? undefined : { container, failed, restarts: restartsOn(pod, container, killedCode) };
}

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
