/** Questions about oneself: who am I, may I do this, what may I do? They are answered, not kept. */
import { isObject, type Json } from '../json.ts';
import type { Access, AccessAttributes, User } from './access.ts';
import { badRequest } from './status.ts';

interface Review {
  readonly kind: string;
  readonly answer: (access: Access, user: User, body: Json) => object;
}

/** By `GROUP/RESOURCE`. */
export const reviews: Readonly<Record<string, Review>> = {
  'authorization.k8s.io/selfsubjectaccessreviews': { kind: 'SelfSubjectAccessReview', answer: reviewAccess },
  'authorization.k8s.io/selfsubjectrulesreviews': { kind: 'SelfSubjectRulesReview', answer: reviewRules },
  'authentication.k8s.io/selfsubjectreviews': { kind: 'SelfSubjectReview', answer: reviewSelf },
};

function reviewSelf(_access: Access, user: User): object {
  return {
    kind: 'SelfSubjectReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { creationTimestamp: null },
    status: { userInfo: { username: user.name, groups: user.groups } },
  };
}

function reviewRules(access: Access, user: User, body: Json): object {
  const spec = isObject(body) && isObject(body['spec']) ? body['spec'] : {};
  const namespace = spec['namespace'];
  if (typeof namespace !== 'string' || namespace === '') throw badRequest('no namespace on request');
  return {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: { creationTimestamp: null },
    spec: {},
    status: { resourceRules: access.rulesOf(user, namespace), nonResourceRules: [], incomplete: false },
  };
}

function reviewAccess(access: Access, user: User, body: Json): object {
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
