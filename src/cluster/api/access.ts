/** Who asks, and whether they may. Without tokens everyone is the administrator. */

import type { RevisionStore } from '../store/revisions.ts';
import type { ApiObject } from '../types.ts';
import type { RequestInfo } from './request-info.ts';
import { forbidden, type StatusError, unauthorized } from './status.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A bearer token and whom it stands for. */
export interface TokenUser {
  readonly token: string;
  readonly user: string;
  readonly groups?: readonly string[];
}

export const administrator: User = { name: 'podwright-admin', groups: ['system:masters', 'system:authenticated'] };

interface Rule {
  readonly verbs?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Binding extends ApiObject {
  subjects?: { kind: string; name: string; namespace?: string }[];
  roleRef: { kind: string; name: string };
}

/** What is to be done, as in a SelfSubjectAccessReview. */
export interface AccessAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export class Access {
  readonly #store: RevisionStore;
  readonly #users: Map<string, User>;

  /** Without any token, requests need none and may do everything. */
  constructor(store: RevisionStore, tokens: readonly TokenUser[]) {
    this.#store = store;
    this.#users = new Map(
      tokens.map(({ token, user, groups = [] }) => [
        token,
        { name: user, groups: [...groups, 'system:authenticated'] },
      ]),
    );
  }

  /** From then on the token is refused with 401, as one that has expired. */
  expire(token: string): void {
    this.#users.delete(token);
  }

  /** Throws 401. `component` is the cluster's own scheduler, kubelet or controller. */
  authenticate(authorization: string | undefined, ownToken: string, required: boolean): User {
    const token = bearerToken(authorization);
    if (token === ownToken || !required) return administrator;
    const user = token === undefined ? undefined : this.#users.get(token);
    if (user === undefined) throw unauthorized();
    return user;
  }

  /** Whether it is one of the cluster's own parts that asks. */
  isOwn(authorization: string | undefined, ownToken: string): boolean {
    return bearerToken(authorization) === ownToken;
  }

  /** Whether the token, where one is needed, is the cluster's own or an administrator's. */
  mayAdminister(authorization: string | undefined, ownToken: string, required: boolean): boolean {
    try {
      return this.authenticate(authorization, ownToken, required).groups.includes('system:masters');
    } catch {
      // Unauthorized.
      return false;
    }
  }

  allows(user: User, wanted: AccessAttributes): boolean {
    if (user.groups.includes('system:masters')) return true;
    if (wanted.resource === 'selfsubjectaccessreviews') return true;
    return this.#rules(user, wanted.namespace).some((rule) => covers(rule, wanted));
  }

  /** The 403 for what `allows` refused. */
  refusal(user: User, info: RequestInfo): StatusError {
    return mayNot(user, info);
  }

  /** What the user may do in the namespace, as rules of a Role. */
  rulesOf(user: User, namespace: string): readonly Rule[] {
    const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
    return [...(user.groups.includes('system:masters') ? [everything] : []), ...this.#rules(user, namespace)];
  }

  #rules(user: User, namespace: string | undefined): Rule[] {
    const cluster = this.#bindings('clusterrolebindings', '', user);
    const local = namespace === undefined ? [] : this.#bindings('rolebindings', `${namespace}/`, user);
    return [...cluster, ...local].flatMap(({ roleRef, metadata }) => {
      const isCluster = roleRef.kind === 'ClusterRole';
      const table = `${isCluster ? 'clusterroles' : 'roles'}.rbac.authorization.k8s.io`;
      const key = isCluster ? roleRef.name : `${metadata.namespace}/${roleRef.name}`;
      return (this.#store.get(table, key)?.['rules'] as Rule[] | undefined) ?? [];
    });
  }

  #bindings(resource: string, prefix: string, user: User): Binding[] {
    const bindings = this.#store.list(`${resource}.rbac.authorization.k8s.io`, prefix) as Binding[];
    return bindings.filter(({ subjects = [] }) => subjects.some((subject) => isSubject(subject, user)));
  }
}

function isSubject({ kind, name, namespace }: NonNullable<Binding['subjects']>[number], user: User): boolean {
  if (kind === 'User') return name === user.name;
  if (kind === 'Group') return user.groups.includes(name);
  return user.name === `system:serviceaccount:${namespace}:${name}`;
}

function covers(rule: Rule, { verb, group, resource, subresource, name }: AccessAttributes): boolean {
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const has = (values: readonly string[] | undefined, value: string): boolean =>
    values?.some((one) => one === '*' || one === value) ?? false;
  if (!has(rule.verbs, verb) || !has(rule.apiGroups, group) || !has(rule.resources, full)) return false;
  const names = rule.resourceNames ?? [];
  return names.length === 0 || (name !== undefined && names.includes(name));
}

export function mayNot(user: User, info: RequestInfo): StatusError {
  const { verb, group, resource, subresource, namespace, name = '' } = info;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const text = `User "${user.name}" cannot ${verb} resource "${full}" in API group "${group}" ${where}`;
  return forbidden({ group, resource }, name, text);
}

function bearerToken(authorization: string | undefined): string | undefined {
  return authorization?.match(/^Bearer\s+(\S+)$/i)?.[1];
}
