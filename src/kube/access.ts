/**
 * What the server lets this worker do: the rights that are needed, those that are missing, and the Role that would
 * grant them; and what the server's version can do.
 */
import type { KubeClient, Right, ServerVersion } from './client.ts';
import { apiGroup } from './resource.ts';
import { statusOf } from './status.ts';

export interface NeededRight extends Right {
  /** Without it builds cannot run at all. Otherwise something is lost, see `purpose`. */
  readonly isEssential: boolean;
  /** What it is for, as the end of "… is needed to". */
  readonly purpose: string;
}

/** The least that a worker needs (kubernetes.md §9). */
export const neededRights: readonly NeededRight[] = [
  { verb: 'create', resource: 'pods', isEssential: true, purpose: 'start a build' },
  { verb: 'get', resource: 'pods', isEssential: true, purpose: 'check a pod before anything destructive' },
  { verb: 'list', resource: 'pods', isEssential: true, purpose: 'know the builds there are' },
  { verb: 'watch', resource: 'pods', isEssential: true, purpose: 'follow the builds' },
  { verb: 'patch', resource: 'pods', isEssential: true, purpose: 'start a step' },
  { verb: 'delete', resource: 'pods', isEssential: true, purpose: 'remove a build' },
  { verb: 'get', resource: 'pods', subresource: 'log', isEssential: true, purpose: 'read logs' },
  { verb: 'list', resource: 'events', isEssential: false, purpose: 'name the causes of failures' },
  { verb: 'watch', resource: 'events', isEssential: false, purpose: 'name the causes of failures' },
  { verb: 'create', resource: 'secrets', isEssential: false, purpose: 'hand secrets to steps' },
  { verb: 'patch', resource: 'secrets', isEssential: false, purpose: 'tie secrets to their pod' },
  { verb: 'delete', resource: 'secrets', isEssential: false, purpose: 'remove secrets' },
  { verb: 'create', resource: 'configmaps', isEssential: false, purpose: 'hand long scripts to steps' },
  { verb: 'patch', resource: 'configmaps', isEssential: false, purpose: 'tie long scripts to their pod' },
  { verb: 'delete', resource: 'configmaps', isEssential: false, purpose: 'remove long scripts' },
];

export interface AccessReport {
  readonly version: ServerVersion;
  readonly missing: readonly NeededRight[];
  /** Rights about which the server gave no answer: it serves no access reviews. */
  readonly unknown: readonly NeededRight[];
}

/** Asks for the version and for every right at once. Rejects as the client does when the server cannot be asked. */
export async function checkAccess(
  client: KubeClient,
  namespace: string,
  options: {
    readonly rights?: readonly NeededRight[];
    readonly signal?: AbortSignal;
    readonly retryForMs?: number;
  } = {},
): Promise<AccessReport> {
  const { rights = neededRights, ...request } = options;
  const version = await client.version(request);
  const answers = await Promise.all(
    rights.map(async (right) => {
      try {
        return (await client.canI(namespace, right, request)) ? 'allowed' : 'missing';
      } catch (error) {
        // No access reviews here (a small API server, a proxy): the request itself will show.
        if (statusOf(error) === 404 || statusOf(error) === 405) return 'unknown';
        throw error;
      }
    }),
  );
  return {
    version,
    missing: rights.filter((_, index) => answers[index] === 'missing'),
    unknown: rights.filter((_, index) => answers[index] === 'unknown'),
  };
}

/** The Role to apply, as YAML, with nothing but `rights` in it. */
export function roleText(namespace: string, rights: readonly Right[] = neededRights, name = 'podwright'): string {
  const verbs = new Map<string, { readonly group: string; readonly verbs: string[] }>();
  for (const right of rights) {
    const resource = right.subresource === undefined ? right.resource : `${right.resource}/${right.subresource}`;
    const rule = verbs.get(resource) ?? { group: apiGroup(right.resource), verbs: [] };
    rule.verbs.push(right.verb);
    verbs.set(resource, rule);
  }
  const rules = [...verbs].map(
    ([resource, rule]) =>
      `  - apiGroups: ["${rule.group}"]\n    resources: ["${resource}"]\n    verbs: [${rule.verbs.map((verb) => `"${verb}"`).join(', ')}]\n`,
  );
  return (
    'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n' +
    `metadata:\n  name: ${name}\n  namespace: ${namespace}\nrules:\n${rules.join('')}`
  );
}

/** Container-level restart rules: the field is dropped in silence below (kubernetes.md §4.7, recorded on 1.34 to 1.37). */
const firstMinorWithRestartRules = 35;

/**
 * Whether this version keeps `restartPolicyRules` unless its administrator turned them off. Only a hint: what the
 * server kept of a pod is read from the pod.
 */
export function mayKeepRestartRules(version: ServerVersion): boolean {
  const minor = Number.parseInt(version.minor, 10);
  return version.major === '1' ? minor >= firstMinorWithRestartRules : Number.parseInt(version.major, 10) > 1;
}
