/** What of a stored pod's status may still change (k8s `ValidatePodStatusUpdate`). */
import type { Container, ContainerStatus, PodObject } from '../../types.ts';
import { type FieldError, fieldError } from '../status.ts';

export function validateStatusUpdate(next: PodObject, old: PodObject): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (next.status.qosClass !== old.status.qosClass) {
    errors.push(fieldError.invalid('status.qosClass', next.status.qosClass, 'field is immutable'));
  }
  for (const list of ['containerStatuses', 'initContainerStatuses'] as const) {
    errors.push(...transitionErrors(old, next.status[list] ?? [], old.status[list] ?? [], `status.${list}`));
  }
  return errors;
}

function transitionErrors(
  pod: PodObject,
  next: readonly ContainerStatus[],
  old: readonly ContainerStatus[],
  path: string,
): FieldError[] {
  return old.flatMap(({ name, state }, at) => {
    if (state.terminated === undefined || !isFinalEnd(pod, name, state.terminated.exitCode)) return [];
    if (next.every((status) => status.name !== name || status.state.terminated !== undefined)) return [];
    return [fieldError.forbidden(`${path}[${at}].state`, 'may not be transitioned to non-terminated state')];
  });
}

/** Whether neither the pod's policy nor the container's own lets it start again after it ended so. */
export function isFinalEnd({ spec }: PodObject, name: string, exitCode: number): boolean {
  const container = [...spec.containers, ...(spec.initContainers ?? [])].find((one) => one.name === name);
  if (container !== undefined && restartsByRule(container, exitCode)) return false;
  const policy = container?.restartPolicy ?? spec.restartPolicy;
  return policy === 'Never' || (policy === 'OnFailure' && exitCode === 0);
}

function restartsByRule({ restartPolicyRules = [] }: Container, exitCode: number): boolean {
  return restartPolicyRules.some(({ exitCodes }) => {
    if (exitCodes === undefined) return false;
    const isListed = exitCodes.values?.includes(exitCode) === true;
    return exitCodes.operator === 'NotIn' ? !isListed : isListed;
  });
}
