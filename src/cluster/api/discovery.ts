/** What the server says it serves: /version, /api, /apis and the resource lists. */
import type { Profile } from '../profile.ts';
import { apiVersionOf, definitions, type ResourceDefinition } from './resources.ts';
import { reviews } from './reviews.ts';

/** Of reviews, which are groups without stored objects. */
const reviewNames = Object.entries(reviews).map(([path, { kind }]) => {
  const [group = '', resource = ''] = path.split('/');
  return { group, resource, kind };
});

/** The text for a path of discovery; undefined for other paths. */
export function discovery(path: string, profile: Profile): object | undefined {
  const [root, group, version, ...more] = path.split('/').filter((part) => part !== '');
  if (more.length > 0) return undefined;
  if (root === 'version' && group === undefined) return versionInfo(profile);
  if (root === 'api' && group === undefined) return coreVersions();
  if (root === 'api' && group === 'v1' && version === undefined) return resourceList('', 'v1');
  if (root !== 'apis') return undefined;
  if (group === undefined) return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups().map(groupInfo) };
  if (!groups().includes(group)) return undefined;
  if (version === undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...groupInfo(group) };
  return version === 'v1' ? resourceList(group, version) : undefined;
}

function versionInfo({ major, minor, gitVersion }: Profile): object {
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    gitVersion,
    gitCommit: '0000000000000000000000000000000000000000',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: 'go1.25.0',
    compiler: 'gc',
    platform: 'linux/amd64',
  };
}

function coreVersions(): object {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
}

function groups(): string[] {
  return [...new Set([...[...definitions, ...reviewNames].map(({ group }) => group).filter((group) => group !== '')])];
}

export function isGroup(name: string): boolean {
  return groups().includes(name);
}

function groupInfo(name: string): object {
  const version = { groupVersion: `${name}/v1`, version: 'v1' };
  return { name, versions: [version], preferredVersion: version };
}

function resourceList(group: string, version: string): object {
  const own = definitions.filter((one) => one.group === group && one.version === version).flatMap(entries);
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf({ group, version }),
    resources: [...own, ...reviewNames.filter((one) => one.group === group).map(reviewEntry)],
  };
}

function reviewEntry({ resource, kind }: { readonly resource: string; readonly kind: string }): object {
  return { name: resource, singularName: kind.toLowerCase(), namespaced: false, kind, verbs: ['create'] };
}

const subresourceKinds: Readonly<Record<string, { kind: string; group?: string; version?: string; verbs: string[] }>> =
  {
    log: { kind: 'Pod', verbs: ['get'] },
    binding: { kind: 'Binding', verbs: ['create'] },
    eviction: { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] },
    finalize: { kind: 'Namespace', verbs: ['update'] },
  };

function entries(definition: ResourceDefinition): object[] {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories, subresources = [] } = definition;
  const main = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
  };
  const subs = subresources.map((name) => {
    const form = subresourceKinds[name] ?? { kind, verbs: ['get', 'patch', 'update'] };
    return { name: `${resource}/${name}`, singularName: '', namespaced, ...form };
  });
  return [main, ...subs];
}
