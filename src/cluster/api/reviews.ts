/** SelfSubjectAccessReview: may the caller do this? */
import { isObject, type Json } from '../json.ts';
import type { Access, AccessAttributes, User } from './access.ts';
import { badRequest } from './status.ts';

export function reviewAccess(access: Access, user: User, body: Json): object {
  const spec = isObject(body) && isObject(body['spec']) ? body['spec'] : undefined;
  const wanted = spec !== undefined && isObject(spec['resourceAttributes']) ? spec['resourceAttributes'] : undefined;
  if (spec === undefined || (wanted === undefined && !isObject(spec['nonResourceAttributes']))) {
    throw badRequest('exactly one of nonResourceAttributes or resourceAttributes must be specified');
  }
  const text = (field: string): string => String(wanted?.[field] ?? '');
  const attributes: AccessAttributes = {
    verb: text('verb'),
    group: text('group'),
    resource: text('resource'),
    subresource: text('subresource'),
    namespace: text('namespace') || undefined,
    name: text('name') || undefined,
  };
  const allowed = wanted === undefined || access.allows(user, attributes);
  return {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: { creationTimestamp: null },
    spec,
    status: { allowed },
  };
}
