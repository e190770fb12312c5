/** Whether the kubelet would start a container again (k8s `ShouldContainerBeRestarted` and the restart rules). */
import type { Container, PodObject } from '../types.ts';
import type { InstanceView } from './runtime.ts';

/** With no record of an earlier try the answer is yes, whatever the policy. */
export function shouldRestart(pod: PodObject, container: Container, newest: InstanceView | undefined): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false;
  if (newest === undefined) return true;
  if (newest.state === 'running') return false;
  // Made but never started, or in a state the runtime cannot tell.
  if (newest.state === 'created') return true;
  return restartsOn(pod, container, newest.exitCode);
}

/** What the container's rules, its own policy and the pod's policy say about an exit code. */
export function restartsOn(pod: PodObject, container: Container, exitCode: number): boolean {
  for (const { action, exitCodes } of container.restartPolicyRules ?? []) {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    const matches = exitCodes !== undefined && (exitCodes.operator === 'NotIn' ? !listed : listed);
    if (matches && action === 'Restart') return true;
  }
  switch (container.restartPolicy ?? pod.spec.restartPolicy) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
  }
}

/** An init container that goes on beside the main ones. */
export function isSidecar(pod: PodObject, container: Container): boolean {
  return container.restartPolicy === 'Always' && (pod.spec.initContainers?.includes(container) ?? false);
}
