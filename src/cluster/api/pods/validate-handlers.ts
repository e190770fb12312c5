/** What hooks and probes must be, in the words of Kubernetes (`validateLifecycle`, `validateProbe`). */
import type { Container, LifecycleHandler, Probe } from '../../types.ts';
import { type FieldError, fieldError } from '../status.ts';

const { required, invalid, forbidden } = fieldError;

export function handlerErrors(container: Container, path: string): FieldError[] {
  const { postStart, preStop } = container.lifecycle ?? {};
  return [
    ...hookErrors(postStart, `${path}.lifecycle.postStart`),
    ...hookErrors(preStop, `${path}.lifecycle.preStop`),
    ...probeErrors(container.livenessProbe, `${path}.livenessProbe`, true),
    ...probeErrors(container.readinessProbe, `${path}.readinessProbe`, false),
    ...probeErrors(container.startupProbe, `${path}.startupProbe`, true),
  ];
}

function hookErrors(handler: LifecycleHandler | undefined, path: string): FieldError[] {
  return handler === undefined ? [] : oneOf(handler, ['exec', 'httpGet', 'tcpSocket', 'sleep'], path);
}

/** A probe that ends its container succeeds with the first success. */
function probeErrors(probe: Probe | undefined, path: string, ends: boolean): FieldError[] {
  if (probe === undefined) return [];
  const errors = oneOf(probe, ['exec', 'httpGet', 'tcpSocket', 'grpc'], path);
  const fields = [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const;
  for (const field of fields) {
    const value = probe[field] ?? 0;
    if (value < 0) errors.push(invalid(`${path}.${field}`, value, 'must be greater than or equal to 0'));
  }
  const { successThreshold = 1 } = probe;
  if (ends && successThreshold !== 1) errors.push(invalid(`${path}.successThreshold`, successThreshold, 'must be 1'));
  return errors;
}

function oneOf(handler: LifecycleHandler & Probe, kinds: readonly string[], path: string): FieldError[] {
  const given = kinds.filter((kind) => kind in handler);
  if (given.length === 0) return [required(path, 'must specify a handler type')];
  const errors = given.slice(1).map((kind) => forbidden(`${path}.${kind}`, 'may not specify more than 1 handler type'));
  const isEmpty = handler.exec !== undefined && (handler.exec.command ?? []).length === 0;
  return isEmpty ? [required(`${path}.exec.command`), ...errors] : errors;
}
