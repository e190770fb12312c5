/** What a container asks for must be (k8s `ValidateContainerResourceRequirements`). */
import { parseQuantity } from '../../quantity.ts';
import type { Container } from '../../types.ts';
import { type FieldError, fieldError } from '../status.ts';

const { invalid } = fieldError;

export function resourceErrors({ resources = {} }: Container, path: string): FieldError[] {
  const { limits = {}, requests = {} } = resources;
  const errors: FieldError[] = [];
  for (const [list, amounts] of Object.entries({ limits, requests })) {
    for (const [name, amount] of Object.entries(amounts)) {
      if (parseQuantity(amount) >= 0) continue;
      errors.push(invalid(`${path}.resources.${list}[${name}]`, amount, 'must be greater than or equal to 0'));
    }
  }
  for (const [name, amount] of Object.entries(requests)) {
    const limit = limits[name];
    if (limit === undefined || parseQuantity(amount) <= parseQuantity(limit)) continue;
    errors.push(
      invalid(`${path}.resources.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`),
    );
  }
  return errors;
}
