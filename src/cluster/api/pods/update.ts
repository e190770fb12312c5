/** What of a stored pod may still change (k8s `ValidatePodUpdate`). */
import { equal } from '../../json.ts';
import type { Profile } from '../../profile.ts';
import type { PodObject, PodSpec } from '../../types.ts';
import { metadataErrors } from '../names.ts';
import { type FieldError, fieldError } from '../status.ts';
import { deadlineErrors, imageErrors } from './validate.ts';

const mayChange = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

export function validatePodUpdate(next: PodObject, old: PodObject, profile: Profile): readonly FieldError[] {
  const errors = metadataErrors(next.metadata);
  if (!sameNames(next.spec.containers, old.spec.containers)) {
    return [...errors, fieldError.forbidden('spec.containers', 'pod updates may not add or remove containers')];
  }
  if (!sameNames(next.spec.initContainers, old.spec.initContainers)) {
    return [...errors, fieldError.forbidden('spec.initContainers', 'pod updates may not add or remove containers')];
  }
  const images = [...listImageErrors(next.spec, 'containers'), ...listImageErrors(next.spec, 'initContainers')];
  if (images.length > 0) return [...errors, ...images, ...(profile.doubledCauses ? images : [])];
  const outOfRange = deadlineErrors(next.spec);
  if (outOfRange.length > 0) return [...errors, ...outOfRange];
  errors.push(...deadlineChangeErrors(next.spec, old.spec));
  const changed = firstForbidden(next.spec, old.spec);
  if (changed !== undefined) {
    const difference = `\n-  "${changed.field}": ${changed.before}\n+  "${changed.field}": ${changed.after}\n`;
    errors.push(fieldError.forbidden('spec', `pod updates may not change fields other than ${mayChange}${difference}`));
  }
  return errors;
}

function sameNames(next: PodSpec['containers'] = [], old: PodSpec['containers'] = []): boolean {
  return next.length === old.length;
}

function listImageErrors(spec: PodSpec, list: 'containers' | 'initContainers'): FieldError[] {
  return (spec[list] ?? []).flatMap(({ image }, at) => imageErrors(image, `spec.${list}[${at}].image`));
}

function deadlineChangeErrors(next: PodSpec, old: PodSpec): FieldError[] {
  const path = 'spec.activeDeadlineSeconds';
  const after = next.activeDeadlineSeconds;
  const before = old.activeDeadlineSeconds;
  if (after === before || before === undefined) return [];
  if (after === undefined) {
    return [fieldError.invalid(path, null, 'must not update from a positive integer to nil value')];
  }
  return after <= before ? [] : [fieldError.invalid(path, after, 'must be less than or equal to previous value')];
}

interface Change {
  readonly field: string;
  readonly before: string;
  readonly after: string;
}

/** Compares with everything set back that may change. */
function firstForbidden(next: PodSpec, old: PodSpec): Change | undefined {
  const reset: PodSpec = {
    ...next,
    containers: withImagesOf(next.containers, old.containers),
    ...(next.initContainers && { initContainers: withImagesOf(next.initContainers, old.initContainers ?? []) }),
  };
  for (const field of ['activeDeadlineSeconds', ...tolerationsAdded(next, old), ...gatesRemoved(next, old)]) {
    if (old[field] === undefined) delete reset[field];
    else reset[field] = old[field];
  }
  const fields = new Set([...Object.keys(reset), ...Object.keys(old)]);
  for (const field of fields) {
    if (equal(reset[field], old[field])) continue;
    return { field, before: JSON.stringify(old[field] ?? null), after: JSON.stringify(reset[field] ?? null) };
  }
  return undefined;
}

function withImagesOf(next: PodSpec['containers'], old: PodSpec['containers']): PodSpec['containers'] {
  return next.map((container, at) => ({ ...container, image: old[at]?.image ?? container.image }));
}

function tolerationsAdded(next: PodSpec, old: PodSpec): string[] {
  const kept = (old.tolerations ?? []).every((one) => next.tolerations?.some((other) => equal(one, other)));
  return kept ? ['tolerations'] : [];
}

function gatesRemoved(next: PodSpec, old: PodSpec): string[] {
  const known = (next.schedulingGates ?? []).every((one) => old.schedulingGates?.some((other) => equal(one, other)));
  return known ? ['schedulingGates'] : [];
}
