/** What a pod must be to be accepted, in the words of Kubernetes (`pkg/apis/core/validation`). */
import type { Container, PodObject, PodSpec } from '../../types.ts';
import { dnsLabelText, isDnsLabel, metadataErrors } from '../names.ts';
import { type FieldError, fieldError } from '../status.ts';
import { handlerErrors } from './validate-handlers.ts';
import { resourceErrors } from './validate-resources.ts';

const { required, invalid, unsupported, duplicate, notFound, forbidden } = fieldError;

const restartPolicies = ['Always', 'OnFailure', 'Never'];
const pullPolicies = ['Always', 'IfNotPresent', 'Never'];
const ruleActions = ['Restart', 'RestartAllContainers'];

export function validatePod(pod: PodObject): readonly FieldError[] {
  const { spec } = pod;
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name));
  const names = new Set<string>();
  const errors = [...metadataErrors(pod.metadata), ...volumeErrors(spec)];
  for (const [at, container] of spec.containers.entries()) {
    errors.push(...containerErrors(container, `spec.containers[${at}]`, names, volumes));
  }
  for (const [at, container] of (spec.initContainers ?? []).entries()) {
    errors.push(...containerErrors(container, `spec.initContainers[${at}]`, names, volumes));
  }
  if (spec.containers.length === 0) errors.push(required('spec.containers'));
  return [...errors, ...specErrors(spec)];
}

function specErrors(spec: PodSpec): FieldError[] {
  const errors: FieldError[] = [];
  if (!restartPolicies.includes(spec.restartPolicy)) {
    errors.push(unsupported('spec.restartPolicy', spec.restartPolicy, restartPolicies));
  }
  errors.push(...deadlineErrors(spec));
  if (Array.isArray(spec['ephemeralContainers']) && spec['ephemeralContainers'].length > 0) {
    errors.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if (spec.nodeName !== undefined && (spec.schedulingGates ?? []).length > 0) {
    errors.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
  return errors;
}

export function deadlineErrors({ activeDeadlineSeconds: deadline }: PodSpec): FieldError[] {
  if (deadline === undefined || (deadline >= 1 && deadline <= 2_147_483_647)) return [];
  return [invalid('spec.activeDeadlineSeconds', deadline, 'must be between 1 and 2147483647, inclusive')];
}

function volumeErrors({ volumes = [] }: PodSpec): FieldError[] {
  const seen = new Set<string>();
  return volumes.flatMap((volume, at) => {
    const path = `spec.volumes[${at}]`;
    const errors = nameErrors(volume.name, `${path}.name`, seen);
    const sources = volumeSources.filter((source) => volume[source] !== undefined);
    for (const source of sources.slice(1)) {
      errors.push(forbidden(`${path}.${source}`, 'may not specify more than 1 volume type'));
    }
    return errors;
  });
}

/** In the order in which they are looked at: the first that is there counts. */
const volumeSources = [
  'emptyDir',
  'hostPath',
  'secret',
  'nfs',
  'iscsi',
  'persistentVolumeClaim',
  'cephfs',
  'downwardAPI',
  'configMap',
  'projected',
  'csi',
  'ephemeral',
  'image',
];

function containerErrors(
  container: Container,
  path: string,
  names: Set<string>,
  volumes: ReadonlySet<string>,
): FieldError[] {
  const errors = nameErrors(container.name, `${path}.name`, names);
  errors.push(...imageErrors(container.image, `${path}.image`));
  for (const [at, variable] of (container.env ?? []).entries()) {
    if (!variable.name) errors.push(required(`${path}.env[${at}].name`));
    else if (variable.name.includes('=')) {
      const text = "a valid environment variable name must consist only of printable ASCII characters other than '='";
      errors.push(invalid(`${path}.env[${at}].name`, variable.name, text));
    }
    if (variable.value !== undefined && variable.value !== '' && variable.valueFrom !== undefined) {
      errors.push(invalid(`${path}.env[${at}].valueFrom`, '', 'may not be specified when `value` is not empty'));
    }
  }
  const paths = new Set<string>();
  for (const [at, mount] of (container.volumeMounts ?? []).entries()) {
    const field = `${path}.volumeMounts[${at}]`;
    if (!volumes.has(mount.name)) errors.push(notFound(`${field}.name`, mount.name ?? ''));
    if (!mount.mountPath) errors.push(required(`${field}.mountPath`));
    if (paths.has(mount.mountPath)) errors.push(invalid(`${field}.mountPath`, mount.mountPath, 'must be unique'));
    paths.add(mount.mountPath);
  }
  const policy = container.imagePullPolicy;
  if (policy === undefined) errors.push(required(`${path}.imagePullPolicy`));
  else if (!pullPolicies.includes(policy)) {
    errors.push(unsupported(`${path}.imagePullPolicy`, policy, pullPolicies));
  }
  return [
    ...errors,
    ...resourceErrors(container, path),
    ...handlerErrors(container, path),
    ...ruleErrors(container, path),
  ];
}

export function imageErrors(image: string | undefined, path: string): FieldError[] {
  if (!image) return [required(path)];
  return image.trim() === image ? [] : [invalid(path, image, 'must not have leading or trailing whitespace')];
}

function nameErrors(name: string | undefined, path: string, seen: Set<string>): FieldError[] {
  if (!name) return [required(path)];
  if (!isDnsLabel(name)) return [invalid(path, name, dnsLabelText)];
  if (seen.has(name)) return [duplicate(path, name)];
  seen.add(name);
  return [];
}

function ruleErrors({ restartPolicy, restartPolicyRules: rules = [] }: Container, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const init = path.startsWith('spec.initContainers');
  if (restartPolicy !== undefined && !restartPolicies.includes(restartPolicy)) {
    errors.push(unsupported(`${path}.restartPolicy`, restartPolicy, init ? ['Always'] : restartPolicies));
  }
  if (rules.length > 0 && restartPolicy === undefined) {
    errors.push(required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > 20) errors.push(tooMany(`${path}.restartPolicyRules`, rules.length, 20));
  for (const [at, { action, exitCodes }] of rules.entries()) {
    const field = `${path}.restartPolicyRules[${at}]`;
    if (!ruleActions.includes(action)) errors.push(unsupported(`${field}.action`, action, ruleActions));
    if (exitCodes === undefined) {
      errors.push(required(`${field}.exitCodes`, 'must be specified'));
      continue;
    }
    if (!['In', 'NotIn'].includes(exitCodes.operator)) {
      errors.push(unsupported(`${field}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']));
    }
    const values = exitCodes.values ?? [];
    if (values.length > 255) errors.push(tooMany(`${field}.exitCodes.values`, values.length, 255));
  }
  return errors;
}

function tooMany(field: string, found: number, limit: number): FieldError {
  return {
    reason: 'FieldValueTooMany',
    field,
    message: `Too many: ${found}: must have at most ${limit} items`,
  };
}
